"""Side by side: blind raters compare two captioning models, and gains say how much better one is."""
