"""The API of captioning models."""
