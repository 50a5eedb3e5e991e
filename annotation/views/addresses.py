"""The pages of the two kinds of work: captions to write, and captions to rate."""

from __future__ import annotations

from allocation.views import Addresses

CAPTIONS = Addresses(work="annotation:work-show", batch="annotation:batch-show")
RATINGS = Addresses(work="annotation:work-show", batch="annotation:verification-show")
