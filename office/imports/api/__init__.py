"""The API of imports of files."""
