"""The API of images and collections."""
