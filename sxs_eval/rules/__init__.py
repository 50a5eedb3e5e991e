"""Rules and figures from values alone."""
