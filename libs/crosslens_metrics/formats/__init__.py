"""Files in and out: one small module for each kind of file."""
