"""Import people's captions from a file in the layout of Crossmodal-3600: all of it or nothing.

They stay as they are, but for hidden characters. The file is read twice: first every line is checked, so that all
errors are reported at once; then it is stored, some hundred images at a time, in one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.formats.captions import xm3600_lines
from annotation.models import Caption, Release, Round, RoundKind, RoundState
from annotation.services.rounds import create_round
from core.allocation.models import Pool
from core.images.models import Collection, ImportJob, ImportKind, ImportOutcome
from core.images.selectors.filters import images_named
from core.images.services import import_jobs
from core.images.services.imports import Opener
from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from crosslens_metrics.formats.caption_rows import MAX_PER_IMAGE, caption_text
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import is_text
from crosslens_metrics.formats.xm3600 import ImageCaptions, images_in
from crosslens_metrics.hidden_characters import has_hidden, visible_text
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from research.scoring.models import ReferenceKind, ReferenceSet
from tabular.downloads import in_pieces

LINES_AT_ONCE = 500
CAPTIONS_PER_INSERT = 2_000
IMPORTED = "imported"
"""Why there is no pilot, and why the main round is accepted."""
ROUNDS = "rounds"
"""Option of a job: the main rounds that it made."""
UNKNOWN_SOURCE = "Unknown source"
"""A round has a source if its captions are from a file, and not from people at work."""


@dataclass
class CaptionFileContents:
    """The contents of a file: by line its image, and by language the most captions of an image.

    `names` has the language tag for each name in the file, `counts` how many captions there are by tag, and `hidden`
    how many of them have hidden characters.
    """

    images: dict[int, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class ImportedCaptions:
    """The result. `rounds` by language tag; `is_export_equal` is None if the project has other captions too."""

    rounds: Mapping[str, Round]
    images: int
    captions: int
    is_export_equal: bool | None


def import_path(
    *,
    path: Path,
    project: Project,
    collection: Collection,
    source: str,
    opened: Opener,
    part_of: ImportJob,
    clock: import_jobs.Clock,
) -> ImportJob:
    """Import what is `opened` as a part of another import; the report has a line for each language."""
    job = import_jobs.start_inline(
        path, kind=ImportKind.PEOPLE, collection=collection, project=project, part_of=part_of, clock=clock
    )

    def renew() -> None:
        job.lease_until = import_jobs.extend(job, now=clock())

    def report(made: ImportedCaptions, contents: CaptionFileContents) -> None:
        job.options |= {ROUNDS: [round.pk for round in made.rounds.values()]}
        job.save(update_fields=["options"])
        note = "" if made.is_export_equal is None else _said_of_the_export(is_equal=made.is_export_equal)
        rows = [
            import_jobs.report_row(
                job,
                number,
                tag,
                ImportOutcome.ADDED,
                note,
                counts={ImportOutcome.ADDED: contents.counts[tag]},
                had_hidden=contents.hidden.get(tag, 0),
            )
            for number, tag in enumerate(made.rounds, start=1)
        ]
        job.lease_until = import_jobs.write_report(job, rows, now=clock())

    with import_jobs.to_the_end(job, clock=clock) as last, opened() as file:
        # All rows are written with the captions, so one says that a worker that died had stored everything.
        if not last:
            contents, by = look_through(file, collection, renew), part_of.created_by
            held = job.lease_until, part_of.lease_until
            try:
                _store(contents, project, collection, file, source, by, clock(), renew=renew, report=report)
            except BaseException:
                # The transaction that renewed them is undone.
                job.lease_until, part_of.lease_until = held
                raise
    job.refresh_from_db()
    return job


def _said_of_the_export(*, is_equal: bool) -> str:
    if is_equal:
        return _("An export in the layout xm3600 is identical to the file, byte for byte.")
    return _(
        "An export in the layout xm3600 differs from the file: images are in the order of the collection with their "
        "keys, languages are in the order of their tags, every line has every language and a line feed, characters are "
        "neither escaped nor hidden, and it says where images were taken."
    )


def languages_taken(project: Project, languages: Iterable[str]) -> str:
    """Why captions in these languages cannot be imported; "" if the project has no round in any of them."""
    there = Round.objects.filter(project=project, language__in=languages)
    if not (taken := sorted(set(there.values_list("language", flat=True)))):
        return ""
    said = _(
        "The project already has rounds in %(languages)s. Import into another project, or leave these languages out."
    )
    return said % {"languages": ", ".join(taken)}


def made_with_rounds(rounds: QuerySet[Round]) -> Iterator[tuple[str, QuerySet[Any]]]:
    """What was made of imported rounds: what to call it, and its rows."""
    for round in rounds:
        others = Round.objects.filter(project=round.project_id, language=round.language_id)
        yield _("rounds"), others.exclude(pk=round.pk).exclude(state=RoundState.SKIPPED, reason=IMPORTED)
        yield _("releases"), Release.objects.filter(project=round.project_id, until__gte=round.decided_at)
        collected = ReferenceSet.objects.filter(project=round.project_id, language=round.language_id)
        yield _("references"), collected.filter(kind=ReferenceKind.COLLECTED, created_at__gte=round.decided_at)
    captions = Caption.objects.filter(round__in=rounds)
    yield _("checks of captions"), captions.exclude(corrections=None, spot_checks=None)


def remove_rounds(rounds: QuerySet[Round]) -> None:
    """Delete imported rounds with their captions and skipped pilots. Call it in a transaction."""
    pairs = list(rounds.values_list("project", "language"))
    Caption.objects.filter(round__in=rounds).delete()
    for project, language in pairs:
        made = Round.objects.filter(project=project, language=language)
        pools = list(made.values_list("pool", flat=True))
        made.delete()
        Pool.objects.filter(pk__in=pools).delete()


def look_through(
    file: IO[bytes], collection: Collection, renew: Callable[[], None] = lambda: None
) -> CaptionFileContents:
    """Check every line of the file and return its contents; `renew` is called after some lines each.

    Raises FileRefusedError with what is wrong, line by line.
    """
    with _CheckedReader(collection) as look:
        lines = images_in(file)
        while some := list(islice(lines, LINES_AT_ONCE)):
            look.at(some)
            renew()
        if not look.problems and not look.contents.counts:
            look.refuse(_("The file has no captions."))
    return look.contents


def import_captions(
    *,
    project: Project,
    collection: Collection,
    file: IO[bytes],
    source: str,
    by: User | None,
    now: datetime,
) -> ImportedCaptions:
    """Import the captions of a file into a project: an accepted main round for each language, its pilot skipped.

    Raises FileRefusedError: nothing is taken then: the file is not in order, or the project has a main round in one of
    its languages.
    """
    return _store(look_through(file, collection), project, collection, file, source, by, now)


def _store(
    contents: CaptionFileContents,
    project: Project,
    collection: Collection,
    file: IO[bytes],
    source: str,
    by: User | None,
    now: datetime,
    *,
    renew: Callable[[], None] = lambda: None,
    report: Callable[[ImportedCaptions, CaptionFileContents], None] = lambda _made, _contents: None,
) -> ImportedCaptions:
    captions_in_all = contents.counts.total()
    with transaction.atomic():
        audit_log.lock(project, by)
        if refusal := languages_taken(project, contents.most):
            raise FileRefusedError(refusal)
        is_alone = not Round.objects.filter(project=project, kind=RoundKind.MAIN).exists()
        rounds = {
            tag: _round(project, collection, tag, most, source, by, now) for tag, most in sorted(contents.most.items())
        }
        captions = _captions(file, contents, rounds, now)
        while some := list(islice(captions, CAPTIONS_PER_INSERT)):
            Caption.objects.bulk_create(some)
            renew()
        audit_log.record(
            project=project,
            action="captions.imported",
            about=f"{captions_in_all} captions of {len(contents.images)} images",
            by=by,
            now=now,
            details={"languages": sorted(rounds), "collection": collection.slug, "source": source},
        )
        is_equal = _is_same(file, project, now) if is_alone else None
        made = ImportedCaptions(rounds, len(contents.images), captions_in_all, is_equal)
        report(made, contents)
    return made


class _CheckedReader(LineReader):
    """The lines of a file, checked in order, also after an error."""

    def __init__(self, collection: Collection) -> None:
        super().__init__()
        self.collection = collection
        self.contents = CaptionFileContents()
        self._known = set(Language.objects.values_list("pk", flat=True))
        self._lines_of: dict[int, int] = {}

    def at(self, lines: Sequence[ImageCaptions | LineError]) -> None:
        keys = [line.key for line in lines if isinstance(line, ImageCaptions)]
        # No text with a NUL can be stored, and PostgreSQL cannot even look for one.
        images = images_named(filter(is_text, keys), self.collection)
        for line in lines:
            if isinstance(line, LineError):
                self.problems.append(line)
                continue
            number = line.number
            image = images[line.key].only if line.key in images else None
            if image is None:
                named = images.get(line.key)
                if named is not None and named.images:
                    self._refuse(
                        number,
                        _("several images in the collection are called %(key)s: %(keys)s."),
                        key=repr(line.key),
                        keys=", ".join(named.keys),
                    )
                else:
                    self._refuse(number, _("no image in the collection has the key %(key)s."), key=repr(line.key))
                continue
            before = self._lines_of.setdefault(image.pk, number)
            if before != number:
                self._refuse(
                    number, _("the image %(key)s is already in line %(before)d."), key=repr(line.key), before=before
                )
            self.contents.images[number] = image.pk
            self._look_at_captions(line)

    def _look_at_captions(self, image: ImageCaptions) -> None:
        number = image.number
        seen: dict[str, str] = {}
        for name, texts in image.captions.items():
            tag = self._tag(number, name)
            if tag is None:
                continue
            if tag in seen:
                self._refuse(number, _("%(one)s and %(other)s are the same language."), one=seen[tag], other=name)
            seen[tag] = name
            if len(texts) > MAX_PER_IMAGE:
                problem = _("%(count)d captions in %(tag)s; at most %(limit)d are allowed.")
                self._refuse(number, problem, count=len(texts), tag=name, limit=MAX_PER_IMAGE)
            for place, text in enumerate(texts, start=1):
                try:
                    caption_text(text, image.key)
                except LineError as refused:
                    self._refuse(number, _("caption %(place)d in %(tag)s: %(why)s"), place=place, tag=name, why=refused)
            if texts:
                self.contents.most[tag] = max(self.contents.most.get(tag, 0), len(texts))
                self.contents.counts[tag] += len(texts)
                self.contents.hidden[tag] += sum(map(has_hidden, texts))

    def _tag(self, number: int, name: str) -> str | None:
        if name not in self.contents.names:
            try:
                tag = canonical_tag(name)
            except MalformedTagError as malformed:
                self._refuse(number, "%(why)s", why=malformed)
                return None
            if tag not in self._known:
                self._refuse(number, _("there is no language %(tag)s here; add it with add_language."), tag=name)
                return None
            self.contents.names[name] = tag
        return self.contents.names[name]

    def _refuse(self, number: int, problem: str, **about: object) -> None:
        self.refuse(problem % about, number=number)


def _round(
    project: Project, collection: Collection, tag: str, most: int, source: str, by: User | None, now: datetime
) -> Round:
    language = Language.objects.get(pk=tag)
    for kind, state in ((RoundKind.PILOT, RoundState.SKIPPED), (RoundKind.MAIN, RoundState.ACCEPTED)):
        made = create_round(
            project=project,
            language=language,
            collection=collection,
            captioners=(),
            replication=most,
            seed=0,
            kind=kind,
            state=state,
            reason=IMPORTED,
            source=(source or UNKNOWN_SOURCE) if kind == RoundKind.MAIN else "",
            by=by,
            now=now,
        )
    return made


def _captions(
    file: IO[bytes], contents: CaptionFileContents, rounds: Mapping[str, Round], now: datetime
) -> Iterator[Caption]:
    for line in images_in(file):
        if isinstance(line, LineError):
            raise FileRefusedError(_("The file changed while it was being read. Import it again."))
        for name, texts in line.captions.items():
            round = rounds.get(contents.names[name])
            for position, text in enumerate(texts, start=1):
                assert round is not None  # because it has a caption
                yield Caption(
                    round=round,
                    image_id=contents.images[line.number],
                    guidelines_id=round.guidelines_id,
                    position=position,
                    text=visible_text(text),
                    text_as_typed=visible_text(text),
                    submitted_at=now,
                )


def _is_same(file: IO[bytes], project: Project, until: datetime) -> bool:
    """Return whether the project's export is the file, byte for byte."""
    file.seek(0)
    exported = in_pieces(xm3600_lines(project, until=until))
    return all(file.read(len(piece)) == piece for piece in exported) and not file.read(1)
