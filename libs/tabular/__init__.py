"""Rows out: tables of pages, files for spreadsheets, and downloads written piece by piece."""
