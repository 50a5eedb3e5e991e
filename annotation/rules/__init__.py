"""Decisions of annotation from values alone."""
