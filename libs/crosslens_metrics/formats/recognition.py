"""Tell what is in files before anything of them is stored: which captions, in which languages, of which images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from crosslens_metrics.formats import limits
from crosslens_metrics.formats.caption_rows import CaptionRow, GivenCaptions, image_named
from crosslens_metrics.formats.counted_captions import count_captions
from crosslens_metrics.formats.file_names import ListOfImages, lists_for
from crosslens_metrics.formats.layouts import NAME_OF_IMAGE, FileLayout, layout_of
from crosslens_metrics.formats.manifests_beside import put_beside
from crosslens_metrics.formats.object_rows import Rows
from crosslens_metrics.formats.parts import FilePart, FilesBeside, parts_of
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.recognised_files import (
    BY_BOTH,
    BY_MODELS,
    BY_PEOPLE,
    UNKNOWN_KIND,
    GivenAnswers,
    RecognisedFile,
    RecognisedFiles,
    note_refusal,
    unreadable,
)
from crosslens_metrics.formats.records import is_text, limited_lines
from crosslens_metrics.formats.table_parts import FileKind
from crosslens_metrics.messages import gettext as _


def recognise(
    paths: Sequence[Path],
    *,
    said: Mapping[str, str] | None = None,
    language: str = "",
    model: str = "",
    kind: str = "",
    after_each: Callable[[], None] = lambda: None,
) -> RecognisedFiles:
    """Look through files, folders and archives, and store nothing.

    - `said`: names of columns with the parts of a line, as `layout_of` takes them.
    - `language` and `model`: of captions that do not say theirs.
    - `kind`: what somebody said that captions are; those of people are nobody's model, whatever the lines name.
    - `after_each`: called after each file.
    """
    answers = GivenAnswers(language, model, kind)
    image_names: dict[str, str] = {}
    files: list[RecognisedFile] = []
    sentences: list[tuple[RecognisedFile, FilePart]] = []
    lists: list[ListOfImages] = []
    for path in paths:
        beside, found = FilesBeside(), list[RecognisedFile]()
        try:
            for part in parts_of(path, beside):
                inside = "" if part.path == str(path) else str(path)
                found.append(file := RecognisedFile(part.path, inside=inside, part=part))
                layout = _look_into(file, part, said, answers)
                if file.written_by == BY_BOTH:
                    found[-1:] = _apart(part, inside, said, answers)
                if layout and layout.kind == FileKind.SENTENCES:
                    sentences.append((file, part))
                if layout and layout.kind == FileKind.NAMES:
                    lists.append(ListOfImages(part.path, tuple(_names_in(part))))
                after_each()
        except FileRefusedError as refused:
            found.append(note_refusal(RecognisedFile(str(path)), refused))
        except OSError as error:
            found.append(note_refusal(RecognisedFile(str(path)), unreadable(error)))
        put_beside(path, beside, found, said)
        # What is the key of an image is no other's file name.
        named = beside.image_names.items()
        image_names |= {name: key for name, key in named if name == key or name not in image_names}
        files += found or [note_refusal(RecognisedFile(str(path)), FileRefusedError(_("It has no files.")))]
    for file, part in sentences:
        _put_names_to(file, part, lists, [one.path for one, _part in sentences], answers)
    return RecognisedFiles(files, image_names)


def _apart(part: FilePart, inside: str, said: Mapping[str, str] | None, answers: GivenAnswers) -> list[RecognisedFile]:
    """Look at people's captions and models' of one file as if these were two files."""
    files = [RecognisedFile(part.path, inside=inside, part=part, written_by=who) for who in (BY_PEOPLE, BY_MODELS)]
    for file in files:
        _look_into(file, part, said, answers)
    return files


def captions_of(
    file: IO[bytes], *, said: Mapping[str, str] | None = None, folder: str = "", written_by: str = ""
) -> Rows:
    """The captions of a file of any layout, line by line; names of images are looked for in its `folder` first.

    With `written_by` those by people alone, or by models.
    Raises LayoutError where it holds none; says what it is, as far as that shows.
    """
    return _of_writers(_in_folder(layout_of(file, said=said).captions(file), folder), written_by)


def _of_writers(rows: Rows, written_by: str) -> Rows:
    """What is wrong with a line is reported once, beside the captions by people."""
    if not written_by:
        yield from rows
        return
    for row in rows:
        if isinstance(row, LineError):
            if written_by == BY_PEOPLE:
                yield row
        elif captions := [given for given in row.captions if bool(given.model) == (written_by == BY_MODELS)]:
            yield row._replace(captions=captions)


def _in_folder(rows: Rows, folder: str) -> Rows:
    for row in rows:
        if folder and isinstance(row, CaptionRow):
            yield row._replace(names=(f"{folder}/{row.name}", *row.names))
        else:
            yield row


def _look_into(
    file: RecognisedFile, part: FilePart, said: Mapping[str, str] | None, answers: GivenAnswers
) -> FileLayout | None:
    try:
        with part.opened() as opened:
            layout = layout_of(opened, said=said)
            file.kind, file.layout = layout.kind, layout.name
            file.columns, file.first_rows = layout.columns, layout.first_rows
            if layout.rows is not None:
                rows = _of_writers(_in_folder(layout.rows(opened), part.folder), file.written_by)
                count_captions(file, layout, rows, answers)
    except FileRefusedError as refused:
        note_refusal(file, refused)
        return None
    except OSError as error:
        note_refusal(file, unreadable(error))
        return None
    return layout


def _names_in(part: FilePart) -> Iterator[str]:
    """The names in a list of images, without numbers of captions and blank lines at the end."""
    with part.opened() as file:
        lines = list(_lines(file))
    for line in lines[: _lengths(lines)[0]]:
        match = NAME_OF_IMAGE.fullmatch(line)
        yield match["image"] if match else line


def _lengths(lines: Iterable[str]) -> tuple[int, int]:
    """How many lines there are up to the last that is not blank, and in all."""
    last = number = 0
    for number, line in enumerate(lines, start=1):
        last = number if line else last
    return last, number


def _lines(file: IO[bytes]) -> Iterator[str]:
    file.seek(0)
    for _number, line in limited_lines(file, limits.MAX_LINE_BYTES):
        yield (line or b"").decode("utf-8-sig", "surrogateescape").strip()


def sentence_rows(names: Sequence[str], file: IO[bytes]) -> Rows:
    """Captions from lines beside the names of their images; there may be more blank ones at the end than names."""
    for number, (name, text) in enumerate(zip(names, _lines(file), strict=False), start=1):
        try:
            yield CaptionRow(number, (image_named("image", name),), [GivenCaptions(text if is_text(text) else None)])
        except LineError as error:
            yield LineError(error.reason, number=number)


def _why_no_names(
    lists: Sequence[ListOfImages], of_its_length: Sequence[ListOfImages], fitting: Sequence[ListOfImages]
) -> str:
    if fitting:
        return _(
            "Several lists have %(lines)s names, as many as the file has sentences: %(lists)s. Rename the right "
            "one after the file, or leave the others out."
        )
    if of_its_length:
        return _(
            "The list of %(lines)s images, %(lists)s, is named after other sentences. If it is the list of these too, "
            "rename this file after it."
        )
    if lists:
        return _("It has %(lines)s sentences, and the lists of images have %(there)s names.")
    return _("It has %(lines)s sentences without names of images. Give the list of their images with it.")


def _put_names_to(
    file: RecognisedFile,
    part: FilePart,
    lists: Sequence[ListOfImages],
    sentences: Sequence[str],
    answers: GivenAnswers,
) -> None:
    """Put the names of the one list that fits to sentences; `sentences` are the paths of all such files."""
    with part.opened() as opened:
        lines, with_blanks = _lengths(_lines(opened))
    of_its_length = [one for one in lists if lines <= len(one.names) <= with_blanks]
    fitting = lists_for(file.path, of_its_length, sentences)
    if len(fitting) != 1:
        file.kind = UNKNOWN_KIND
        there = ", ".join(f"{len(one.names):,}" for one in lists)
        named = ", ".join(one.path for one in fitting or of_its_length)
        about = {"lines": f"{lines:,}", "there": there, "lists": named}
        file.add_problem(_why_no_names(lists, of_its_length, fitting) % about, file.path)
        return
    with part.opened() as opened:
        file.kind, file.layout, file.sentences_of = FileKind.CAPTIONS, "Multi30k", fitting[0].names
        layout = FileLayout(FileKind.CAPTIONS, file.layout)
        count_captions(file, layout, sentence_rows(file.sentences_of, opened), answers)
