"""Keep the collections of a confirmed selection: of all its images and, if asked for, of those of each language.

Call these within the transaction that holds the lock of the selection.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage
from core.images.services.collections import copy_names, create_collection
from core.languages.models import Language
from core.people.models import User
from research.selection.models import LanguageCollection, SelectedImage, Selection
from research.selection.selectors.pools import source_of
from research.selection.selectors.selections import collections_of

AT_ONCE = 1000
NAME_CHARACTERS = Collection._meta.get_field("name").max_length or 0


def make_collections(selection: Selection, *, by_language: bool, by: User | None) -> Collection:
    """Make the collection of all images, which is returned, and if `by_language` one for each language with images."""
    source = source_of(selection)
    about = _("Chosen by place from %(source)s.") % {"source": source}
    whole = create_collection(name=selection.name, description=about, project=selection.project, by=by)
    CollectionImage.objects.bulk_create(_entries(selection, whole), batch_size=AT_ONCE)
    if selection.source is not None:
        copy_names(source=selection.source, to=whole)
    tags = selection.selected_images.order_by().values("language").distinct() if by_language else ()
    for language in Language.objects.filter(pk__in=tags):
        about = _("Chosen by place for %(language)s from %(source)s.") % {"language": language.name, "source": source}
        name = _name(selection, language)
        own = create_collection(name=name, description=about, project=selection.project, by=by)
        CollectionImage.objects.bulk_create(_entries(selection, own, language), batch_size=AT_ONCE)
        if selection.source is not None:
            copy_names(source=selection.source, to=own)
        LanguageCollection.objects.create(selection=selection, language=language, collection=own)
    return whole


def exchange_entries(selection: Selection, old: int | None, row: SelectedImage) -> None:
    """Put the new image where the old one was; a candidate's place stays empty until its file is imported."""
    source = CollectionImage.objects.filter(collection=selection.source_id, image=row.image_id)
    file_name = source.values_list("file_name", flat=True).first() or ""
    for collection in collections_of(selection, row.language_id):
        entry = CollectionImage.objects.filter(collection=collection, image=old).first() if old is not None else None
        if entry is None:
            continue
        entry.delete()
        if row.image_id is not None:
            CollectionImage.objects.create(
                collection=collection,
                image_id=row.image_id,
                key=row.key,
                file_name=file_name,
                position=entry.position,
            )


def _name(selection: Selection, language: Language) -> str:
    ending = f" – {language.name}"
    return selection.name[: NAME_CHARACTERS - len(ending)] + ending


def _entries(
    selection: Selection, collection: Collection, language: Language | None = None
) -> Iterator[CollectionImage]:
    chosen = selection.selected_images.filter(image__isnull=False).select_related("image")
    chosen = chosen.filter(language=language) if language else chosen
    file_names = dict(
        CollectionImage.objects.filter(collection=selection.source_id).values_list("image", "file_name").iterator()
    )
    for position, one in enumerate(chosen.order_by("language", "position").iterator(AT_ONCE), start=1):
        yield CollectionImage(
            collection=collection,
            image=one.image,
            key=one.key,
            file_name=file_names.get(one.image_id or 0, ""),
            position=position,
        )
