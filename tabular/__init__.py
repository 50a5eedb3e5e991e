"""Rows out: files for spreadsheets, and downloads written piece by piece."""
