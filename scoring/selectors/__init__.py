"""Page-shaped reads."""
