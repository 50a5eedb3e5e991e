"""Files of images, vectors and pairs, in and out."""
