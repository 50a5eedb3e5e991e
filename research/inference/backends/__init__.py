"""Backends, one file each. They are loaded on first use."""
