"""Lines of logs, and what each of them is about."""
