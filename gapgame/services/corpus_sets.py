"""Make an item set from a corpus that was built here."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import transaction
from django.utils.translation import gettext as _

from corpora.models import CorpusBuild, FileRole
from corpora.selectors.corpus_folders import fetched, folder_of
from gapgame.models import CorpusItemSet
from gapgame.rules.corpus_items import Choice, chosen_items
from gapgame.services.item_imports import start_upload
from gapgame.services.items import create_item_set
from images.models import ImportJob
from images.rules.archives import contents_of, open_zip
from people.models import User

MANIFEST_COLUMNS = ("file", "author", "licence", "licence_url", "title", "source")


class CorpusSetError(Exception):
    """No set can be made of the corpus. The message says why, and what to do."""


def make_set(*, build: CorpusBuild, name: str, choice: Choice, back: str, by: User) -> ImportJob:
    """Create an item set of words of a corpus, and queue the import of their sentences and images.

    Raises
    ------
    CorpusSetError
        Where the corpus is not built, has no images, or no word of it is asked for.
    gapgame.services.items.ItemSetNameTakenError
    """
    try:
        items = chosen_items(_items(build), choice)
    except FileNotFoundError as error:
        raise CorpusSetError(_("The corpus is not built yet. Build it, and come back.")) from error
    if not items:
        raise CorpusSetError(_("No word with an image has a sense that so many languages share. Choose fewer."))
    with ExitStack() as stack:
        sentences = stack.enter_context(TemporaryUploadedFile("items.jsonl", "application/jsonl", 0, "utf-8"))
        for item in items:
            sentences.write((json.dumps(item, ensure_ascii=False) + "\n").encode())
        images = stack.enter_context(TemporaryUploadedFile("images.zip", "application/zip", 0, None))
        _pack_images(build, items, Path(images.temporary_file_path()))
        for upload in (sentences, images):
            upload.seek(0, 2)
            upload.size = upload.tell()
            upload.seek(0)
        with transaction.atomic():
            item_set = create_item_set(project=build.project, name=name, by=by)
            lemmas = {item["key"]: item["lemma"] for item in items}
            CorpusItemSet.objects.create(item_set=item_set, build=build, lemmas=lemmas)
            return start_upload(item_set=item_set, items=sentences, images=[images], back=back, by=by)


def _items(build: CorpusBuild) -> Iterator[Mapping[str, Any]]:
    with folder_of(build).read("items.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _pack_images(build: CorpusBuild, items: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a ZIP with the images of items and their manifest."""
    uploaded = build.files.filter(role=FileRole.IMAGES).first()
    if uploaded is None:
        raise CorpusSetError(_("The corpus has no image files. Add a ZIP with them to the corpus, and build it."))
    images = {image["file"]: image for item in items for image in item["images"]}
    with (
        fetched(uploaded.stored).open("rb") as opened,
        open_zip(opened) as archive,
        zipfile.ZipFile(path, "w") as packed,
    ):
        entries = contents_of(archive).files
        there = [image for file, image in sorted(images.items()) if file in entries]
        rows = ({name: image[name] for name in MANIFEST_COLUMNS if image.get(name)} for image in there)
        packed.writestr("manifest.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        for image in there:
            packed.writestr(image["file"], archive.read(entries[image["file"]]))
