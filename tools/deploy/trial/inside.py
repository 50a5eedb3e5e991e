"""What a trial asks of the platform from inside: `manage.py shell` is given this file and a call of a function."""

import json  # noqa: F401 - for the call
import time
from uuid import UUID

from django.utils import timezone

from annotation.models import Caption, CaptionItem, Guidelines
from annotation.services.rounds import create_round
from core.images.models import Collection, Image, ImportJob
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.models import Consent, ConsentText, LanguageLevel, LanguageSkill, Membership, Project, Role, User
from research.inference.models import UNFINISHED_STATES, CaptioningModel, ModelCaption, Run
from research.inference.services.models import register_model

LOOK_EVERY_S = 1
LANGUAGE = "sw"
PROJECT = "trial"


def make_people(*, manager: str, annotators: list[str], password: str) -> int:
    """Accounts, a project, and the model that needs nothing: palette; returns the model's number."""
    owner = User.objects.create_superuser(manager, f"{manager}@example.org", password)
    made = Project.objects.create(slug=PROJECT, name="Trial", created_by=owner)
    Membership.objects.create(project=made, user=owner, role=Role.MANAGER)
    for name in annotators:
        person = User.objects.create_user(name, f"{name}@example.org", password, reads_english=True)
        LanguageSkill.objects.create(user=person, language_id=LANGUAGE, level=LanguageLevel.NATIVE)
    return register_model(name="Palette", backend="palette", by=None).pk


def make_round(*, slug: str, annotators: list[str], model: int) -> int:
    """A round of the collection's images, which the annotators may work on."""
    made = Project.objects.get(slug=PROJECT)
    Guidelines.objects.create(project=made, version=1, rating="Choose a level.", writing="Write a sentence.")
    text = ConsentText.objects.create(project=made, version=1, body="I agree.")
    for name in annotators:
        person = User.objects.get(username=name)
        Membership.objects.create(project=made, user=person, role=Role.ANNOTATOR)
        Consent.objects.create(text=text, user=person, given_at=timezone.now())
    return create_round(
        project=made,
        language=Language.objects.get(pk=LANGUAGE),
        collection=Collection.objects.get(slug=slug),
        captioners=[CaptioningModel.objects.get(pk=model)],
        replication=len(annotators),
        batch_size=5,
        seed=1,
        now=timezone.now(),
    ).pk


def import_states(*, slug: str, within_s: float) -> dict[str, object]:
    """How imports into a collection ended, and how many of its images have all their sizes."""
    until = time.monotonic() + within_s
    images = Image.objects.filter(collections__slug=slug)
    while time.monotonic() < until:
        is_done = not ImportJob.objects.filter(finished_at=None).exists()
        if is_done and not images.exclude(state=JobState.DONE).exists():
            break
        time.sleep(LOOK_EVERY_S)
    states = list(ImportJob.objects.filter(collection__slug=slug).values_list("state", flat=True))
    return {"states": states, "images": images.count(), "sized": images.filter(state=JobState.DONE).count()}


def run_state(*, run: int, within_s: float) -> dict[str, object]:
    """What became of a run."""
    until = time.monotonic() + within_s
    while Run.objects.filter(pk=run, state__in=UNFINISHED_STATES).exists() and time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
    finished_run = Run.objects.get(pk=run)
    tags = list(finished_run.languages.values_list("pk", flat=True))
    captions = ModelCaption.objects.filter(model=finished_run.model_id, language__in=tags)
    several = captions.count() - captions.values("image", "language").distinct().count()
    return {"state": finished_run.state, "captions": captions.count(), "several": several}


def missing(confirmed: list[str], submitted: list[str]) -> dict[str, int]:
    """How many confirmed texts are not stored, or not just once; and batches submitted that are not stored so."""
    numbers = [UUID(batch) for batch in submitted]
    stored = list(CaptionItem.objects.filter(text__in=confirmed).values_list("text", flat=True))
    open_still = CaptionItem.objects.filter(batch__in=numbers, caption=None).exclude(text="")
    return {
        "lost": len(set(confirmed) - set(stored)),
        "double": len(stored) - len(set(stored)),
        "not_submitted": open_still.count(),
        "captions": Caption.objects.filter(item__batch__in=numbers).count(),
    }
