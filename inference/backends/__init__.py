"""Engines, one file each. They load when they are first used."""
