"""Decisions about batches from values alone."""
