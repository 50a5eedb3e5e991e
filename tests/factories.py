"""The rows that tests stand on, made with as few words as possible. Every argument has a sensible default."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from typing import Any

from annotation.models import Guidelines, Round
from annotation.services.rounds import create_round
from corpus.models import Collection, CollectionImage, Image, JobState
from inference.models import CaptioningModel, ModelCaption
from languages.models import Language
from people.models import Consent, ConsentText, LanguageSkill, Level, Membership, Project, Role, User
from sxs_eval.models import Comparison
from sxs_eval.services.comparisons import Setting, create_comparison

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
_numbers = count(1)


def make_user(name: str | None = None, **fields: Any) -> User:
    name = name or f"person{next(_numbers)}"
    user = User(username=name, email=fields.pop("email", f"{name}@example.org"), **fields)
    user.set_unusable_password()
    user.save()
    return user


def make_language(tag: str = "de") -> Language:
    return Language.objects.get(pk=tag)


def make_project(slug: str | None = None, *, manager: User | None = None) -> Project:
    slug = slug or f"project-{next(_numbers)}"
    manager = manager or make_user(f"manager-of-{slug}")
    project = Project.objects.create(slug=slug, name=slug.replace("-", " ").title(), created_by=manager)
    Membership.objects.create(project=project, user=manager, role=Role.MANAGER)
    Guidelines.objects.create(project=project, version=1, rating="Choose a level.", writing="Write a sentence.")
    ConsentText.objects.create(project=project, version=1, body="I agree.")
    return project


def make_image(content: str | None = None, **fields: Any) -> Image:
    digest = sha256((content or f"image {next(_numbers)}").encode()).hexdigest()
    values: dict[str, Any] = {
        "original": f"originals/{digest}",
        "format": "JPEG",
        "bytes": 1000,
        "width": 640,
        "height": 480,
        "author": "An Author",
        "licence": "CC BY 4.0",
        "sizes_state": JobState.DONE,
    }
    return Image.objects.create(sha256=digest, **(values | fields))


def make_collection(images: int = 3) -> Collection:
    name = f"collection-{next(_numbers)}"
    collection = Collection.objects.create(slug=name, name=name)
    for position in range(1, images + 1):
        CollectionImage.objects.create(
            collection=collection, image=make_image(), key=f"{name}-{position:05d}", position=position
        )
    return collection


def make_captioner(
    collection: Collection, name: str | None = None, *, text: str = "english caption", language: str = "en"
) -> CaptioningModel:
    model = CaptioningModel.objects.create(name=name or f"model-{next(_numbers)}")
    ModelCaption.objects.bulk_create(
        ModelCaption(model=model, image_id=entry.image_id, language_id=language, text=f"{text} of {entry.key}")
        for entry in collection.entries.all()
    )
    return model


def make_round(*, images: int = 3, replication: int = 2, language: str = "de", **fields: Any) -> Round:
    collection = fields.pop("collection", None) or make_collection(images)
    captioners = fields.pop("captioners", None) or [make_captioner(collection)]
    return create_round(
        project=fields.pop("project", None) or make_project(),
        language=make_language(language),
        collection=collection,
        captioners=captioners,
        replication=replication,
        seed=fields.pop("seed", 1),
        **fields,
    )


def make_comparison(*, images: int = 3, replication: int = 3, language: str = "de", **fields: Any) -> Comparison:
    """A comparison with its pairs; the captions are "base caption of KEY" and "test caption of KEY"."""
    collection = fields.pop("collection", None) or make_collection(images)
    base = fields.pop("base", None) or make_captioner(collection, text="base caption", language=language)
    test = fields.pop("test", None) or make_captioner(collection, text="test caption", language=language)
    return create_comparison(
        project=fields.pop("project", None) or make_project(),
        language=make_language(language),
        base=base,
        test=test,
        collection=collection,
        setting=Setting(replication=replication, **({"seed": 1} | fields)),
        by=None,
        with_pairs=True,
    )


def make_rater(comparison: Comparison, name: str | None = None) -> User:
    """Somebody who may judge in `comparison`: the role, the language, and consent to the newest text."""
    user = make_user(name)
    Membership.objects.create(project=comparison.project, user=user, role=Role.RATER)
    LanguageSkill.objects.create(user=user, language=comparison.language, level=Level.NATIVE)
    text = comparison.project.consent_texts.latest("version")
    Consent.objects.create(text=text, user=user, given_at=NOW)
    return user


def make_annotator(round: Round, name: str | None = None, *, level: Level = Level.NATIVE) -> User:
    """Somebody who may work on `round`: the role, the languages, and consent to the newest text."""
    user = make_user(name, reads_english=True)
    Membership.objects.create(project=round.project, user=user, role=Role.ANNOTATOR)
    LanguageSkill.objects.create(user=user, language=round.language, level=level)
    text = round.project.consent_texts.latest("version")
    Consent.objects.create(text=text, user=user, given_at=NOW)
    return user
