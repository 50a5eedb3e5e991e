"""Counters, readiness, backups and restoring them."""
