"""What the pages of annotation show."""
