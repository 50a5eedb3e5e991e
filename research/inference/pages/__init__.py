"""Prepare models, runs and workers for pages: lines of tables, counts and shares."""
