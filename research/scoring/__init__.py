"""Automatic metrics over stored captions. A score travels with its signature."""
