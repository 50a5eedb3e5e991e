"""The rows that tests stand on, made with as few words as possible. Every argument has a sensible default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings

from annotation.models import Guidelines, Round
from annotation.services.rounds import create_round
from core.images.models import Collection, CollectionImage, Image
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.models import (
    Consent,
    ConsentText,
    LanguageLevel,
    LanguageSkill,
    Membership,
    Project,
    Role,
    TextTranslation,
    User,
)
from crosslens_metrics.word_vectors import TableWriter
from gapgame.models import (
    GapItem,
    ItemImage,
    ItemSet,
    Player,
    RepresentativeSource,
    Season,
    SeasonAccess,
    SeasonLanguage,
)
from research.inference.models import CaptioningModel, ModelCaption, VectorKind, WordVectorSet
from research.inference.selectors.word_vectors import folder_of
from sxs_eval.models import Comparison
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.services.comparisons import create_comparison

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


def join_project(project: Project, user: User, role: Role = Role.ANNOTATOR, *, now: datetime = NOW) -> User:
    """Give `user` the role, and have them consent to the newest text."""
    Membership.objects.create(project=project, user=user, role=role)
    Consent.objects.create(text=project.consent_texts.latest("version"), user=user, given_at=now)
    return user


def make_translation(project: Project, *, language: str, **fields: Any) -> TextTranslation:
    """A published translation of a text; of what is read for rating, unless `fields` say another kind."""
    values: dict[str, Any] = {"kind": "rating", "version": 1, "revision": 1, "body": language}
    values |= {"saved_at": NOW, "published_at": NOW}
    return TextTranslation.objects.create(project=project, language=make_language(language), **(values | fields))


def make_image(content: str | None = None, **fields: Any) -> Image:
    digest = sha256((content or f"image {next(_numbers)}").encode()).hexdigest()
    values: dict[str, Any] = {"format": "JPEG", "bytes": 1000, "width": 640, "height": 480}
    values |= {"author": "An Author", "licence": "CC BY 4.0", "state": JobState.DONE}
    values["original"] = f"originals/{digest}"
    return Image.objects.create(sha256=digest, **(values | fields))


def make_collection(images: int = 3, **fields: Any) -> Collection:
    """Shared with all and nobody's, unless `fields` say otherwise."""
    name = f"collection-{next(_numbers)}"
    collection = Collection.objects.create(slug=name, name=name, **({"is_shared": True} | fields))
    for position in range(1, images + 1):
        CollectionImage.objects.create(
            collection=collection, image=make_image(), key=f"{name}-{position:05d}", position=position
        )
    return collection


def make_keyed_collection(keys: Sequence[str]) -> Collection:
    """Images of these keys, in their order, without files: many at once."""
    collection = make_collection(0)
    images = Image.objects.bulk_create(
        Image(sha256=f"{collection.pk}-{key}", original="x", format="JPEG", bytes=1, width=1, height=1) for key in keys
    )
    CollectionImage.objects.bulk_create(
        CollectionImage(collection=collection, image=image, key=key, position=position)
        for position, (image, key) in enumerate(zip(images, keys, strict=True), start=1)
    )
    return collection


def images_of(collection: Collection) -> list[int]:
    """Primary keys, in the order of the collection."""
    return list(collection.entries.order_by("position").values_list("image", flat=True))


def make_captioner(
    collection: Collection,
    name: str | None = None,
    *,
    text: str = "english caption",
    language: str = "en",
    **fields: Any,
) -> CaptioningModel:
    owner = {"is_shared": True} | fields
    model = CaptioningModel.objects.create(name=name or f"model-{next(_numbers)}", **owner)
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
        setting=ComparisonSetting(replication=replication, **({"seed": 1} | fields)),
        by=None,
        with_pairs=True,
    )


def make_rater(comparison: Comparison, name: str | None = None) -> User:
    """Somebody who may judge in `comparison`: the role, the language, and consent to the newest text."""
    user = make_user(name)
    LanguageSkill.objects.create(user=user, language=comparison.language, level=LanguageLevel.NATIVE)
    return join_project(comparison.project, user, Role.RATER)


def make_annotator(round: Round, name: str | None = None, *, level: LanguageLevel = LanguageLevel.NATIVE) -> User:
    """Somebody who may work on `round`: the role, the languages, and consent to the newest text."""
    user = make_user(name, reads_english=True)
    LanguageSkill.objects.create(user=user, language=round.language, level=level)
    return join_project(round.project, user)


# Of length 1, so that the similarity of two words is the product of their vectors: dog 0.8, car 0.6, sky -1 to cat.
WORDS = {"cat": (1.0, 0.0), "dog": (0.8, 0.6), "car": (0.6, 0.8), "tree": (0.0, 1.0), "sky": (-1.0, 0.0)}


def make_vectors(language: str = "en", words: Mapping[str, tuple[float, ...]] | None = None) -> WordVectorSet:
    """Word vectors in real files; the same words again are the same vectors."""
    words = words or WORDS
    Path(settings.VECTORS).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.VECTORS, ignore_cleanup_errors=True) as unfinished:
        writer = TableWriter(Path(unfinished), dimensions=len(next(iter(words.values()))), language=language)
        for word, vector in words.items():
            writer.add(word, vector)
        signature = writer.finish().signature
        if not folder_of(signature).exists():
            Path(unfinished).rename(folder_of(signature))
    about = {"name": f"vectors {signature[:8]}", "kind": VectorKind.TABLE, "words": len(words), "created_at": NOW}
    about |= {"dimensions": len(next(iter(words.values()))), "source": "made up", "language_id": language}
    return WordVectorSet.objects.get_or_create(signature=signature, defaults=about)[0]


def make_item_set(project: Project | None = None) -> ItemSet:
    number = next(_numbers)
    collection = Collection.objects.create(is_shared=True, slug=f"items-{number}", name=f"Items {number}")
    return ItemSet.objects.create(project=project or make_project(), name=f"Items {number}", collection=collection)


def make_item(item_set: ItemSet, word: str = "cat", *, images: int = 3, language: str = "en", **fields: Any) -> GapItem:
    number = next(_numbers)
    values: dict[str, Any] = {
        "key": f"item-{number}",
        "before": f"Sentence {number}: the ",
        "after": " is here.",
        "split": number % 5,
        "sense": [f"{word}.n.01"],
        "representative_source": RepresentativeSource.FIRST,
    }
    item = GapItem.objects.create(item_set=item_set, word=word, language_id=language, **(values | fields))
    ItemImage.objects.bulk_create(
        ItemImage(item=item, image=make_image(), position=position) for position in range(images)
    )
    return item


def make_season(*, items: int = 5, language: str = "en", vectors: WordVectorSet | None = None, **fields: Any) -> Season:
    """A season that began a day before NOW and ends a day after it; every word is "cat"."""
    number = next(_numbers)
    values: dict[str, Any] = {
        "project": fields["item_set"].project if "item_set" in fields else make_project(),
        "slug": f"season-{number}",
        "name": f"Season {number}",
        "starts_at": NOW - timedelta(days=1),
        "ends_at": NOW + timedelta(days=1),
        "batch_size": 3,
        "access": SeasonAccess.INVITED,
    }
    values |= fields
    values.setdefault("item_set", make_item_set(values["project"]))
    season = Season.objects.create(**values)
    for _ in range(items):
        make_item(season.item_set, language=language)
    vectors = vectors or make_vectors(language)
    SeasonLanguage.objects.create(season=season, language_id=language, vectors=vectors, signature=vectors.signature)
    return season


def make_player(season: Season, name: str | None = None, **fields: Any) -> Player:
    user = make_user(name)
    Membership.objects.create(project=season.project, user=user, role=Role.PLAYER)
    for text in season.project.consent_texts.all():
        Consent.objects.create(text=text, user=user, given_at=NOW)
    values: dict[str, Any] = {"nickname": f"nick-{user.username}"[:24], "joined_at": NOW}
    return Player.objects.create(season=season, user=user, **(values | fields))
