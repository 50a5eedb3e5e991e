"""Rate-then-write batches, rounds, and exports of them."""
