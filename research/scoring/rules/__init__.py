"""Decisions from values alone."""
