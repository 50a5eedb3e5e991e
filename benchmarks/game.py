"""A season of the Gap Filling Game of a given size, its vectors on the disk included."""

from __future__ import annotations

import io
import random
import tempfile
from datetime import timedelta
from pathlib import Path

import django
import numpy as np
from PIL import Image as Pillow

django.setup()

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.utils import timezone

from benchmarks import seed
from benchmarks.harness import PASSWORD, arguments, name_of, tell
from crosslens_metrics.word_vectors import TableWriter
from gapgame.models import Access, GapItem, ItemImage, ItemSet, Player, RepresentativeSource, Season, SeasonLanguage
from images.models import Collection, Image, JobState
from images.rules.sizes import sizes_of
from images.services import file_storage
from inference.models import VectorKind, WordVectorSet
from languages.models import Language
from people.models import Membership, Project, Role, User

DIMENSIONS = 300


def make_vectors(words: int) -> WordVectorSet:
    """Invented vectors for `words` words, "word0" and so on."""
    folder = Path(settings.VECTORS)
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder))
    writer = TableWriter(unfinished, dimensions=DIMENSIONS, language="en")
    rng = np.random.default_rng(1)
    for first in range(0, words, 10_000):
        rows = rng.standard_normal((min(10_000, words - first), DIMENSIONS), dtype=np.float32)
        for number, row in enumerate(rows, start=first):
            writer.add(f"word{number}", row)
    signature = writer.finish().signature
    if not (folder / signature).exists():
        unfinished.rename(folder / signature)
    return WordVectorSet.objects.create(
        name="bench",
        language_id="en",
        kind=VectorKind.TABLE,
        dimensions=DIMENSIONS,
        words=words,
        signature=signature,
        source="invented",
        created_at=timezone.now(),
    )


def make_season(name: str, items: int, words: int) -> Season:
    """A season that is on, with `items` sentences of three images each."""
    manager, _ = User.objects.get_or_create(username="bench-manager")
    project = Project.objects.create(slug=name, name=name, created_by=manager)
    collection = Collection.objects.create(is_shared=True, slug=name, name=name)
    item_set = ItemSet.objects.create(project=project, name=name, collection=collection)
    english, rng, now = Language.objects.get(pk="en"), random.Random(1), timezone.now()
    images = Image.objects.bulk_create(
        Image(sha256=f"{number:064x}", format="JPEG", bytes=1, width=640, height=480, sizes_state=JobState.DONE)
        for number in range(300)
    )
    content = io.BytesIO()
    Pillow.effect_noise((640, 480), 40).convert("RGB").save(content, "WEBP", quality=40)
    for image in images:
        for size in sizes_of(image.width, image.height):
            file_storage.put(file_storage.size_name(image.public_id, size), content.getvalue())
    made = GapItem.objects.bulk_create(
        GapItem(
            item_set=item_set,
            key=f"item-{number}",
            language=english,
            before=f"In sentence {number} there was a very old ",
            after=" that nobody had ever looked at.",
            word=f"word{rng.randrange(words)}",
            split=number % 5,
            representative_source=RepresentativeSource.FIRST,
        )
        for number in range(items)
    )
    ItemImage.objects.bulk_create(
        ItemImage(item=item, image=image, position=position)
        for item in made
        for position, image in enumerate(rng.sample(images, 3))
    )
    season = Season.objects.create(
        project=project,
        slug=name,
        name=name,
        item_set=item_set,
        starts_at=now - timedelta(days=1),
        ends_at=now + timedelta(days=1),
        access=Access.INVITED,
    )
    vectors = make_vectors(words)
    SeasonLanguage.objects.create(season=season, language=english, vectors=vectors, signature=vectors.signature)
    return season


def make_players(season: Season, count: int) -> None:
    password = make_password(PASSWORD)
    users = User.objects.bulk_create(User(username=name_of(number), password=password) for number in range(count))
    now = timezone.now()
    Membership.objects.bulk_create(Membership(project=season.project, user=user, role=Role.PLAYER) for user in users)
    Player.objects.bulk_create(
        Player(season=season, user=user, nickname=user.username, joined_at=now) for user in users
    )


def main() -> None:
    """Prepare a database for the load and tell what the driver needs."""
    options = arguments(__doc__, items=5000, players=64, words=100_000)
    seed.migrate()
    season = make_season("load", options.items, options.words)
    make_players(season, options.players)
    seed.analyse()
    tell({"season": season.slug})


if __name__ == "__main__":
    main()
