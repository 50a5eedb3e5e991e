"""Forms of scores and reference captions."""
