"""Read which files of a selection's candidates were fetched, and the list of them for whoever fetches them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corpora.models import Selection
from images.models import ImportJob, ImportKind

COLUMNS = ("key", "address", "checksum", "licence", "licence_url", "author", "title", "language", "level")
"""No coordinates: they stay here."""

AT_ONCE = 1000


@dataclass(frozen=True)
class Files:
    """How many images have their files; `job` is the newest one that fetched some."""

    total: int
    fetched: int
    job: ImportJob | None

    @property
    def waiting(self) -> int:
        return self.total - self.fetched


def files_of(selection: Selection) -> Files:
    jobs = ImportJob.objects.filter(kind=ImportKind.FETCH, options__selection=selection.pk)
    rows = selection.selected_images
    return Files(rows.count(), rows.filter(image__isnull=False).count(), jobs.order_by("-pk").first())


def selected_rows(selection: Selection) -> Iterator[dict[str, str]]:
    """Yield a row of `COLUMNS` for each image that was chosen from candidates."""
    rows = selection.selected_images.filter(candidate__isnull=False).select_related("candidate")
    for row in rows.order_by("language", "position").iterator(chunk_size=AT_ONCE):
        values = {name: getattr(row.candidate, name) for name in COLUMNS[1:7]}
        yield {"key": row.key, **values, "language": row.language_id, "level": row.level}
