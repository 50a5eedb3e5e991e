"""What is decided from values alone."""
