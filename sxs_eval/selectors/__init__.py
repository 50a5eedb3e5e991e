"""Queries for pages: work.py for raters, who must not learn which model is which; the others for readers of results."""
