"""Prepare scores for pages: lines of tables, and numbers for plots."""
