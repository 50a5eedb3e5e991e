"""Rules from values alone."""
