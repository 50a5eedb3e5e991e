"""Forms of managers and researchers."""
