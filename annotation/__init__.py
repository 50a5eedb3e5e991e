"""Rate-then-write batches, rounds and what is exported from them."""
