"""Files of word vectors, read by libraries that only an import loads."""
