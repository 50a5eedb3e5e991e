"""A project that is ready for a release: two languages written by people, one of them verified, one from a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from annotation.models import (
    Caption,
    CaptionBatch,
    CaptionItem,
    CaptionTask,
    GuidelineExample,
    Guidelines,
    Rating,
    Release,
    Round,
    RoundKind,
    RoundState,
    Stage,
    Verdict,
    VerificationBatch,
    VerificationTask,
)
from annotation.services.release_files import WrittenFiles, write_release
from annotation.services.releases import start_release
from core.allocation.models import Assignment, AssignmentState, Pool, Task
from core.images.models import Collection, CollectionImage, Image
from core.people.models import Consent, ConsentText, Membership, Project, Role, User
from research.inference.models import CaptioningModel, ModelCaption
from tests.annotation.submitting import caption_from_file, done_batch
from tests.factories import NOW, make_image, make_language, make_user

UNTIL = NOW + timedelta(days=3)
KEYS = ("harbour", "market", "=stairs", "tower")
RATINGS = (Rating.GOOD, Rating.EXCELLENT, Rating.BAD, Rating.NOT_ENOUGH_INFO)
WORDS = {"de": ("Ein Hafen", "Boote am Abend"), "ar": ("ميناء صغير", "قوارب في المساء")}
AUTHORS = "Lovelace, Ada\nAn Institute"
SALT = "a salt of the tests"

T = TypeVar("T")


class Campaign:
    """The same project each time; `is_other_way` puts its rows in with other primary keys and in another order."""

    def __init__(self, slug: str = "harbours", *, is_other_way: bool = False) -> None:
        self.is_other_way = is_other_way
        self.slug = slug
        if is_other_way:
            self._leave_gaps()
        self.manager = make_user(f"{slug}-manager")
        self.project = Project.objects.create(
            slug=slug, name="Harbours", description="Captions of harbours.", created_by=self.manager
        )
        Membership.objects.create(project=self.project, user=self.manager, role=Role.MANAGER)
        names = self.ordered([f"{slug}-{name}" for name in ("ann", "bob", "cem", "dia", "eve")])
        self.people = {name.rpartition("-")[2]: make_user(name) for name in names}
        text = ConsentText.objects.create(project=self.project, version=1, body="I agree to take part.")
        for person in self.people.values():
            Consent.objects.create(text=text, user=person, given_at=NOW)
        self.collection = self._collection()
        self.model = CaptioningModel.objects.create(is_shared=True, name=f"{slug}-blip")
        self.english = {
            entry.key: ModelCaption.objects.create(
                model=self.model, image=entry.image, language_id="en", text=f"a {entry.key} in the sun"
            )
            for entry in self.ordered(list(self.collection.entries.select_related("image")))
        }
        self.guidelines = self._guidelines()
        self.rounds = {tag: self._round(tag) for tag in self.ordered(["de", "ar", "fr"])}
        self._pilot()
        for tag in self.ordered(["de", "ar"]):
            for place, name in self.ordered(list(enumerate(("ann", "bob")))):
                self._write(self.rounds[tag], self.people[name], place, tag)
        self._from_file(self.rounds["fr"])
        self.verification = self._verify(self.rounds["de"])

    def ordered(self, items: Sequence[T]) -> list[T]:
        return list(reversed(items)) if self.is_other_way else list(items)

    def start(self, **fields: Any) -> Release:
        values: dict[str, Any] = {
            "project": self.project,
            "title": "Harbours in three languages",
            "licence": "CC-BY-4.0",
            "authors": AUTHORS,
            "description": "Made for the tests.",
            "by": self.manager,
            "now": UNTIL,
            "salt": SALT,
        }
        return start_release(**(values | fields))

    def caption(self, tag: str, name: str, key: str) -> Caption:
        entry = self.collection.entries.get(key=key)
        return Caption.objects.get(round=self.rounds[tag], author=self.people[name], image=entry.image)

    def _number(self, number: int) -> UUID:
        """Of a batch, which has its number from nobody's sequence."""
        return UUID(int=10**6 * sum(map(ord, self.slug)) + number)

    def _leave_gaps(self) -> None:
        """So that nothing has the primary key that it would have in an empty database."""
        make_user(f"{self.slug}-gone").delete()
        for _ in range(7):
            Pool.objects.create().delete()
        for number in range(5):
            make_image(f"{self.slug} gone {number}").delete()

    def _collection(self) -> Collection:
        made = Collection.objects.create(is_shared=True, slug=f"{self.slug}-images", name="Images of harbours")
        for position, key in self.ordered(list(enumerate(KEYS, start=1))):
            image = make_image(
                f"{self.slug} {key}",
                title=f"The {key}",
                licence_url="https://creativecommons.org/licenses/by/4.0/",
                source="https://example.org/images",
                extra={"region": "de"} if position == 1 else {},
            )
            CollectionImage.objects.create(collection=made, image=image, key=key, position=position)
        return made

    def _guidelines(self) -> Guidelines:
        made = Guidelines.objects.create(
            project=self.project, version=1, rating="Choose a level.", writing="Write a sentence."
        )
        GuidelineExample.objects.create(
            guidelines=made,
            position=1,
            image=self.collection.entries.get(key="market").image,
            language=make_language("de"),
            caption="Ein Markt",
            level=Rating.MEDIUM,
            why="It leaves out the people.",
        )
        return made

    def _round(self, tag: str, *, kind: RoundKind = RoundKind.MAIN, **fields: Any) -> Round:
        values: dict[str, Any] = {"state": RoundState.ACCEPTED, "decided_at": NOW, "reason": "Good enough."}
        values |= {"source": "Another dataset, CC BY 4.0"} if tag == "fr" and kind == RoundKind.MAIN else {}
        return Round.objects.create(
            project=self.project,
            language=make_language(tag),
            kind=kind,
            collection=self.collection,
            guidelines=self.guidelines,
            pool=Pool.objects.create(replication=3 if kind == RoundKind.VERIFICATION else 2, is_open=False),
            seed=1,
            **(values | fields),
        )

    def _pilot(self) -> None:
        self._round("ar", kind=RoundKind.PILOT, state=RoundState.SKIPPED, reason="Tried elsewhere.")
        self._round("de", kind=RoundKind.PILOT, state=RoundState.REJECTED, number=1)
        self._round("de", kind=RoundKind.PILOT, number=2)

    def _write(self, round: Round, person: User, place: int, tag: str) -> None:
        at = NOW + timedelta(days=place)
        number = self._number((place + 1) * 1000 + sum(map(ord, tag)))
        batch = done_batch(round.pool, person, at, id=number)
        submitted = CaptionBatch.objects.create(
            lease=batch,
            round=round,
            guidelines=self.guidelines,
            stage=Stage.SUBMITTED,
            writing_opened_at=at,
            submitted_at=at,
        )
        for position, key in self.ordered(list(enumerate(KEYS, start=1))):
            entry = self.collection.entries.get(key=key)
            caption_task = CaptionTask.objects.filter(round=round, image=entry.image).first()
            if caption_task is None:
                task = Task.objects.create(pool=round.pool, shuffle_key=position, places=2)
                english = self.english[key]
                caption_task = CaptionTask.objects.create(task=task, round=round, image=entry.image, english=english)
            Task.objects.filter(pk=caption_task.task_id).update(places_taken=place + 1)
            assignment = Assignment.objects.create(
                task_id=caption_task.task_id, batch=batch, person=person, position=position, state=AssignmentState.DONE
            )
            item = CaptionItem.objects.create(
                assignment=assignment,
                batch=submitted,
                person=person,
                position=position,
                image=entry.image,
                english=self.english[key],
                rating=RATINGS[(position + place) % 4],
                rated_at=at,
                rating_ms=1000 * position,
                writing_ms=10_000 * position,
            )
            text = f"{WORDS[tag][place]} {position}"
            Caption.objects.create(
                item=item,
                round=round,
                image=entry.image,
                author=person,
                guidelines=self.guidelines,
                text=text,
                text_as_typed=f" {text}",
                warnings=["short"] if position == 1 else [],
                submitted_at=at,
            )

    def _from_file(self, round: Round) -> None:
        for key in self.ordered(KEYS[:2]):
            entry = self.collection.entries.get(key=key)
            for position in self.ordered([1, 2]):
                caption_from_file(round, entry.image, f" De\u0301ja\u0300 {key} {position}", position=position)

    def _verify(self, verified: Round) -> Round:
        """Three captions, of which one lacks a rating."""
        round = self._round(verified.language_id, kind=RoundKind.VERIFICATION, verifies=verified)
        captions = [self.caption("de", name, key) for name, key in zip(("ann", "bob", "ann"), KEYS, strict=False)]
        tasks = [Task.objects.create(pool=round.pool, shuffle_key=n, places=3) for n in range(3)]
        for task, caption in self.ordered(list(zip(tasks, captions, strict=True))):
            VerificationTask.objects.create(task=task, round=round, caption=caption)
        for place, name in self.ordered(list(enumerate(("cem", "dia", "eve")))):
            self._rate(round, self.people[name], place, list(zip(tasks, captions, strict=True))[: 3 - (name == "eve")])
        return round

    def _rate(self, round: Round, person: User, place: int, rated: list[tuple[Task, Caption]]) -> None:
        at = NOW + timedelta(days=2)
        batch = done_batch(round.pool, person, at, id=self._number(9000 + place))
        submitted = VerificationBatch.objects.create(
            lease=batch, round=round, guidelines=self.guidelines, submitted_at=at
        )
        for position, (task, caption) in self.ordered(list(enumerate(rated, start=1))):
            assignment = Assignment.objects.create(
                task=task, batch=batch, person=person, position=position, state=AssignmentState.DONE
            )
            Verdict.objects.create(
                assignment=assignment,
                batch=submitted,
                person=person,
                position=position,
                caption=caption,
                rating=RATINGS[(place + position) % 4],
                rated_at=at,
                rating_ms=2000,
            )


def images_of(campaign: Campaign) -> list[Image]:
    return [entry.image for entry in campaign.collection.entries.select_related("image").order_by("position")]


def written(release: Release, folder: Path) -> WrittenFiles:
    """The files of a release, in a new folder."""
    folder.mkdir()
    return write_release(release, folder, beat=lambda: None)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
