"""Say what is wrong with a file that somebody made: in which line, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from crosslens_metrics.messages import gettext as _
from crosslens_metrics.messages import ngettext

MAX_SHOWN = 20


class FileRefusedError(Exception):
    """The file as a whole cannot be used; the message says why and what to do."""


class LineError(ValueError):
    """One line of a file cannot be used; the message says why and what to do. The other lines are read.

    `number` is the line, from 1, or the position in a JSON list, from 1; 0 stands for the file as a whole. `name` is
    the image or file that the line names, as far as that could be read. `place` is shown in place of the number.
    `captions` is how many captions or files it holds, 1 where that could not be read.
    """

    def __init__(self, reason: str, name: str = "", *, number: int = 0, place: str = "", captions: int = 1) -> None:
        super().__init__(reason)
        self.reason, self.name, self.number, self.place, self.captions = reason, name, number, place, captions

    @property
    def lost(self) -> int:
        """How many captions or files are not taken."""
        return self.captions

    def described(self, file: Path | str | None = None, *, is_list: bool = False) -> str:
        """The message with its place, and with the name of the file where that is given."""
        if file is None and self.number:
            return _("Line %(number)s: %(message)s") % {"number": self.number, "message": self.reason}
        where = [] if file is None else [str(file)]
        if self.place:
            where.append(self.place)
        elif self.number:
            place = _("%(file)s, entry %(number)s") if is_list else _("%(file)s, line %(number)s")
            where = [place % {"file": file, "number": self.number}]
        return f"{', '.join(where)}: {self.reason}" if where else self.reason


class LeftOutError(LineError):
    """What a file holds beside its captions is not taken. Nothing is wrong with the captions, and none is lost."""

    @property
    def lost(self) -> int:
        return 0


class FileProblemsError(FileRefusedError):
    """The file cannot be used: what is wrong, where, and what to do, line by line."""

    def __init__(self, problems: Iterable[LineError], file: Path | str | None = None, *, is_list: bool = False) -> None:
        self.file, self.problems, self._is_list = file, sorted(problems, key=lambda one: one.number), is_list
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The first problems, and how many more there are."""
        shown = [problem.described(self.file, is_list=self._is_list) for problem in self.problems[:MAX_SHOWN]]
        if more := len(self.problems) - len(shown):
            text = ngettext("and %(number)d more problem.", "and %(number)d more problems.", more)
            shown.append(text % {"number": more})
        return shown


class LayoutError(FileRefusedError):
    """The file holds nothing that can be used.

    `layout` is its name, if it is known; `columns` and `first_rows` are what a table has.
    """

    def __init__(
        self,
        reason: str,
        layout: str = "",
        columns: tuple[str, ...] = (),
        first_rows: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        super().__init__(reason)
        self.layout, self.columns, self.first_rows = layout, columns, first_rows
