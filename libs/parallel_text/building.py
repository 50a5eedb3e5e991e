"""Build a corpus step by step in one folder: skip what is done, continue what was interrupted."""

from __future__ import annotations

import hashlib
import importlib
import json
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from crosslens_metrics.messages import gettext as _
from parallel_text.config import CorpusConfig
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.steps import CorpusFolder, Step, StepReport, StepWork

STEP_NAMES = ("ingest", "candidates", "align", "dictionary", "senses", "intersect", "images", "publish")
"""The steps, in the order in which they run."""

PARENT_CHECK_S = 1.0


@dataclass(frozen=True)
class DoneStep:
    """What is kept of a step that is done, in `steps/NAME.json`."""

    step: str
    version: int
    fingerprint: str
    settings: Mapping[str, Any]
    files: Mapping[str, str]
    counts: Mapping[str, Any]
    tools: Mapping[str, str]
    problems: LineProblems
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "problems": self.problems.as_json()}


def step_named(name: str) -> Step:
    """Return a step of `STEP_NAMES`; its module is imported only then."""
    step: Step = importlib.import_module(f"parallel_text.{name}").STEP
    return step


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, that of the names and contents of its files."""
    if path.is_dir():
        return _sha256_of_lines(f"{name}\0{sha256_of(each)}" for name, each in _files_in(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_listing(path: Path) -> str:
    """Return the SHA-256 of the names and sizes of a folder's files."""
    return _sha256_of_lines(f"{name}\0{each.stat().st_size}" for name, each in _files_in(path))


def _files_in(folder: Path) -> list[tuple[str, Path]]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return sorted((each.relative_to(folder).as_posix(), each) for each in files)


def _sha256_of_lines(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        # Names of files may hold bytes that are no UTF-8.
        digest.update(os.fsencode(f"{line}\n"))
    return digest.hexdigest()


def fingerprint_of(step: Step, config: CorpusConfig, *, files: Mapping[str, str], needs: Mapping[str, str]) -> str:
    """Identify a step's result: by its version, its settings, the SHA-256 of its files, and the steps that it needs."""
    identity = {"step": step.name, "version": step.version, "settings": step.settings(config)}
    # Names of files do not count: the same content elsewhere gives the same corpus.
    identity |= {"files": [files[name] for name in step.files(config)], "needs": [needs[name] for name in step.needs]}
    return hashlib.sha256(json.dumps(identity, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def done_step(folder: CorpusFolder, name: str) -> DoneStep | None:
    """Read what is kept of a step, or None if it has never been done."""
    try:
        data = json.loads(folder.read(f"steps/{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return DoneStep(**{**data, "problems": LineProblems.from_json(data["problems"])})


def is_done(folder: CorpusFolder, name: str, fingerprint: str) -> bool:
    """Return whether a step was done with this fingerprint."""
    record = done_step(folder, name)
    return record is not None and record.fingerprint == fingerprint


def begin(folder: CorpusFolder, name: str, fingerprint: str) -> None:
    """Make room for a step: keep parts that were written with this fingerprint, and delete all others."""
    folder.remove(f"steps/{name}.json")
    begun = f"steps/{name}.begun"
    if folder.names(begun) and folder.read(begun).read_text() == fingerprint:
        return
    folder.remove(begun)
    folder.remove(f"{name}/")
    with folder.writing(begun) as path:
        path.write_text(fingerprint)


def record_done(
    work: StepWork, step: Step, fingerprint: str, report: StepReport, *, files: Mapping[str, str], seconds: float
) -> DoneStep:
    """Record that a step is done. This is the last thing that it writes."""
    record = DoneStep(
        step=step.name,
        version=step.version,
        fingerprint=fingerprint,
        settings=step.settings(work.config),
        files={name: files[name] for name in step.files(work.config)},
        counts=report.counts,
        tools=report.tools,
        problems=report.problems,
        seconds=round(seconds, 3),
    )
    with work.folder.writing(f"steps/{step.name}.json") as path:
        path.write_text(json.dumps(record.as_json(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return record


def build(
    work: StepWork,
    *,
    steps: Iterable[str] = STEP_NAMES,
    again: bool = False,
    announce: Callable[[str], None] = lambda line: None,
) -> list[DoneStep]:
    """Bring the steps named up to date, in their order, with `work.config.workers` processes.

    - `work`: nobody else is writing to its folder.
    - `steps`: names of `STEP_NAMES`. What they need must be done, or be among them.
    - `again`: do them even where they are done: an aligner may draw at random.
    - `announce`: takes lines of progress.

    Raises CorpusError: what is done by then is kept.
    """
    wanted = set(steps)
    prints: dict[str, str] = {}
    records = []
    hashes = _FileHashes(work.input, listed=work.config.images.folder)
    for name in STEP_NAMES:
        step = step_named(name)
        files = {file: hashes[file] for file in step.files(work.config)}
        prints[name] = fingerprint = fingerprint_of(step, work.config, files=files, needs=prints)
        if name not in wanted:
            continue
        for need in step.needs:
            if not is_done(work.folder, need, prints[need]):
                raise CorpusError(
                    _("%(step)s needs %(need)s, which is not up to date. Run it first.") % {"step": name, "need": need}
                )
        record = done_step(work.folder, name)
        if record is not None and record.fingerprint == fingerprint and not again:
            announce(_("%(step)s: done before") % {"step": name})
        else:
            if again:
                work.folder.remove(f"steps/{name}.begun")
            record = _run(work, step, fingerprint, files, announce)
        records.append(record)
    return records


def _run(
    work: StepWork, step: Step, fingerprint: str, files: Mapping[str, str], announce: Callable[[str], None]
) -> DoneStep:
    start = time.monotonic()
    begin(work.folder, step.name, fingerprint)
    try:
        chunks = step.chunks(work)
        left = [chunk for chunk in chunks if not step.is_written(work, chunk)]
        for number, chunk in enumerate(_run_chunks(work, step.name, left), start=len(chunks) - len(left) + 1):
            announce(
                _("%(step)s: %(number)s of %(count)s (%(chunk)s)")
                % {"step": step.name, "number": number, "count": len(chunks), "chunk": chunk}
            )
        report = step.finish(work)
    finally:
        shutil.rmtree(work.scratch, ignore_errors=True)
    record = record_done(work, step, fingerprint, report, files=files, seconds=time.monotonic() - start)
    announce(_("%(step)s: done in %(seconds).1f s") % {"step": step.name, "seconds": record.seconds})
    return record


def _run_chunks(work: StepWork, step: str, chunks: list[str]) -> Iterable[str]:
    """Run the parts, in processes of their own where there are several; gives each name when it is done."""
    count = min(work.config.workers, len(chunks))
    if count <= 1:
        for chunk in chunks:
            run_chunk(work, step, chunk)
            yield chunk
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        waiting = {pool.submit(run_chunk, work, step, chunk): chunk for chunk in chunks}
        try:
            for future in as_completed(waiting):
                future.result()
                yield waiting[future]
        except BrokenProcessPool as error:
            raise CorpusError(
                _("A process of %(step)s was killed, perhaps because memory ran out. Run it again with fewer workers.")
                % {"step": step}
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run_chunk(work: StepWork, step: str, chunk: str) -> None:
    """Run one part of a step."""
    step_named(step).run_chunk(work, chunk)


def _end_with(parent: int) -> None:
    """End this process soon after its parent, which may have been killed: it would wait for work forever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _FileHashes(dict[str, str]):
    """SHA-256 of the files that a configuration names, each computed once.

    Of the folder `listed`, that of images, no file is read, as no step reads one: there may be millions of them.
    """

    def __init__(self, path_of: Callable[[str], Path], *, listed: str) -> None:
        self.path_of, self.listed = path_of, listed

    def __missing__(self, name: str) -> str:
        path = self.path_of(name)
        try:
            self[name] = sha256_of_listing(path) if name == self.listed and path.is_dir() else sha256_of(path)
        except OSError as error:
            raise CorpusError(
                _("%(file)s cannot be read: %(error)s.") % {"file": name, "error": error.strerror}
            ) from error
        return self[name]


def work_in(out: Path, config: CorpusConfig, *, base: Path) -> StepWork:
    """Prepare to build in the folder `out`; files of the configuration are relative to `base`."""
    return StepWork(config, CorpusFolder(out), out / ".scratch", partial(_input_in, base))


def _input_in(base: Path, name: str) -> Path:
    return base / name
