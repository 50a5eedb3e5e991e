"""Queries for pages, downloads and permissions."""
