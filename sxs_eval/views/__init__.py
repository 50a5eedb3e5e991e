"""Pages: judging.py is the raters', the others are for managers and researchers."""
