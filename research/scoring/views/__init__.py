"""Pages of managers and researchers."""
