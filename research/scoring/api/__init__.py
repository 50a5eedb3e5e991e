"""The API of scores and reference captions."""
