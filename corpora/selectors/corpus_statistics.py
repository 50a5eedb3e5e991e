"""The statistics that a corpus was published with."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _

from parallel_text.folder import Folder
from parallel_text.looking import NotBuiltError
from parallel_text.problems import CorpusError


def statistics_in(folder: Folder) -> dict[str, Any]:
    """Read statistics.json of a corpus.

    Raises
    ------
    NotBuiltError
    CorpusError
    """
    try:
        text = folder.read("statistics.json").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotBuiltError(_("This part of the corpus has not been built yet.")) from error
    try:
        data: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise CorpusError(_("statistics.json is broken. Run the step publish again.")) from error
    return data
