"""The pages of reports and messages."""
