"""Files of captions, in and out: downloads, and what a release is made of. Nothing here starts a transaction."""
