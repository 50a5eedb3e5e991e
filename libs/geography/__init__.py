"""Borders, the places of coordinates, and outlines for maps. No database, no network."""
