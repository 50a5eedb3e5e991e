"""The files of a release, written in one pass over the captions, image by image, in constant memory.

The same state gives the same bytes from any database: nothing depends on primary keys, the order of rows or the clock.
People are identified by the batches they submitted, which have random numbers.
"""

from __future__ import annotations

import hmac
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from annotation.formats import release_tables as tables
from annotation.formats.archives import MANIFEST, FileFacts, facts_of, sha256_of
from annotation.formats.captions import xm3600_line
from annotation.formats.croissant import CROISSANT
from annotation.formats.release_images import WITH_IMAGES, ReleaseImages
from annotation.formats.release_tables import ReleaseTable
from annotation.models import Caption, CaptionBatch, CaptionState, Release, Round, Tally, Verdict, VerificationBatch
from annotation.selectors.caption_rows import (
    AUTHOR,
    FIRST_COLUMNS,
    LANGUAGE,
    POSITION,
    CollectionImages,
    Row,
    counted_by_image,
    day_of,
    raw_rows,
)
from annotation.selectors.releases import released_rounds
from annotation.services.release_contents import (
    IMAGE,
    NOT_VERIFIED,
    LanguageContents,
    ReleaseContents,
    ReleaseNotPossibleError,
    ReleasePlaces,
    VerifiedCaption,
    changes_since,
    short_digest,
    snapshot_of,
)
from annotation.services.release_texts import croissant_of, write_texts
from core.allocation.models import AssignmentState
from core.images.models import Image
from core.images.rules.attributions import FIELDS, may_be_copied
from core.images.selectors.attributions import as_of
from core.images.services.file_storage import largest_size
from crosslens_metrics.quality import CODES, LEVELS, median_rating
from tabular.downloads import as_iso, csv_line

IMAGES_AT_ONCE = 50
TRIES = 3
PSEUDONYM_DIGITS = 12
REGION = "region"
"""A key of `Image.extra`: the column of a manifest with the part of the world that an image was chosen for."""

_REST = len(FIRST_COLUMNS)


@dataclass(frozen=True)
class WrittenFiles:
    """`checksum` is that of the manifest, which has those of all other files."""

    files: list[FileFacts]
    checksum: str
    counts: dict[str, Any]


def write_release(release: Release, folder: Path, *, beat: Callable[[], None]) -> WrittenFiles:
    """Write all files into an empty folder; `beat` is called regularly meanwhile.

    Raises ReleaseNotPossibleError where there is nothing to release any more, or captions change all the time.
    """
    contents = _written_unchanged(release, folder, beat)
    changes = changes_since(release, contents.captions, contents.left_out, beat=beat)
    if changes is not None:
        with (folder / "changes.csv").open("w", encoding="utf-8", newline="") as file:
            file.write(csv_line(tables.CHANGES))
            file.writelines(csv_line(change) for change in changes.listed())
    counts = _counts(contents) | _about_places(release, contents)
    counts |= {"changes": changes.as_counts()} if changes else {}
    write_texts(release, folder, contents, changes)
    beat()
    facts = facts_of(folder)
    if release.format >= tables.CROISSANT_SINCE:
        path = folder / CROISSANT
        path.write_text(croissant_of(release, contents, facts), encoding="utf-8", newline="\n")
        facts.append(FileFacts(CROISSANT, path.stat().st_size, sha256_of(path)))
        facts.sort()
    manifest = {
        "format": release.format,
        "release": _about(release),
        **counts,
        "files": [file._asdict() for file in facts],
    }
    path = folder / MANIFEST
    path.write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
    checksum = sha256_of(path)
    listed = [*facts, FileFacts(MANIFEST, path.stat().st_size, checksum)]
    return WrittenFiles(listed, checksum, counts | {"files": [file._asdict() for file in listed]})


def _written_unchanged(release: Release, folder: Path, beat: Callable[[], None]) -> ReleaseContents:
    """Write the tables, and again if what counts has changed meanwhile: they would not agree with each other."""
    for _try in range(TRIES):
        rounds = released_rounds(release.project)
        before = _mark(release, rounds)
        places = _places(release, rounds)
        contents = _CaptionWriter(release, rounds, folder, beat, places).through()
        if not len(contents.captions):
            raise ReleaseNotPossibleError(_("No caption in the accepted rounds counts any more."))
        if _mark(release, rounds) == before:
            release.places = places
            return contents
        rmtree(folder)
        folder.mkdir()
    raise ReleaseNotPossibleError(_("Captions kept changing while the release was made. Make another release later."))


def _places(release: Release, rounds: list[Round]) -> dict[str, Any]:
    """Return the places as they were when the release was made, or if it is being made, as they are."""
    if release.format < tables.PLACES_SINCE:
        return {}
    return release.places or snapshot_of(release, rounds)


def _mark(release: Release, rounds: list[Round]) -> list[Any]:
    """Return a value that changes when anything that counts changes, even if as many captions count as before.

    New captions are noticed by their times.
    """
    captions = Caption.objects.filter(round__in=rounds, submitted_at__lte=release.until).order_by()
    states = captions.values_list("round", "state").annotate(count=Count("pk"), which=Sum("pk"))
    verdicts = _verdicts(release, rounds).order_by().values_list("rating").annotate(count=Count("pk"), which=Sum("pk"))
    # Texts change with a tally. A verdict changes only in whether it counts.
    revisions = Tally.objects.filter(round__in=rounds).aggregate(sum=Sum("revision"))["sum"]
    return [sorted(states), sorted(verdicts), revisions, [round.pk for round in rounds]]


def _verdicts(release: Release, rounds: list[Round]) -> Any:
    return _submitted(release, rounds).filter(assignment__state=AssignmentState.DONE)


def _submitted(release: Release, rounds: list[Round]) -> Any:
    return Verdict.objects.filter(batch__submitted_at__lte=release.until, batch__round__verifies__in=rounds)


class _CaptionWriter:
    """One pass over the captions, which are written on the way."""

    def __init__(
        self,
        release: Release,
        rounds: list[Round],
        folder: Path,
        beat: Callable[[], None],
        places: Mapping[str, Any],
    ) -> None:
        self.release, self.rounds, self.folder, self.beat = release, rounds, folder, beat
        self.round_of = {round.pk: round for round in rounds}
        tags = sorted({round.language_id for round in rounds})
        self.contents = ReleaseContents(rounds, {tag: LanguageContents() for tag in tags}, ReleasePlaces(places))
        self.tables = tables.tables_of(format=release.format, has_coordinates=release.has_coordinates)
        self.is_verified = _verdicts(release, rounds).exists()
        self.name_of = ReleasePseudonyms(release)
        self.images_left_out = {(collection, digest) for collection, digest in release.images_left_out}

    def through(self) -> ReleaseContents:
        with ExitStack() as stack:
            opened = {
                name: stack.enter_context(ReleaseTable(self.folder, name, columns))
                for name, columns in self.tables.items()
            }
            self.captions, self.verdicts, self.english_ratings, self.images = opened.values()
            self.with_images = stack.enter_context(ReleaseImages(self.folder))
            xm3600, image_list = self.folder / "captions.xm3600.jsonl", self.folder / "images.csv"
            self.xm3600 = stack.enter_context(xm3600.open("w", encoding="utf-8", newline="\n"))
            self.image_list = stack.enter_context(image_list.open("w", encoding="utf-8", newline=""))
            self.image_list.write(csv_line(column.name for column in self.tables["images"]))
            walk = counted_by_image(
                self.rounds, tables.StoredCaption._fields, until=self.release.until, at_once=IMAGES_AT_ONCE
            )
            for images in walk:
                self.beat()
                self._put(images)
        self.contents.images, self.contents.verdicts = self.images.count, self.verdicts.count
        self.contents.english_ratings = self.english_ratings.count
        self.contents.with_images = self.with_images.count
        self._look_at_the_rest()
        return self.contents

    def _put(self, images: CollectionImages) -> None:
        if not images.rows:
            return
        stored_images = Image.objects.in_bulk(list(images.rows))
        # A licence that was changed since must not change the bytes.
        as_of(stored_images, self.release.created_at)
        verified = self._verified(images) if self.is_verified else {}
        for pk, key in images.keys.items():
            if pk not in images.rows:
                continue
            stored_image = stored_images[pk]
            if (images.collection.slug, stored_image.sha256) in self.images_left_out:
                for row in images.rows[pk]:
                    stored = tables.StoredCaption._make(row[_REST:])
                    self._leave_out(row[LANGUAGE], self._name_of_caption(stored_image, row, stored), IMAGE)
            else:
                self._put_image(images, stored_image, key)
                self._put_captions(stored_image, key, sorted(images.rows[pk], key=self._in_order), verified)

    def _in_order(self, row: Row) -> tuple[str, str, int, int]:
        # If somebody wrote in two rounds of a language, by the round.
        return row[LANGUAGE], self.name_of.get(row[AUTHOR]) or "", row[POSITION], self.round_of[row[_REST + 1]].number

    def _put_image(self, images: CollectionImages, stored_image: Image, key: str) -> None:
        region = stored_image.extra.get(REGION, "")
        row = tables.ImageRow(
            key,
            images.collection.slug,
            stored_image,
            region if isinstance(region, str) else json.dumps(region, sort_keys=True),
            self.contents.places.of(stored_image.sha256),
        )
        self.images.add(row)
        self.image_list.write(csv_line(column.value(row) for column in self.tables["images"]))
        self.contents.image_licences[stored_image.licence] += 1

    def _put_captions(
        self, stored_image: Image, key: str, rows: list[Row], verified: Mapping[int, VerifiedCaption]
    ) -> None:
        texts: dict[str, list[str]] = {tag: [] for tag in self.contents.by_language}
        for row in rows:
            stored = tables.StoredCaption._make(row[_REST:])
            texts[row[LANGUAGE]].append(stored.text)
            self._put_caption(stored_image, key, row, stored, verified.get(stored.pk, NOT_VERIFIED))
        self.xm3600.write(xm3600_line(key, texts))
        if self.release.has_images and may_be_copied(stored_image.licence):
            self._put_image_file(stored_image, key, texts)
        for tag, captions in texts.items():
            self.contents.by_language[tag].statistics.add(captions)

    def _put_image_file(self, stored_image: Image, key: str, texts: Mapping[str, list[str]]) -> None:
        """Add the image as people saw it, which has no metadata, such as where it was taken."""
        content = largest_size(stored_image)
        if content is None:
            raise ReleaseNotPossibleError(
                _("The file of image %(key)s is not in storage. Import the image again.") % {"key": key}
            )
        fields = {name: getattr(stored_image, name) for name in FIELDS}
        self.with_images.add(content, {"key": key, "sha256": stored_image.sha256, **fields}, texts)

    def _put_caption(
        self, stored_image: Image, key: str, row: Row, stored: tables.StoredCaption, verified: VerifiedCaption
    ) -> None:
        tag, annotator = row[LANGUAGE], self.name_of.get(row[AUTHOR])
        round, about = self.round_of[stored.round_id], self.contents.by_language[tag]
        name = self._name_of_caption(stored_image, row, stored)
        caption = tables.CaptionRow(name, key, stored_image, tag, annotator, round, verified.level, stored)
        self.captions.add(caption)
        self.contents.captions.add(name, tag, stored.text)
        if stored.item__rating:
            self.english_ratings.add(caption)
        if annotator is None:
            about.from_files += 1
        else:
            self.contents.guidelines.add(stored.guidelines__version)
            about.annotators.add(annotator)
            self.contents.include_day(day_of(stored.submitted_at))
        if stored.item__writing_ms:
            about.writing_ms += stored.item__writing_ms
            about.timed += 1
        if verified.rows:
            self._put_verdicts(caption, verified)

    def _name_of_caption(self, stored_image: Image, row: Row, stored: tables.StoredCaption) -> str:
        number = self.round_of[stored.round_id].number
        written = (stored.item__batch_id, stored.item__position)
        return caption_id(row[LANGUAGE], stored_image.sha256, number, row[POSITION], *written)

    def _put_verdicts(self, caption: tables.CaptionRow, verified: VerifiedCaption) -> None:
        about = self.contents.by_language[caption.language]
        unit = len(self.contents.captions)
        for reviewer, rating, version, language, revision, rating_ms, day in verified.rows:
            shown = (version, language or None, revision)
            self.verdicts.add(tables.VerdictRow(caption, reviewer, rating, *shown, rating_ms, day))
            about.reviewers.add(reviewer)
            self.contents.guidelines.add(version)
            self.contents.include_day(day)
            if verified.level is not None:
                about.units.append(unit)
                about.codes.append(CODES[rating])
                about.authors.append(caption.annotator)
                about.reviewers_of_verified.add(reviewer)
        about.unfinished += verified.level is None

    def _verified(self, images: CollectionImages) -> dict[int, VerifiedCaption]:
        wanted = _verdicts(self.release, self.rounds).filter(caption__image__in=list(images.rows))
        shown = (
            "batch__guidelines__version",
            "batch__guidelines_language",
            "batch__rating_translation__revision",
        )
        fields = ("caption_id", "person_id", "rating", *shown, "rating_ms", "rated_at")
        by_caption: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        places: dict[int, int] = {}
        for caption, person, rating, *read, rating_ms, rated, wanted_ratings in raw_rows(
            wanted, [*fields, "assignment__task__places"]
        ):
            by_caption[caption].append((self.name_of.get(person), rating, *read, rating_ms, day_of(rated)))
            places[caption] = wanted_ratings
        verified = {}
        for caption, rows in by_caption.items():
            codes = [CODES[rating] for _reviewer, rating, *_ in rows]
            level = LEVELS[median_rating(codes)] if len(rows) >= places[caption] else None
            verified[caption] = VerifiedCaption(sorted(rows), level)
        return verified

    def _look_at_the_rest(self) -> None:
        """Count submitted captions and ratings that are left out, with the reason, in any main round."""
        rejected = _submitted(self.release, self.rounds).filter(assignment__state=AssignmentState.REJECTED)
        self.contents.verdicts_left_out = rejected.filter(caption__state=CaptionState.COUNTED).count()
        rest = Caption.objects.exclude(state=CaptionState.COUNTED).filter(
            round__project=self.release.project_id,
            round__kind=self.rounds[0].kind,
            submitted_at__lte=self.release.until,
        )
        fields = ("round__language_id", "image__sha256", "round__number", "position", "item__batch_id")
        for tag, digest, number, position, batch, place, state in raw_rows(rest, [*fields, "item__position", "state"]):
            self._leave_out(tag, caption_id(tag, digest, number, position, batch, place), state)

    def _leave_out(self, tag: str, name: str, reason: str) -> None:
        self.contents.left_out[name] = reason
        about = self.contents.by_language.get(tag)
        if about is not None:
            about.left_out[reason] = about.left_out.get(reason, 0) + 1


def caption_id(tag: str, image_sha256: str, round_number: int, position: int, batch: Any, place: int | None) -> str:
    """Return a caption's name, the same in every release: its batch and position, or its position in its file."""
    if batch is None:
        return short_digest(f"file:{tag}:{round_number}:{image_sha256}:{position}")
    # The digits of a UUID, as SQLite stores them.
    return short_digest(f"batch:{getattr(batch, 'hex', batch)}:{place}")


class ReleasePseudonyms:
    """Pseudonyms of one release: salted, so that nobody has the same one in the next.

    A person is identified by the lowest of the numbers of their batches, which depends neither on the database nor on
    their user name.
    """

    def __init__(self, release: Release) -> None:
        self._salt = release.salt.encode()
        known: dict[int, str] = {}
        for batches in (CaptionBatch, VerificationBatch):
            submitted = batches.objects.filter(round__project=release.project_id, submitted_at__lte=release.until)
            for person, batch in submitted.values_list("lease__person_id", "lease_id").iterator():
                known[person] = min(known.get(person, batch.hex), batch.hex)
        self._names = {person: self._name(batch) for person, batch in known.items()}

    def get(self, person: int | None) -> str | None:
        return None if person is None else self._names[person]

    def _name(self, batch: str) -> str:
        # A letter first, so that no spreadsheet takes it for a number.
        return f"p{hmac.digest(self._salt, batch.encode(), 'sha256').hex()[:PSEUDONYM_DIGITS]}"


def _counts(contents: ReleaseContents) -> dict[str, Any]:
    by_language = contents.by_language
    return {
        "captions": len(contents.captions),
        "images": contents.images,
        "verdicts": contents.verdicts,
        "verdicts_left_out": contents.verdicts_left_out,
        "english_ratings": contents.english_ratings,
        **({WITH_IMAGES: contents.with_images} if contents.with_images else {}),
        "annotators": len(_all(language.annotators for language in by_language.values())),
        "raters": len(_all(language.reviewers for language in by_language.values())),
        "languages": {tag: language.statistics.captions for tag, language in by_language.items()},
        "left_out": {
            tag: dict(sorted(language.left_out.items())) for tag, language in by_language.items() if language.left_out
        },
    }


def _about_places(release: Release, contents: ReleaseContents) -> dict[str, Any]:
    if release.format < tables.PLACES_SINCE:
        return {}
    places = contents.places
    about = {"located": places.located, "borders": places.borders, "tables": places.tables, "levels": places.levels}
    return {"places": about | {"has_coordinates": release.has_coordinates}}


def _all(sets: Iterable[set[str]]) -> set[str]:
    return set().union(*sets)


def _about(release: Release) -> dict[str, Any]:
    return {
        "project": release.project.slug,
        "number": release.number,
        "title": release.title,
        "licence": release.licence,
        "authors": release.authors.split("\n"),
        "until": as_iso(release.until),
    }
