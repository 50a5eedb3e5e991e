"""Annotators in every situation that has to do with screen 2, and what is secret from them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from allauth.account.models import EmailAddress
from django.utils import timezone

from annotation.models import (
    Caption,
    CaptionBatch,
    CaptionGloss,
    CaptionItem,
    Feedback,
    GuidelineExample,
    Guidelines,
    Rating,
    Round,
)
from annotation.services import batches, corrections
from annotation.services.feedback import give_feedback
from core.allocation.models import Batch
from core.allocation.services.lifecycle import expire_overdue
from core.images.models import Collection, ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.rules.resizing import served_sizes
from core.images.selectors import served_image
from core.images.services import file_storage
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.models import LanguageLevel, LanguageSkill, Membership, Project, Role, User
from research.inference.models import (
    CaptioningModel,
    EmbeddingSet,
    Encoder,
    ModelCaption,
    Run,
    RunEvent,
    RunFailure,
    RunState,
    Training,
    TrainingValidation,
    Translator,
)
from research.scoring.models import ReferenceSet, Scoring
from research.scoring.services.references import put_references
from sxs_eval.models import Comparison
from sxs_eval.services import judging
from tests.clients import client_of
from tests.factories import make_annotator, make_collection, make_comparison, make_project, make_round
from tests.inference.embedded import put_set, put_training
from tests.leaks import coordinates
from tests.leaks.addresses import GUESSED
from tests.leaks.answers import Secrets
from tests.leaks.walk import EVERY_ROUTE, Extent, Walk
from tests.scoring.scored import make_references, make_scoring, run

IMAGES = 7
BATCH = 3
LEASE = timedelta(hours=24)
MODEL = "Nuxblathering-7B <\u03b2eta>"
MODEL_WORD = "nuxblathering"
# Every English caption has these in turn, and the number of its image in letters: found alone, each gives it away.
PARTS = ("qzvorp", "wexlidy", "ghurmbo")
RATINGS = (Rating.BAD, Rating.EXCELLENT, Rating.NOT_ENOUGH_INFO)
OTHER_RATINGS = (Rating.MEDIUM, Rating.BAD, Rating.GOOD)

# What differs from one time to the next by itself, and is therefore only searched.
UNSTEADY = {
    "mfa_activate_totp": "offers a new key each time",
    "mfa_add_webauthn": "asks a new question each time",
    "annotation:batch-take": "leads to a new batch, which has a new id",
    "sxs_eval:batch-take": "leads to a new batch, which has a new id",
    "people:token-list": "makes a new token each time",
    "api:batch-take": "leads to a new batch, which has a new id",
    "api:rating-batch-take": "leads to a new batch, which has a new id",
    "api:batch-submit": "says when it was handed in",
    "api:batch-resume": "says until when it is to be handed in",
    "api:rating-batch-submit": "says when it was handed in",
    "api:rating-batch-resume": "says until when it is to be handed in",
    "api:feedback-acknowledge": "says when it was read",
    "api:round-references": "says when they were last changed",
    "sxs_eval:plan-show": "proposes a new seed each time",
    "sxs_eval:comparison-create": "proposes a new seed each time",
}


def words_of(number: int) -> list[str]:
    return [f"{part}{'abcdefghij'[number]}x" for part in PARTS]


def english(number: int) -> str:
    first, second, third = words_of(number)
    return f'A {first} & its "{second}" cross the <{third}> stra\u00dfe, isn\'t it'


@dataclass
class World:
    """Project A with `annotator`, whose batch the secrets are of, and project B over the same images."""

    rounds: dict[str, Round]
    annotator: User
    other: User
    collection: Collection
    batch: CaptionBatch | None = None

    def take(self, now: datetime) -> None:
        self.batch = batches.take_batch(round=self.rounds["A"], person=self.annotator, now=now, rng=Random(3))
        ratings = dict(enumerate(RATINGS, start=1))
        who = {"batch_id": self.batch.pk, "person": self.annotator, "now": now}
        batches.save_ratings(**who, ratings=ratings)
        batches.open_writing(**who)
        text = "Ein Hund läuft über die Wiese."
        batches.save_draft(**who, position=1, text=text, revision=0, active_ms=0)
        self.give_examples()

    def give_examples(self) -> None:
        """Every image is an example of the guidelines, with the words of the model."""
        for guidelines in Guidelines.objects.filter(project__in={round.project_id for round in self.rounds.values()}):
            GuidelineExample.objects.bulk_create(
                GuidelineExample(
                    guidelines=guidelines,
                    position=entry.position,
                    image=entry.image,
                    language_id="en",
                    caption=english(entry.position),
                    level=Rating.GOOD,
                )
                for entry in self.collection.entries.select_related("image")
            )

    def write_all(self, batch: CaptionBatch, person: User, now: datetime) -> None:
        """Rate where that is still to be done, write and hand in."""
        who = {"batch_id": batch.pk, "person": person, "now": now}
        positions = list(batch.items.values_list("position", flat=True))
        if batch.stage == "rate":
            batches.save_ratings(**who, ratings=dict.fromkeys(positions, Rating.GOOD))
            batches.open_writing(**who)
        for item in CaptionItem.objects.filter(batch=batch):
            text = f"Ein Bild von etwas, Nummer {item.position}"
            batches.save_draft(**who, position=item.position, text=text, revision=item.revision, active_ms=0)
        batches.submit_batch(**who)
        self.gloss(batch, now)

    def gloss(self, batch: CaptionBatch, now: datetime) -> None:
        """A machine has translated the captions into English, and hit the words of screen 1."""
        numbers = {entry.image_id: entry.position for entry in self.collection.entries.all()}
        made, _new = Translator.objects.get_or_create(name="Machine", backend="seq2seq", source="x", is_shared=True)
        CaptionGloss.objects.bulk_create(
            CaptionGloss(caption=one, translator=made, version="1", text=english(numbers[one.image_id]), made_at=now)
            for one in Caption.objects.filter(item__batch=batch)
        )

    def secrets(self) -> Secrets:
        numbers = {entry.image_id: entry.position for entry in self.collection.entries.all()}
        words = {MODEL_WORD: "the model's name", **coordinates.WORDS}
        for item in CaptionItem.objects.filter(batch=self.batch):
            words |= dict.fromkeys(words_of(numbers[item.image_id]), f"the English caption at {item.position}")
        return Secrets(words, self.change)

    def change(self) -> None:
        """Make them other captions and other ratings, as if they had always been so."""
        for item in CaptionItem.objects.filter(batch=self.batch).select_related("image"):
            CaptionItem.objects.filter(pk=item.pk).update(rating=OTHER_RATINGS[item.position - 1])
            text = f"Another {item.position} thing altogether"
            captions = ModelCaption.objects.filter(pk=item.english_id)
            captions.update(text=text)
            captions.exclude(stabiliser="").update(stabiliser=text)
            tried = {"en": {"text": text, "stabiliser": text}}
            Run.objects.filter(trial_image=item.image_id).update(trial_captions=tried)
            for validation in TrainingValidation.objects.all():
                for sample in validation.samples:
                    sample["caption"] = text if sample["image"] == item.image.sha256 else sample["caption"]
                validation.save()
            CaptionGloss.objects.filter(caption__image=item.image_id).update(text=text)
            GuidelineExample.objects.filter(image=item.image_id).update(caption=text, level=Rating.BAD)

    def known(self) -> dict[str, Sequence[object]]:
        """What the annotator could know or guess, by the name of an address's argument."""
        mine = list(self.batch.items.select_related("image"))
        theirs = CaptionBatch.objects.filter(lease__person=self.other).values_list("pk", flat=True)[:1]
        own = [
            self.batch.pk,
            *Batch.objects.filter(person=self.annotator).exclude(pk=self.batch.pk).values_list("pk", flat=True),
        ]
        signatures = [served_image(item.image, self.annotator).large.split("/")[-2] for item in mine[:1]]
        english_ids = [item.english_id for item in mine[:1]]
        numbers = [1, 2, *ImportJob.objects.values_list("pk", flat=True)]
        return {
            **GUESSED,
            "batch_id": [*own, *theirs, uuid4()],
            "position": [1, 2, 99],
            "round_id": [round.pk for round in self.rounds.values()],
            "slug": [*{round.project.slug for round in self.rounds.values()}, self.collection.slug, "en"],
            "public_id": [item.image.public_id for item in mine],
            "size": [320, 800, 1600, 0],
            "signature": [*signatures, "guessed"],
            "job_id": numbers,
            "caption_id": [
                *Caption.objects.filter(author=self.annotator).values_list("pk", flat=True),
                *Caption.objects.filter(author=self.other).values_list("pk", flat=True)[:2],
            ],
            "feedback_id": [*Feedback.objects.values_list("pk", flat=True)] or [1],
            "comparison_id": [*Comparison.objects.values_list("pk", flat=True)] or [1],
            "rater_id": [self.annotator.pk],
            "turn_id": [uuid4()],
            "scoring_id": [*Scoring.objects.values_list("pk", flat=True)] or [1],
            "model_id": [*CaptioningModel.objects.values_list("pk", flat=True)],
            "run_id": [*Run.objects.values_list("pk", flat=True)] or [1],
            "training_id": [*Training.objects.values_list("pk", flat=True)] or [1],
            "study_id": [1],
            "attempt_id": [1],
            "inference:embedding-neighbours public_id": [
                entry.image.public_id for entry in self.collection.entries.select_related("image")
            ],
            "inference:embedding-show set_id": [*EmbeddingSet.objects.values_list("pk", flat=True)] or [1],
            "inference:embedding-neighbours set_id": [*EmbeddingSet.objects.values_list("pk", flat=True)] or [1],
            "set_id": [*ReferenceSet.objects.values_list("pk", flat=True)] or [1],
            "pk": [*Membership.objects.filter(user=self.annotator).values_list("pk", flat=True), 1],
            "list_slug": ["world"],
            "tag": ["de", "ja", "fr"],
            "layout": ["jsonl", "csv", "xm3600", "tex", "json"],
            "person_id": [self.annotator.pk, self.other.pk],
            "id": [self.annotator.pk],
            "object_id": english_ids,
            "app_label": ["annotation", "images"],
            "url": ["", "inference/modelcaption/"],
        }

    def compare(self, project: Project) -> Comparison:
        """The model against another one in English, over the same images."""
        return make_comparison(
            project=project,
            collection=self.collection,
            language="en",
            base=CaptioningModel.objects.get(name=MODEL),
            batch_size=IMAGES,
            gold_percent=50,
        )

    def score(self, project: Project) -> None:
        """The model and the one it is compared with, against references that are its very captions."""
        references = make_references(project=project, collection=self.collection, language="en")
        texts = {entry.image_id: [english(entry.position)] for entry in self.collection.entries.all()}
        put_references(reference_set=references, captions=texts, now=timezone.now())
        for model in CaptioningModel.objects.all():
            run(make_scoring(references, model=model))

    def caption(self) -> None:
        """A run of the model over the images, in which all of them failed.

        It is done: after each way to steer one that is not, the walk would look at every page again.
        """
        captioner, now = CaptioningModel.objects.get(name=MODEL), timezone.now()
        about = {"queue": "gpu", "state": RunState.DONE, "total": IMAGES, "failed": IMAGES, "created_at": now}
        run = Run.objects.create(is_shared=True, model=captioner, collection=self.collection, **about)
        run.languages.add(Language.objects.get(pk="en"))
        RunEvent.objects.create(run=run, at=now, message="7 failed: the file is cut off (7)", is_warning=True)
        for entry in self.collection.entries.all():
            RunFailure.objects.create(run=run, image=entry.image, language_id="en", reason="Cut off.", at=now)
        for caption in captioner.captions.all():
            ModelCaption.objects.filter(pk=caption.pk).update(stabiliser=caption.text)
        encoder = Encoder.objects.create(is_shared=True, name="Sentences", backend="sentences", signature="s-1")
        vectors = [[1.0, number] for number in range(IMAGES)]
        put_set(encoder, self.collection, vectors, captions_of=captioner, language=Language.objects.get(pk="en"))
        for item in CaptionItem.objects.filter(batch=self.batch).select_related("english"):
            trial = Run.objects.create(
                model=captioner,
                collection=self.collection,
                trial_image_id=item.image_id,
                trial_captions={"en": {"text": item.english.text, "stabiliser": item.english.text}},
                created_by=self.annotator,
                **about | {"total": 1, "failed": 0},
            )
            trial.languages.add(Language.objects.get(pk="en"))
        items = CaptionItem.objects.filter(batch=self.batch).select_related("english", "image")
        put_training({item.image: item.english.text for item in items}, is_shared=True)

    def walk(self, extent: Extent = EVERY_ROUTE, *, may_know: Mapping[str, Sequence[str]] | None = None) -> Walk:
        client = client_of(self.annotator, raise_request_exception=False)
        # Once a batch is handed in, its ratings are in the file of one's own data; its English captions never are.
        is_submitted = CaptionBatch.objects.filter(pk=self.batch.pk, submitted_at__isnull=False).exists()
        not_compared = {*UNSTEADY, *(["people:data-download"] if is_submitted else [])}
        return Walk(client, self.known(), self.secrets(), may_know or {}, not_compared, extent)


def make_world() -> World:
    collection = make_collection(IMAGES)
    captioner = CaptioningModel.objects.create(is_shared=True, name=MODEL)
    for entry in collection.entries.select_related("image"):
        text = english(entry.position)
        ModelCaption.objects.create(model=captioner, image=entry.image, language_id="en", text=text)
        make_sizes(entry.image.public_id, text)
    coordinates.place_all()
    rounds = {
        name: make_round(
            project=make_project(f"project-{name.lower()}"),
            collection=collection,
            captioners=[captioner],
            replication=4,
            batch_size=BATCH,
        )
        for name in ("A", "B")
    }
    make_import(collection, rounds["B"].project)
    other = make_annotator(rounds["B"], "bo")
    there = World(rounds, make_annotator(rounds["A"], "ann"), other, collection)
    # As signing up does. Left to the page of addresses it would get another number at each look on PostgreSQL, whose
    # sequences go on although the look is undone.
    EmailAddress.objects.create(user=there.annotator, email=there.annotator.email, verified=True, primary=True)
    # Somebody else has described every image of project B.
    for _ in range(IMAGES // BATCH + 1):
        batch = batches.take_batch(round=rounds["B"], person=other, now=timezone.now(), rng=Random(1))
        there.write_all(batch, other, timezone.now())
    return there


def make_sizes(public_id: UUID, text: str) -> None:
    """The served sizes, made by the platform from an original that says in its metadata what is secret."""
    for size, content in served_sizes(io.BytesIO(coordinates.original_of(text)), kind="JPEG"):
        file_storage.put(file_storage.size_name(public_id, size), content)


def make_import(collection: Collection, project: Project) -> None:
    about = {"collection": collection, "project": project, "source_name": "captions.jsonl", "state": JobState.DONE}
    job = ImportJob.objects.create(kind=ImportKind.CAPTIONS, **about)
    ImportRow.objects.create(job=job, number=1, name=collection.entries.first().key, outcome=ImportOutcome.ADDED)


def in_screen_2(world: World) -> None:
    world.take(timezone.now())


def in_screen_2_with_other_rounds(world: World) -> None:
    """Also works in project B, where all images are done and some come again, and in a second language of both."""
    now = timezone.now()
    for name in ("A", "B"):
        round = world.rounds[name]
        world.rounds[f"{name} ja"] = make_round(
            project=round.project,
            collection=world.collection,
            captioners=list(round.captioners.all()),
            language="ja",
            batch_size=BATCH,
        )
    Membership.objects.create(project=world.rounds["B"].project, user=world.annotator, role=Role.ANNOTATOR)
    LanguageSkill.objects.create(
        user=world.annotator, language=Language.objects.get(pk="ja"), level=LanguageLevel.FLUENT
    )
    consent = world.rounds["B"].project.consent_texts.get()
    consent.consents.create(user=world.annotator, given_at=now)
    for _ in range(2):
        batch = batches.take_batch(round=world.rounds["B"], person=world.annotator, now=now, rng=Random(1))
        world.write_all(batch, world.annotator, now)
    world.take(now)
    batches.take_batch(round=world.rounds["B ja"], person=world.annotator, now=now, rng=Random(1))


def in_screen_2_and_manager_of_another_project(world: World) -> None:
    """And there the model is compared with another one over the same images, scored, and run."""
    in_screen_2(world)
    project = world.rounds["B"].project
    Membership.objects.create(project=project, user=world.annotator, role=Role.MANAGER)
    world.compare(project)
    world.score(project)
    world.caption()


def in_screen_2_and_rater(world: World) -> None:
    """Of the same model's English captions: those of the images in hand must wait."""
    in_screen_2(world)
    project = world.rounds["A"].project
    Membership.objects.create(project=project, user=world.annotator, role=Role.RATER)
    LanguageSkill.objects.create(
        user=world.annotator, language=Language.objects.get(pk="en"), level=LanguageLevel.FLUENT
    )
    comparison = world.compare(project)
    batch = judging.take_batch(comparison=comparison, person=world.annotator, now=timezone.now(), rng=Random(1))
    assert batch.judgements.filter(kind="pair").count() == IMAGES - BATCH


def in_screen_2_of_images_that_managers_wrote_about(world: World) -> None:
    """Of captions in project B: they say what screen 1 said, in feedback and in what they send back."""
    now, round = timezone.now(), world.rounds["B"]
    Membership.objects.create(project=round.project, user=world.annotator, role=Role.ANNOTATOR)
    round.project.consent_texts.get().consents.create(user=world.annotator, given_at=now)
    for _ in range(2):
        batch = batches.take_batch(round=round, person=world.annotator, now=now, rng=Random(1))
        world.write_all(batch, world.annotator, now)
    # Before: the images of what is returned are given out no more.
    world.take(now)
    numbers = {entry.image_id: entry.position for entry in world.collection.entries.all()}
    by: dict[str, Any] = {"by": round.project.created_by, "now": now}
    for caption in Caption.objects.filter(author=world.annotator):
        words = english(numbers[caption.image_id])
        give_feedback(round=round, person=world.annotator, text=words, caption=caption, **by)
        corrections.return_for_correction(caption_id=caption.pk, note=words, **by)
    held = set(world.batch.items.values_list("image", flat=True))
    assert held & set(Caption.objects.filter(author=world.annotator).values_list("image", flat=True))


def in_screen_2_and_overdue(world: World) -> None:
    world.take(timezone.now() - LEASE - timedelta(minutes=5))


def in_screen_2_and_expired(world: World) -> None:
    in_screen_2_and_overdue(world)
    assert expire_overdue(now=timezone.now()) == 1


def in_screen_2_and_returned(world: World) -> None:
    in_screen_2(world)
    batches.return_batch(batch_id=world.batch.pk, person=world.annotator, now=timezone.now())


def submitted(world: World) -> None:
    in_screen_2(world)
    # Of images that were handed in, what a manager gives as an example may be seen.
    GuidelineExample.objects.all().delete()
    world.write_all(CaptionBatch.objects.get(pk=world.batch.pk), world.annotator, timezone.now())


STANDS = (
    in_screen_2,
    in_screen_2_of_images_that_managers_wrote_about,
    in_screen_2_and_rater,
    submitted,
    in_screen_2_with_other_rounds,
    in_screen_2_and_manager_of_another_project,
    in_screen_2_and_overdue,
    in_screen_2_and_expired,
    in_screen_2_and_returned,
)
