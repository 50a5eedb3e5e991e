"""Captioning models and the captions they made."""
