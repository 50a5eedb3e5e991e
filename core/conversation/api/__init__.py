"""The API of reports and of the inbox."""
