"""Decisions and figures from values alone."""
