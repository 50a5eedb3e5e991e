"""The pages of the two kinds of work: captions to write, and captions to rate."""

from __future__ import annotations

from core.allocation.views import WorkAddresses

CAPTIONS = WorkAddresses(work="annotation:work-show", batch="annotation:batch-show")
RATINGS = WorkAddresses(work="annotation:work-show", batch="annotation:verification-show")
