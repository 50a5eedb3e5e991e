"""Files of corpora."""
