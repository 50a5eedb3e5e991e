"""Files of captions: imports, downloads and the contents of releases. Nothing here starts a transaction."""
