"""Read a zip file as OPUS distributes them, with two files of Moses' format inside: NAME.en-es.en and NAME.en-es.es.

References
----------
J. Tiedemann (2012), Parallel Data, Tools and Interfaces in OPUS, LREC. https://opus.nlpl.eu
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from crosslens_metrics.messages import gettext as _
from parallel_text.config import ENGLISH, Text
from parallel_text.problems import CorpusError, Problems
from parallel_text.readers.moses import side_by_side
from parallel_text.readers.packed import faults_of, limited
from parallel_text.readers.tags import is_of

MOST_ENTRIES = 1_000
LOCKED = 0x1


def read(text: Text, paths: tuple[Path, ...], problems: Problems) -> Iterator[tuple[str, str, str, int]]:
    [name], [path] = text.files, paths
    with faults_of(name), ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MOST_ENTRIES:
            raise CorpusError(
                _("%(file)s has more than %(limit)s files inside, so it is not from OPUS.")
                % {"file": name, "limit": MOST_ENTRIES}
            )
        pairs = list(_pairs(entries, text.language))
        if not pairs:
            inside = ", ".join(entry.filename for entry in entries[:5])
            raise CorpusError(
                _(
                    "%(file)s holds no two files NAME.en and NAME.%(tag)s of Moses' format. It holds: %(inside)s. "
                    "Download the corpus from OPUS in the format “moses”."
                )
                % {"file": name, "tag": text.language, "inside": inside}
            )
        for english, other in pairs:
            for entry in (english, other):
                if entry.flag_bits & LOCKED:
                    raise CorpusError(_("%(file)s is locked with a password. Make it without one.") % {"file": name})
            names = (f"{name}/{english.filename}", f"{name}/{other.filename}")
            with archive.open(english) as left, archive.open(other) as right:
                yield from side_by_side(
                    limited(left, names[0], packed_bytes=english.compress_size),
                    limited(right, names[1], packed_bytes=other.compress_size),
                    names,
                    problems,
                )


def _pairs(entries: list[ZipInfo], language: str) -> Iterator[tuple[ZipInfo, ZipInfo]]:
    for english in sorted(entries, key=lambda entry: entry.filename):
        stem, _dot, tag = english.filename.rpartition(".")
        if not is_of(tag, ENGLISH):
            continue
        of_stem = [entry for entry in entries if entry.filename.rpartition(".")[0] == stem]
        others = [entry for entry in of_stem if is_of(entry.filename.rpartition(".")[2], language)]
        if others:
            # The tag itself comes before those of its regions.
            yield english, min(others, key=lambda entry: len(entry.filename))
