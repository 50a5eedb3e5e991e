"""Read a zip file as OPUS distributes them: NAME.en-es.en and NAME.en-es.es of Moses' format, and NAME.en-es.ids.

References
----------
J. Tiedemann (2012), Parallel Data, Tools and Interfaces in OPUS, LREC. https://opus.nlpl.eu
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from crosslens_metrics.messages import gettext as _
from parallel_text.config import ENGLISH, Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers.moses import side_by_side
from parallel_text.readers.packed import faults_of, limited_reader
from parallel_text.readers.sentences import SentencePair
from parallel_text.readers.tags import is_of

MAX_ENTRIES = 1_000
LOCKED = 0x1


def read(text: Text, paths: tuple[Path, ...], problems: LineProblems) -> Iterator[SentencePair]:
    [name], [path] = text.files, paths
    with faults_of(name), ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise CorpusError(
                _("%(file)s has more than %(limit)s files inside, so it is not from OPUS.")
                % {"file": name, "limit": MAX_ENTRIES}
            )
        pairs = list(_pairs(entries, text.language))
        if not pairs:
            inside = ", ".join(entry.filename for entry in entries[:5])
            raise CorpusError(
                _(
                    "%(file)s does not contain the two files NAME.en and NAME.%(tag)s of Moses' format. It contains: "
                    "%(inside)s. "
                    "Download the corpus from OPUS in the format “moses”."
                )
                % {"file": name, "tag": text.language, "inside": inside}
            )
        for together in pairs:
            if any(entry.flag_bits & LOCKED for entry in together):
                raise CorpusError(_("%(file)s is locked with a password. Make it without one.") % {"file": name})
            names = [f"{name}/{entry.filename}" for entry in together]
            with ExitStack() as stack:
                files = [
                    limited_reader(stack.enter_context(archive.open(entry)), inside, packed_bytes=entry.compress_size)
                    for entry, inside in zip(together, names, strict=True)
                ]
                yield from side_by_side(files, names, problems)


def _pairs(entries: list[ZipInfo], language: str) -> Iterator[list[ZipInfo]]:
    """Give the English file, the other one, and that of the ids if it is there."""
    for english in sorted(entries, key=lambda entry: entry.filename):
        stem, _dot, tag = english.filename.rpartition(".")
        if not is_of(tag, ENGLISH):
            continue
        of_stem = [entry for entry in entries if entry.filename.rpartition(".")[0] == stem]
        others = [entry for entry in of_stem if is_of(entry.filename.rpartition(".")[2], language)]
        if others:
            # The tag itself comes before those of its regions.
            other = min(others, key=lambda entry: len(entry.filename))
            yield [english, other, *(entry for entry in of_stem if entry.filename == f"{stem}.ids")]
