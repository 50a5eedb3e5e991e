"""Queries for the pages of annotation."""
