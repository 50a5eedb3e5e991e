"""Which of the images that a file names are known, and under which licences they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from django.db.models import QuerySet

from core.images.models import Collection, Image
from core.images.selectors.filters import MAX_LICENCES, ImageSearch
from core.images.services.sources import ImportEntry, plan_of_path, said_beside
from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.recognised_files import RecognisedFile, RecognisedFiles
from crosslens_metrics.formats.table_parts import FileKind


class MatchedImages(NamedTuple):
    """How many of the images that a file names are known, and how many of these come with the files.

    `licences` counts the known ones by licence, the most frequent first; `without_licence` are those that have none.
    """

    number: int
    coming: int
    licences: Mapping[str, int]
    without_licence: int


@dataclass(frozen=True)
class LicencedFiles:
    """Files, and the licences of the images that come with them, which are read once somebody asks.

    `said` are names of columns of manifests by what they hold.
    """

    seen: RecognisedFiles
    said: Mapping[str, str]

    @cached_property
    def licences(self) -> ImageNames[str]:
        """By name, as the import would store them."""
        found: dict[str, str] = {}
        for file in self.seen.files:
            if file.kind == FileKind.IMAGES:
                # What cannot be listed is a problem of the file already, or lies in an archive by itself.
                with suppress(FileRefusedError), ExitStack() as stack:
                    for entry in plan_of_path(Path(file.path), stack, self.said):
                        if isinstance(entry, ImportEntry):
                            said = said_beside(entry).attribution
                            found[said.key or entry.name] = said.licence
        return ImageNames(found)

    def licence_of(self, names: Sequence[str], of: FileKind | str) -> str | None:
        """That of an image that comes with the files, "" if it has none; None if no such image comes.

        A manifest that came alone names images beside it.
        """
        if of == FileKind.IMAGES:
            return self.licences.first(*names)
        name = self.seen.images.first(*names) if self.seen.image_names else None
        return None if name is None else self.licences.first(name) or ""


def matched_images(
    file: RecognisedFile,
    files: LicencedFiles,
    *,
    collection: Collection | None,
    among: QuerySet[Collection] | None,
    after_each: Callable[[], None],
) -> MatchedImages:
    """Find the images of a file among those that come with the files, and in the `collection` or `among` several.

    `after_each` is called after some images at a time.
    """
    coming = {names: of for names in file.images if (of := files.licence_of(names, file.kind)) is not None}
    of_each = [*coming.values()]
    if collection is not None or among is not None:
        images = Image.objects.only("licence")
        search = ImageSearch(collection, among=among, images=images, after_each=after_each)
        known = search.of_names(names for names in file.images if names not in coming)
        of_each += [named.images[0].licence for named in known.values() if named.images]
    counted = Counter(of_each)
    without = counted.pop("", 0)
    return MatchedImages(len(of_each), len(coming), dict(counted.most_common(MAX_LICENCES)), without)
