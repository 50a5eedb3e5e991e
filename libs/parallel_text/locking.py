"""Keep two programs from building in the same folder at the same time."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crosslens_metrics.messages import gettext as _
from parallel_text.folder import CorpusFolder
from parallel_text.problems import CorpusError


@contextmanager
def building_in(out: Path) -> Iterator[None]:
    """Lock a folder for as long as the block runs, and clear what killed programs left half written.

    The lock ends with the process, however it ends.

    Raises
    ------
    CorpusError
        Where another program has it, or the folder cannot be written to.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with (out / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise CorpusError(
                    _("Another program is building in %(folder)s. Wait for it to end.") % {"folder": out}
                ) from error
            CorpusFolder(out).forget_partial()
            shutil.rmtree(out / ".scratch", ignore_errors=True)
            yield
    except OSError as error:
        raise CorpusError(
            _("%(file)s cannot be written: %(error)s.") % {"file": error.filename or out, "error": error.strerror}
        ) from error
