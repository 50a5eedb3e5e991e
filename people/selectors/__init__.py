"""Reads shaped for pages, downloads and permissions."""
