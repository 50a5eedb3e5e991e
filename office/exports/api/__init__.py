"""The API of the export."""
