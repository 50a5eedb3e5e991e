"""The sampling design behind every interval: what its rows are drawn from, and what it therefore holds for."""
