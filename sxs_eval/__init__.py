"""Side by side: comparisons of two captioning models by blind raters, and their gains with what they are worth."""
