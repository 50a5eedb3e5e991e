"""The API of side-by-side evaluation."""
