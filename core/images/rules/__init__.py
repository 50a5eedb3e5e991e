"""Decisions from values and bytes alone: nothing in here knows of the database or of storage."""
