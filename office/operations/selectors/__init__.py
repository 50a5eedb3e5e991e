"""Queries to the database and the broker, which change nothing."""
