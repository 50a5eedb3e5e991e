"""Check a file when it is added to a corpus, so that what is plainly wrong is said at once and not hours later.

Steps look at every line; here a file must only be what it is said to be.
"""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext as _

from corpora.models import FileRole
from crosslens_metrics.formats.word_vectors import FileFormat, WordVectorFileError, format_of
from crosslens_metrics.named_vectors import MalformedVectorsError, read_named_vectors
from images.rules.archives import contents_of, open_zip
from parallel_text.config import Text
from parallel_text.imageability import read_ratings
from parallel_text.manifest import Manifest
from parallel_text.problems import CorpusError, Problems
from parallel_text.readers import no_pairs, read_pairs
from parallel_text.readers.lines import lines_of
from parallel_text.readers.packed import opened

FIRST_LINES = 200
FIRST_BYTES = 1 << 16
LARGEST_TABLE_BYTES = 200 * 10**6
"""Of ratings and manifests, which are read whole. The largest ratings published have some 85,000 words (3 MB)."""


def check_file(path: Path, name: str, *, role: FileRole, language: str, form: str) -> None:
    """
    Raises
    ------
    CorpusError, FileRefusedError
        Names the file or says what is wrong with it, with its line where it is one.
    """
    if not path.stat().st_size:
        raise CorpusError(_("%(file)s is empty.") % {"file": name})
    if role == FileRole.TEXT:
        _check_text(path, name, language, form)
    elif role == FileRole.INVENTORY:
        _check_inventory(path, name, form)
    elif role == FileRole.VECTORS:
        _check_vectors(path, name)
    elif role == FileRole.IMAGES:
        _check_images(path, name)
    elif role == FileRole.FEATURES:
        try:
            read_named_vectors(path)
        except (MalformedVectorsError, OSError) as error:
            raise CorpusError(f"{name}: {error}") from error
    else:
        _check_table(path, name, role)


def _check_text(path: Path, name: str, language: str, form: str) -> None:
    problems = Problems()
    if form == "moses":
        _check_lines(path, name)
        return
    text = Text(language, form, (name,))
    if next(read_pairs(text, lambda _name: path, problems), None) is None:
        raise no_pairs(text, problems)


def _check_lines(path: Path, name: str) -> None:
    """Look whether the first lines are text in UTF-8."""
    problems = Problems()
    with opened(path, name) as file:
        for number, line in lines_of(file, name, problems):
            if line is not None and line.strip():
                return
            if number >= FIRST_LINES:
                break
    raise CorpusError(
        _("%(file)s: none of its first %(count)s lines is text in UTF-8.") % {"file": name, "count": FIRST_LINES}
    )


def _check_inventory(path: Path, name: str, form: str) -> None:
    with opened(path, name) as file:
        start = file.read(FIRST_BYTES)
    is_xml = start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    if form == "lmf" and not is_xml:
        raise CorpusError(_("%(file)s, line 1: this is no XML, as LMF is.") % {"file": name})
    if form in ("", "tsv", "omw") and not is_xml and not start.startswith(b"PK"):
        lines = [line for line in start.splitlines()[:FIRST_LINES] if line.strip() and not line.startswith(b"#")]
        if not any(b"\t" in line for line in lines):
            raise CorpusError(
                _("%(file)s, line 1: a synset, a tab and a lemma are needed, such as 02084071-n and dog.")
                % {"file": name}
            )


def _check_vectors(path: Path, name: str) -> None:
    try:
        if format_of(path) == FileFormat.WORD2VEC_BINARY:
            return
        with opened(path, name) as file:
            first, second = file.readline(FIRST_BYTES), file.readline(FIRST_BYTES)
        next(map(float, (second or first).split()[1:]))
    except (WordVectorFileError, ValueError, StopIteration) as error:
        raise CorpusError(
            _("%(file)s has no word vectors: each line needs a word and its numbers, as GloVe and word2vec write them.")
            % {"file": name}
        ) from error


def _check_images(path: Path, name: str) -> None:
    with path.open("rb") as file, open_zip(file) as archive:
        contents = contents_of(archive)
    if contents.refused:
        refused, reason = contents.refused[0]
        raise CorpusError(f"{name}, {refused}: {reason}")
    if not contents.files:
        raise CorpusError(_("%(file)s has no files.") % {"file": name})


def _check_table(path: Path, name: str, role: FileRole) -> None:
    if path.stat().st_size > LARGEST_TABLE_BYTES:
        raise CorpusError(
            _("%(file)s has more than %(limit)s MB.") % {"file": name, "limit": LARGEST_TABLE_BYTES // 10**6}
        )
    problems = Problems()
    if role == FileRole.RATINGS:
        read_ratings(path, problems, name=name)
        return
    if next(Manifest(path, name, None, frozenset(), problems).lines(), None) is None:
        # A line without a file is of all images in the folder of its sense, which may come with another upload.
        first = next(iter(problems.examples.get("no_licence", [])), None)
        if first or not problems:
            reason = f"{first.message}" if first else _("It has no image.")
            line = _("line %(line)s") % {"line": first.line if first else 1}
            raise CorpusError(f"{name}, {line}: {reason}")
