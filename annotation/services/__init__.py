"""Changes to annotation's rows, one transaction each: rounds.py and batches.py."""
