"""Files of turns, items, tasks and predictions, in and out."""
