"""Files for whoever takes captions elsewhere."""
