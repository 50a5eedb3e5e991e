"""How often the intervals of crosslens_metrics hold the truth, by simulation: the tables of docs/statistics.md."""
