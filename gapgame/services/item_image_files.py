"""Finding the images that a line names, and storing them in an item set so that nothing about them reveals the word."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from django.core.files.storage import default_storage
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage, Image, ImportJob
from core.images.rules.image_checks import ImageFacts, ImageRefusedError, check_name, inspect
from core.images.rules.manifests import ImageAttribution, path_inside
from core.images.selectors.filters import NamedImages, images_named
from core.images.services.collections import file_name_of, put_in
from core.images.services.images import image_of, sha256_of, store_original
from core.images.services.sources import ImportEntry, SourceFile, spooled_file
from crosslens_metrics.formats.names import ImageNames, normalised_name, without_suffix
from crosslens_metrics.formats.problems import LineError
from gapgame.models import ItemSet
from gapgame.rules.items import ImageReference, is_named_in
from gapgame.rules.stripping import stripped_image, words_beside

STRIPPED_OF = "stripped_of"
WITHHELD_TITLE = "withheld_title"
KEY_CHARACTERS = 20
MAX_REMEMBERED = 2_000
MAX_LISTED = 200_000
"""Files of a folder, to find one that is spelt otherwise."""
FILLED_IN = ("key", "title", "author", "licence", "licence_url", "source")


@dataclass(frozen=True)
class TakenImage:
    """An image in storage that has no row yet. `facts` is None if it has one."""

    sha256: str
    facts: ImageFacts | None
    size_bytes: int
    attribution: ImageAttribution
    file_name: str
    notes: tuple[str, ...]


class AnnounceImage(Protocol):
    def __call__(self, image_id: int, /) -> None: ...


class ItemFiles:
    """Images that came with the items: named by a manifest, a zip or a form, or in folders."""

    def __init__(self, plan: Iterable[ImportEntry | LineError] = (), homes: Sequence[Path] = ()) -> None:
        self._homes = [home.resolve() for home in homes]
        self._named: dict[str, ImportEntry | LineError] = {}
        keys: dict[str, ImportEntry | LineError] = {}
        for item in plan:
            self._named.setdefault(item.name, item)
            if isinstance(item, ImportEntry) and item.attribution.key:
                keys.setdefault(item.attribution.key, item)
        self._names = ImageNames(keys | self._named)

    def find(self, name: str) -> ImportEntry | LineError | None:
        with suppress(ValueError):
            path = path_inside(name)
            file = self._named.get(path) or self._in_folders(path)
            if file is not None:
                return file
        for names in (self._names, self._in_all_folders):
            several = names.find(name)
            if len(several) > 1:
                # Without their names, which may contain the word.
                return LineError(_("%(count)s files have this name. Give more of the path.") % {"count": len(several)})
            if several:
                return names.named[several[0]]
        return None

    @cached_property
    def _in_all_folders(self) -> ImageNames[ImportEntry | LineError]:
        """The images in the folders, by their paths; looked through only if some name is not spelt as its path is."""
        found: dict[str, ImportEntry | LineError] = {}
        for home in self._homes:
            for path in sorted(islice(home.rglob("*"), MAX_LISTED)):
                name = path.relative_to(home).as_posix()
                if (
                    without_suffix(name) != name
                    and normalised_name(name) not in found
                    and (entry := self._in_folders(name))
                ):
                    found[normalised_name(name)] = entry
        return ImageNames(found)

    def _in_folders(self, path: str) -> ImportEntry | None:
        for home in self._homes:
            with suppress(OSError, ValueError, RuntimeError):
                file = (home / path).resolve()
                if file.is_relative_to(home) and file.is_file():
                    listed = self._named.get(normalised_name(file.relative_to(home).as_posix()))
                    attribution = listed.attribution if isinstance(listed, ImportEntry) else ImageAttribution()
                    return ImportEntry(0, path, _on_disk(file), attribution)
        return None


class ImageStore:
    """Where images are searched: with the items, in the item set's own collection, and in others named."""

    def __init__(self, item_set: ItemSet, files: ItemFiles, others: Sequence[Collection] = ()) -> None:
        self._own = item_set.collection
        self._salt = f"gapgame.image.{item_set.pk}"
        self._files = files
        self._collections = [self._own, *others]
        self._words: dict[str, str] = {}
        self._stored: dict[str, NamedImages] = {}

    def look_up(self, references: Iterable[ImageReference]) -> None:
        """Find the images of many lines at once, in few queries."""
        wanted = {reference.name for reference in references if self._files.find(reference.name) is None}
        self._stored = {}
        for collection in self._collections:
            if wanted:
                stored = images_named(wanted, collection)
                self._stored |= {name: found for name, found in stored.items() if found.images}
                wanted -= self._stored.keys()

    def take(self, reference: ImageReference, word: str, number: int) -> TakenImage:
        """Store the image, or a copy without texts; call after `look_up` and outside of a transaction.

        Raises LineError where there is no such image, or it cannot be taken.
        """
        try:
            sent = self._files.find(reference.name)
            if isinstance(sent, LineError):
                raise ImageRefusedError(sent.reason)
            if sent is not None:
                with spooled_file(sent.content) as file:
                    return self._new(file, sent, reference, word, number)
            return self._known(reference, word, number)
        except ImageRefusedError as refused:
            raise LineError(_("Image %(number)s: %(reason)s") % {"number": number, "reason": refused}) from refused

    def put(self, taken: TakenImage, word: str, *, announce: AnnounceImage, job: ImportJob, now: datetime) -> Image:
        """Return the image's row, in the item set's own collection under a random key. Call within a transaction."""
        image, is_new, *_about = image_of(
            sha256=taken.sha256,
            facts=taken.facts,
            attribution=taken.attribution,
            size_bytes=taken.size_bytes,
            job=job,
            now=now,
        )
        entry = CollectionImage.objects.filter(collection=self._own, image=image).first()
        if entry is None:
            key = salted_hmac(self._salt, taken.sha256, algorithm="sha256").hexdigest()[:KEY_CHARACTERS]
            put_in(self._own, image, keys=[key], path=taken.file_name, is_new=is_new)
            # In their order, the collection's page would reveal which images belong to one sentence.
            CollectionImage.objects.filter(collection=self._own, image=image).update(position=int(key[:7], 16))
        elif is_named_in(entry.file_name, word):
            CollectionImage.objects.filter(pk=entry.pk).update(file_name="")
        if is_new:
            announce(image.pk)
        return Image.objects.get(pk=image.pk)

    def _new(
        self, file: IO[bytes], entry: ImportEntry, reference: ImageReference, word: str, number: int
    ) -> TakenImage:
        size_bytes = file.seek(0, 2)
        # Errors of a file contain its name, which may contain the word.
        name = f"image{PurePosixPath(entry.name).suffix}"
        check_name(file, name=name, size_bytes=size_bytes)
        sha256 = sha256_of(file)
        about = merged_attribution(reference.attribution, entry.attribution)
        stored = Image.objects.filter(sha256=sha256).first()
        said = "\n".join((self._words_of(sha256, file, name), about.title, stored.title if stored else ""))
        is_named = any(is_named_in(text, word) for text in (reference.name, entry.name, about.key))
        notes = (_renamed(number),) if is_named else ()
        if is_named_in(said, word):
            return self._stripped(file, sha256, name, about, stored, notes, number)
        sha256, facts = store_original(file, name=name, size_bytes=size_bytes)
        file_name = "" if is_named else file_name_of(entry.name)
        return TakenImage(sha256, facts, size_bytes, replace(about, key=""), file_name, notes)

    def _known(self, reference: ImageReference, word: str, number: int) -> TakenImage:
        found = self._stored.get(reference.name)
        if found is None:
            raise ImageRefusedError(
                _("There is no such file in the upload, and no image in the collections has this key, name or SHA-256.")
            )
        image = found.only
        if image is None:
            raise ImageRefusedError(_("%(count)s different images have this name.") % {"count": len(found.images)})
        entries = image.entries.filter(collection__in=self._collections)
        names = [name for row in entries.values_list("key", "file_name", "names__name") for name in row if name]
        notes = (_renamed(number),) if any(is_named_in(name, word) for name in [reference.name, *names]) else ()
        about = replace(reference.attribution, key="")
        try:
            with default_storage.open(image.original) as file:
                said = self._words_of(image.sha256, file, "")
                if is_named_in("\n".join((said, about.title, image.title)), word):
                    return self._stripped(file, image.sha256, "", about, image, notes, number)
        except OSError as error:
            raise ImageRefusedError(_("Its file is no longer in storage.")) from error
        return TakenImage(image.sha256, None, image.bytes, about, "", notes)

    def _stripped(
        self,
        file: IO[bytes],
        sha256: str,
        name: str,
        about: ImageAttribution,
        stored: Image | None,
        notes: tuple[str, ...],
        number: int,
    ) -> TakenImage:
        """Copy the image with nothing but pixels and its metadata except the title."""
        note = _("Image %(number)s: its title or file contains the word, so a copy without any text is used.")
        notes = (*notes, note % {"number": number})
        size_bytes = file.seek(0, 2)
        facts = inspect(file, name=name, size_bytes=size_bytes)
        if stored is not None:
            about = merged_attribution(about, _known_of(stored))
        extra = {STRIPPED_OF: sha256} | ({WITHHELD_TITLE: about.title} if about.title else {})
        about = replace(about, key="", title="", author=about.author or facts.author, extra=extra)
        before = Image.objects.filter(entries__collection=self._own, extra__stripped_of=sha256).first()
        if before is not None:
            return TakenImage(before.sha256, None, before.bytes, about, "", notes)
        content, ending = stripped_image(file, kind=facts.format)
        copy = io.BytesIO(content)
        copy_sha256, copy_facts = store_original(copy, name=f"copy{ending}", size_bytes=len(content))
        return TakenImage(copy_sha256, copy_facts, len(content), about, "", notes)

    def _words_of(self, sha256: str, file: IO[bytes], name: str) -> str:
        if sha256 not in self._words:
            if len(self._words) >= MAX_REMEMBERED:
                self._words.clear()
            size_bytes = file.seek(0, 2)
            kind = check_name(file, name=name, size_bytes=size_bytes)
            try:
                self._words[sha256] = words_beside(file, kind=kind)
            except Exception as error:  # decoders raise almost any exception on a broken file
                inspect(file, name=name, size_bytes=size_bytes)
                raise ImageRefusedError(_("The metadata in its file cannot be read. Save the image again.")) from error
        return self._words[sha256]


def merged_attribution(first: ImageAttribution, second: ImageAttribution) -> ImageAttribution:
    """Return the values of `first`, and those of `second` where it has none."""
    values = {name: getattr(first, name) or getattr(second, name) for name in FILLED_IN}
    place = first if first.latitude is not None else second
    return ImageAttribution(
        **values, latitude=place.latitude, longitude=place.longitude, extra={**second.extra, **first.extra}
    )


def _known_of(image: Image) -> ImageAttribution:
    texts = {name: getattr(image, name) for name in FILLED_IN if name != "key"}
    return ImageAttribution(**texts, latitude=image.latitude, longitude=image.longitude)


def _renamed(number: int) -> str:
    return _("Image %(number)s: its name contains the word, so it is stored under a neutral key.") % {"number": number}


def _on_disk(path: Path) -> SourceFile:
    return SourceFile(path.stat().st_size, lambda: path.open("rb"))
