"""Step `align`: the words of every pair with those of its English sentence, in both directions, intersected.

Word aligners are programs of their own: eflomal, whose licence is GPL-3, and fast_align. Words are numbers to them:
case, `|||` and odd white space within a line cannot be misread, whatever a text holds.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosslens_metrics.messages import gettext as _
from parallel_text import tagging, words
from parallel_text.config import ENGLISH, CorpusConfig
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.steps import Step, StepReport, StepWork

if TYPE_CHECKING:
    import pyarrow as pa

PROGRAMS = {"eflomal": "eflomal-align", "fast_align": "fast_align"}
"""Aligners, the preferred one first, and how their programs are called."""

VARIABLE = "CROSSLENS_ALIGNER"
"""The environment variable that names an aligner or its path."""

MAX_SENTENCE_TOKENS = 1023
"""Tokens of a sentence that is aligned: eflomal takes no more."""

KEPT_OF_STDERR = 2000
PASSED_ON = ("HOME", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT")
LINK = re.compile(r"([0-9]+)-([0-9]+)")

# Ends the aligner, with what that has started, as soon as the process is gone that waits for it: that may be killed.
WATCHED = """
import os, signal, subprocess, sys, threading
def watch():
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
threading.Thread(target=watch, daemon=True).start()
code = child.wait()
os._exit(code if code >= 0 else 128 - code)
"""

TOOLS = b"crosslens_"
"""How the keys of a file's metadata begin that name a tool."""

Words = Sequence[str]
Links = list[tuple[int, int]]
"""Places of a token among the source's and among the target's, from 0."""


@dataclass(frozen=True)
class WordAligner:
    """A program that aligns words. `kind` is a name of `PROGRAMS`."""

    kind: str
    path: Path

    @property
    def version(self) -> str:
        """Its version, and whether the same text always gets the same links."""
        if self.kind == "fast_align":
            return "always the same links"  # it tells no version
        installed = sorted(self.path.resolve().parent.parent.glob("lib/python*/site-packages/eflomal-*.dist-info"))
        number = installed[0].name.split("-")[1].removesuffix(".dist") if installed else _("unknown version")
        return f"{number}, takes no seed"

    def links(self, pairs: Sequence[tuple[Words, Words]], *, scratch: Path) -> list[Links]:
        """Align the words of each pair in both directions, and keep the links that both have.

        - `pairs`: length n: tokens of source and target, as they are compared: in lower case.
        - `scratch`: a folder for temporary files. They are deleted, unless this process is killed.
        - returned: length n: sorted. A pair with an empty side or more than `MAX_SENTENCE_TOKENS` tokens has none.

        Raises CorpusError if the program fails, or its output is not that of an aligner.
        """
        aligned = [
            number for number, sides in enumerate(pairs) if all(0 < len(side) <= MAX_SENTENCE_TOKENS for side in sides)
        ]
        found: list[Links] = [[] for _pair in pairs]
        if not aligned:
            return found
        scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="align-", dir=scratch) as folder:
            chosen = (pairs[number] for number in aligned)
            forward, reverse = (self._eflomal if self.kind == "eflomal" else self._fast_align)(chosen, Path(folder))
            both = zip(aligned, self._read(forward, pairs, aligned), self._read(reverse, pairs, aligned), strict=True)
            for number, one, other in both:
                found[number] = sorted(one & other)
        return found

    def _eflomal(self, pairs: Iterable[tuple[Words, Words]], folder: Path) -> tuple[Path, Path]:
        source, target, forward, reverse = (folder / name for name in ("source", "target", "forward", "reverse"))
        _write(pairs, source, target)
        self._run(["-s", source, "-t", target, "-f", forward, "-r", reverse, "--overwrite"], folder)
        return forward, reverse

    def _fast_align(self, pairs: Iterable[tuple[Words, Words]], folder: Path) -> tuple[Path, Path]:
        both, forward, reverse = (folder / name for name in ("both", "forward", "reverse"))
        _write(pairs, both)
        # Diagonal, Dirichlet prior on the words, as its makers recommend.
        self._run(["-i", both, "-d", "-o", "-v"], folder, forward)
        self._run(["-i", both, "-d", "-o", "-v", "-r"], folder, reverse)
        return forward, reverse

    def _run(self, arguments: Sequence[str | Path], folder: Path, output: Path | None = None) -> None:
        """Run the program; what it prints goes to `output`."""
        errors = folder / "errors"
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        # Parts run at the same time, so that each needs one processor; fast_align also adds in one order only so.
        environment |= {"LC_ALL": "C.UTF-8", "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-I", "-S", "-c", WATCHED, self.path, *arguments]
        with errors.open("wb") as stderr, (output or folder / "output").open("wb") as stdout:
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, env=environment, start_new_session=True
            )
            try:
                code = process.wait()
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
            finally:
                if process.stdin is not None:
                    process.stdin.close()
        if code:
            end = errors.read_bytes()[-KEPT_OF_STDERR:].decode(errors="replace").strip()
            raise CorpusError(
                _("%(program)s failed: %(how)s. %(end)s Nothing of this part was kept; run the step again.")
                % {"program": self.path, "how": _how_it_ended(code), "end": end and _("It wrote: %s") % end}
            )

    def _read(
        self, path: Path, pairs: Sequence[tuple[Words, Words]], aligned: Sequence[int]
    ) -> Iterator[set[tuple[int, int]]]:
        """Read the links of one direction, a line for each pair."""
        try:
            lines = path.open(encoding="ascii", errors="replace")
        except FileNotFoundError:
            raise self._odd(_("it wrote no links")) from None
        with lines:
            count = 0
            for line, number in zip_longest(lines, aligned):
                if number is None:
                    count += 1 + sum(1 for _more in lines)
                    break
                if line is None or not line.endswith("\n"):
                    break
                source, target = map(len, pairs[number])
                count += 1
                links = set()
                for text in line.split():
                    match = LINK.fullmatch(text)
                    link = (int(match[1]), int(match[2])) if match else (source, target)
                    if link[0] >= source or link[1] >= target:
                        place = {"line": count, "link": text, "source": source, "target": target}
                        raise self._odd(
                            _("its line %(line)s has %(link)s, of sentences of %(source)s and %(target)s words") % place
                        )
                    links.add(link)
                yield links
            else:
                return
        raise self._odd(_("it wrote %(lines)s lines for %(pairs)s pairs") % {"lines": count, "pairs": len(aligned)})

    def _odd(self, what: str) -> CorpusError:
        return CorpusError(
            _("%(program)s ended without an error, but %(what)s. Nothing of this part was kept; run the step again.")
            % {"program": self.path, "what": what}
        )


def find_aligner(program: str = "") -> WordAligner:
    """Find eflomal, fast_align or what lies at the path of either.

    An empty text takes what the environment variable CROSSLENS_ALIGNER names, else the first that is found: on PATH, or
    in aligner/bin where Python is installed.

    Raises CorpusError if there is none; tells how to get it.
    """
    given = os.environ.get(VARIABLE, "")
    if not program or _kind_of(given) == program:
        program = given or program
    if os.sep in program:
        return _at(Path(program).expanduser())
    if program and program not in PROGRAMS:
        raise CorpusError(
            _("%(program)s is not a known word aligner. Give eflomal, fast_align, or the path of either.")
            % {"program": program}
        )
    places = [*os.get_exec_path(), str(_own_folder() / "bin")]
    for kind in [program] if program else PROGRAMS:
        if found := shutil.which(PROGRAMS[kind], path=os.pathsep.join(places)):
            return WordAligner(kind, Path(found))
    raise CorpusError(f"{_how_missing(program)} {_how_to_get()}")


def _at(path: Path) -> WordAligner:
    kind = _kind_of(str(path))
    if kind not in PROGRAMS:
        raise CorpusError(
            _("%(path)s is not a known word aligner: its name must be %(names)s.")
            % {"path": path, "names": " or ".join(PROGRAMS.values())}
        )
    if not shutil.which(path):
        raise CorpusError(_("There is no program %(path)s. %(how)s") % {"path": path, "how": _how_to_get()})
    return WordAligner(kind, path)


def _kind_of(program: str) -> str:
    """Return the kind of a path or name, or an empty text."""
    name = Path(program).name
    return next((kind for kind, file in PROGRAMS.items() if name in (kind, file)), "")


def _how_missing(program: str) -> str:
    if program:
        return _("%(program)s, which aligns words, is not installed.") % {"program": program}
    return _("No word aligner is installed.")


def _own_folder() -> Path:
    return Path(sys.prefix) / "aligner"


def _how_to_get() -> str:
    return _(
        "eflomal needs a C compiler and an environment of its own: python3 -m venv %(folder)s; "
        "%(folder)s/bin/pip install eflomal==2.0.0. fast_align is built from its source; put it on PATH. "
        "Or name the path of either in the environment variable CROSSLENS_ALIGNER."
    ) % {"folder": _own_folder()}


def _how_it_ended(code: int) -> str:
    number = code - 128 if code > 128 else -code
    with suppress(ValueError):
        return _("it was killed by %s") % signal.Signals(number).name
    return _("exit code %s") % code


def _write(pairs: Iterable[tuple[Words, Words]], *paths: Path) -> None:
    """Write the words as numbers: each side to a file of its own, or both to one, parted by `|||`."""
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("w", encoding="ascii")) for path in paths]
        for pair in pairs:
            lines = [
                " ".join(str(known.setdefault(word, len(known))) for word in side)
                for side, known in zip(pair, numbers, strict=True)
            ]
            for file, line in zip(files, lines if len(files) > 1 else [" ||| ".join(lines)], strict=True):
                file.write(line + "\n")


class AlignStep(Step):
    """One part for each language and file of English sentences, called "es-00003"."""

    name = "align"
    version = 1
    # Not `candidates`, whose thresholds would have everything aligned again: its English tokens are found here, too.
    needs = ("ingest",)

    def settings(self, config: CorpusConfig) -> dict[str, Any]:
        return {"program": config.aligner, "english_words": tagging.VERSION, "words": words.VERSION}

    def chunks(self, work: StepWork) -> list[str]:
        # Refused here, once and before any work, where no part could be done.
        find_aligner(work.config.aligner)
        return [
            f"{language}-{name.rpartition('/')[2].removesuffix('.parquet')}"
            for language in work.config.languages
            for name in work.folder.names(f"ingest/pairs.{language}/")
        ]

    def part(self, chunk: str) -> str:
        language, _dash, number = chunk.rpartition("-")
        return f"align/{language}/{number}.parquet"

    def run_chunk(self, work: StepWork, chunk: str) -> None:
        from pyarrow import parquet

        aligner = find_aligner(work.config.aligner)
        language, _dash, _number = chunk.rpartition("-")
        table, english = _pairs(work, chunk)
        theirs = words.tokens_of(table["text"].to_pylist(), language)
        sides = [
            (_compared(one, ENGLISH), _compared(other, language)) for one, other in zip(english, theirs, strict=True)
        ]
        links = aligner.links(sides, scratch=work.scratch)
        made = _table(table, theirs, links, _tools(aligner, language))
        with work.folder.writing(self.part(chunk)) as path:
            parquet.write_table(made, path, compression="zstd")

    def finish(self, work: StepWork) -> StepReport:
        """Count what was aligned, and name the aligners: each part may have met another."""
        from pyarrow import parquet

        tools: dict[str, set[str]] = {}
        for chunk in self.chunks(work):
            metadata = parquet.read_schema(work.folder.read(self.part(chunk))).metadata or {}
            for key, value in metadata.items():
                if key.startswith(TOOLS):
                    tools.setdefault(key.removeprefix(TOOLS).decode(), set()).add(value.decode())
        counts: dict[str, Any] = {}
        problems = LineProblems()
        for language in work.config.languages:
            counts[language] = _count(work, language, problems)
        totals = {name: sum(of[name] for of in counts.values()) for name in ("pairs", "links")}
        return StepReport(
            {**totals, "languages": counts}, problems, {name: " | ".join(sorted(of)) for name, of in tools.items()}
        )


def _pairs(work: StepWork, chunk: str) -> tuple[pa.Table, list[list[str]]]:
    """Read a part's pairs in their order, and the English tokens of each."""
    language, _dash, number = chunk.rpartition("-")
    query = """
        SELECT pair, pairs.sentence, pairs.text, english.text AS english
        FROM parquet($pairs) AS pairs JOIN parquet($english) AS english USING (sentence)
        ORDER BY pair
    """
    files = {
        "pairs": str(work.folder.read(f"ingest/pairs.{language}/{number}.parquet")),
        "english": str(work.folder.read(f"ingest/english/{number}.parquet")),
    }
    with work.database() as database:
        table = database.sql(query, params=files).to_arrow_table()
    return table, [[word for word, _start in tagging.tokens(text)] for text in table["english"].to_pylist()]


def _compared(tokens: Sequence[str], language: str) -> list[str]:
    return [words.lower(token, language) for token in tokens]


def _tools(aligner: WordAligner, language: str) -> dict[str, str]:
    return {aligner.kind: aligner.version, **words.word_tools([language])}


def _table(pairs: pa.Table, theirs: list[list[str]], links: list[Links], tools: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    places = pa.list_(pa.int32())
    columns = {
        "pair": pairs["pair"],
        "sentence": pairs["sentence"],
        "words": pa.array(theirs, pa.list_(pa.string())),
        "english_positions": pa.array([[english for english, _other in each] for each in links], places),
        "positions": pa.array([[other for _english, other in each] for each in links], places),
    }
    metadata = {TOOLS + name.encode(): value.encode() for name, value in tools.items()}
    return pa.table(columns).replace_schema_metadata(metadata)


def _count(work: StepWork, language: str, problems: LineProblems) -> dict[str, Any]:
    """Count pairs, their tokens and links, and name the first pairs that are too long to be aligned."""
    files = [str(work.folder.read(name)) for name in work.folder.names(f"align/{language}/")]
    if not files:
        return {"pairs": 0, "tokens": 0, "links": 0, "unaligned": 0}
    with work.database() as database:
        counted = database.execute(
            """
            SELECT count(*), coalesce(sum(len(words)), 0)::BIGINT, coalesce(sum(len(positions)), 0)::BIGINT,
                count_if(len(positions) = 0)
            FROM parquet($1)
            """,
            [files],
        ).fetchone()
        too_long = database.execute(
            "SELECT pair, len(words) FROM parquet($1) WHERE len(words) > $2 ORDER BY pair", [files, MAX_SENTENCE_TOKENS]
        ).fetchall()
    for pair, length in too_long:
        message = _("Pair %(pair)s has %(length)s words in %(language)s and was not aligned.")
        problems.add("too_long", message % {"pair": pair, "length": length, "language": language})
    assert counted is not None
    return dict(zip(("pairs", "tokens", "links", "unaligned"), counted, strict=True))


STEP = AlignStep()
