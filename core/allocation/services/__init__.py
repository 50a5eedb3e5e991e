"""Assigning, finishing, returning and excluding work, one transaction each."""
