"""Files that are made of captions or read for them; nothing here asks the database."""
