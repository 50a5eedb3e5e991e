"""Rows in and out: CSV and JSON Lines read with errors by line, and written piece by piece."""
