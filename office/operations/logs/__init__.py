"""Lines of logs, and their context."""
