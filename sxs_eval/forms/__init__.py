"""The shape of what managers and researchers send in."""
