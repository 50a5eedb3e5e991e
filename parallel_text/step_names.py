"""The names of the steps of building a corpus, for those that run none of them."""

STEP_NAMES = ("ingest", "candidates", "align", "dictionary", "senses", "intersect", "images", "index", "publish")
"""The steps, in the order in which they run."""
