"""The API of the Gap Filling Game, for managers and researchers. It never sends a sentence, its word or a hint."""
