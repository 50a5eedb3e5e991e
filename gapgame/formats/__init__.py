"""Files of turns, items, tasks and predictions: imports and downloads."""
