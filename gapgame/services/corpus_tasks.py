"""Make the tasks for machines from a corpus that was built here, as a ZIP."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from django.utils.translation import gettext as _

from corpora.models import CorpusBuild
from corpora.selectors.corpus_folders import folder_of
from crosslens_metrics.formats.problems import FileProblemsError
from gapgame.formats.task_folders import refusal
from gapgame.formats.tasks import build_task
from gapgame.formats.translation_tasks import build_translation_task
from gapgame.rules.task import SplitChoice, TooFewInstancesError

LARGEST_BYTES = 200_000_000
"""Of the instances: with so many, a request takes a minute."""

NEEDED = ("instances.jsonl", "dictionary.jsonl", "images.jsonl", "items.jsonl")


class CorpusTaskError(Exception):
    """No task can be made of the corpus. The message says why, and what to do."""


def task_archive(
    *, build: CorpusBuild, language: str, sizes: Mapping[str, int], reserve_percent: int, seed: int, split: str
) -> IO[bytes]:
    """Return a ZIP of the lexical translation task into `language`, or of fill-in-the-blank without one.

    The same corpus, sizes and seed give files of the same bytes.

    Raises
    ------
    CorpusTaskError
    """
    with tempfile.TemporaryDirectory(prefix="crosslens-task-") as place:
        corpus, folder = Path(place, "corpus"), Path(place, "task")
        corpus.mkdir()
        try:
            for name in NEEDED:
                (corpus / name).symlink_to(folder_of(build).read(name))
        except FileNotFoundError as error:
            raise CorpusTaskError(_("The corpus is not built yet. Build it, and come back.")) from error
        if (corpus / NEEDED[0]).stat().st_size > LARGEST_BYTES:
            text = _("This corpus is too large for a page. Download its files, and run build_gap_task.")
            raise CorpusTaskError(text)
        drawing: dict[str, Any] = {
            "splits": SplitChoice(split),
            "sizes": sizes,
            "reserve_percent": reserve_percent,
            "seed": seed,
        }
        try:
            if language:
                build_translation_task(corpus, folder, language=language, **drawing)
            else:
                build_task(corpus, folder, **drawing)
        except (FileProblemsError, TooFewInstancesError) as refused:
            raise CorpusTaskError(refusal(refused)) from refused
        return Path(shutil.make_archive(str(folder), "zip", folder)).open("rb")
