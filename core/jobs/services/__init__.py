"""Leases of rows with background work."""
