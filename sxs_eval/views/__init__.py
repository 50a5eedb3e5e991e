"""Pages of side-by-side evaluation: judging.py is for raters, the others for managers and researchers."""
