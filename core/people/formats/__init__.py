"""Files in and out, about people."""
