"""The table of all images of a project: its columns, filters and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.core.paginator import Paginator
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import Rating
from core.images.rules.attributions import LABELS
from core.images.selectors import served_image
from core.languages.models import Language
from core.people.models import User
from core.people.pages import address
from core.people.rules.pseudonyms import pseudonym
from office.dashboard.selectors.images import ALL, LACKING, NONE, SOME, ImageQuery, ImageRow, ProjectImages
from tabular import tables
from tabular.tables import NO_VALUE, TEXT, PageTable, TableColumn, for_readers, isolated, link, long_note, note, parts

PER_PAGE = 50
IN_ADDRESS = ("find", "state", "author", "licence", "source")
"""Filters that an address has as they are."""
STATES = {
    NONE: gettext_lazy("Not described"),
    SOME: gettext_lazy("Described"),
    LACKING: gettext_lazy("Lacks a language"),
    ALL: gettext_lazy("Described in all languages"),
}


def images_page(images: ProjectImages, query: QueryDict, *, viewer: User, manages: bool) -> dict[str, Any]:
    """Prepare the page. Only managers see who wrote."""
    people = {one.pk: one for one in images.authors} if manages else {}
    asked: dict[str, Any] = {name: query[name] for name in IN_ADDRESS if query.get(name)}
    languages = [tag for tag in images.tags if tag == query.get("language")]
    person = next((pk for pk in people if str(pk) == query.get("person")), None)
    rows = images.found(ImageQuery(**asked, languages=languages, person=person))
    columns = _columns(images.project.slug, people, viewer)
    order = tables.asked_order(query, columns)
    page = Paginator(tables.in_order(rows, columns, order), PER_PAGE).get_page(query.get("page"))
    images.fill(list(page))
    title = ngettext("%(number)s image", "%(number)s images", len(rows)) % {"number": f"{len(rows):,}"}
    names = ((one.pk, one.name) for one in Language.objects.filter(pk__in=images.tags))
    return {
        "page": page,
        "table": PageTable("images-caption", title, columns, page, _("There is no such image."), query),
        "languages": sorted(names, key=lambda one: one[1]),
        "people": [(str(pk), one.username) for pk, one in people.items()],
        "states": list(STATES.items()),
        "licences": [(one, one) if one else (NONE, _("No licence")) for one in images.licences],
        "person": pseudonym(images.project, person) if person is not None else None,
    }


def _columns(slug: str, people: Mapping[int, User], viewer: User) -> Sequence[TableColumn[ImageRow]]:
    columns: list[TableColumn[ImageRow]] = [
        TableColumn("image", _("Image"), lambda row: row.key.casefold(), lambda row: _image(row, slug, viewer), TEXT),
        TableColumn("languages", _("Languages"), lambda row: row.languages, _languages, TEXT),
        TableColumn("captions", _("Captions"), lambda row: row.captions),
        TableColumn("people", _("People"), _nothing, lambda row: _people(row, slug, people), TEXT, sorts=False),
        TableColumn(
            "english",
            _("Levels of English captions"),
            _nothing,
            lambda row: _levels(row.work.english_levels),
            TEXT,
            False,
        ),
        TableColumn(
            "levels", _("Levels of captions"), _nothing, lambda row: _levels(row.work.levels), TEXT, sorts=False
        ),
        TableColumn("models", _("Captions by models"), lambda row: row.models, _models, TEXT),
        TableColumn("comparisons", _("Comparisons"), lambda row: row.comparisons, _comparisons, TEXT),
        *(
            TableColumn(name, str(LABELS[name]), partial(_said, name), partial(_shown, name), TEXT)
            for name in ("title", "author", "licence", "source")
        ),
    ]
    return columns if people else [column for column in columns if column.name != "people"]


def _said(name: str, row: ImageRow) -> str | None:
    """Sort by it; images without it come last."""
    return getattr(row, name).casefold() or None


def _shown(name: str, row: ImageRow) -> SafeString | str:
    return long_note(isolated(getattr(row, name))) or NO_VALUE


def _nothing(_row: ImageRow) -> None:
    """Sort by nothing."""


def _image(row: ImageRow, slug: str, viewer: User) -> SafeString:
    assert row.entry is not None
    public_id, collection = row.entry.image.public_id, row.entry.collection.slug
    url = (
        address("annotation:image-show", slug, public_id)
        if row.is_in_rounds
        else address("images:collection-image-show", collection, public_id)
    )
    served = served_image(row.entry.image, viewer)
    shown = render_to_string("dashboard/_image_of_table.html", {"image": served})
    return link(url, parts(SafeString(shown), isolated(row.key)))


def _languages(row: ImageRow) -> SafeString:
    tags = (f"{tag} ×{number}" if number > 1 else tag for tag, number in sorted(row.work.captions.items()))
    return parts(str(row.languages), long_note(", ".join(tags)))


def _people(row: ImageRow, slug: str, people: Mapping[int, User]) -> SafeString:
    """Name each person by their initials, with their languages; the full name is said on hover and to readers."""
    known = [(people[pk], tags) for pk, tags in row.work.people.items() if pk is not None and pk in people]
    return format_html_join(
        "; ",
        '<a href="{}" title="{}"><bdi aria-hidden="true">{}</bdi>{}</a> <span class="small">{}</span>',
        (
            (
                address("annotation:annotator-show", slug, person.pk),
                person.username,
                initials_of(person),
                for_readers(person.username),
                ", ".join(tags),
            )
            for person, tags in sorted(known, key=lambda one: one[0].username)
        ),
    )


def initials_of(person: User) -> str:
    """Return the first letters of a person's name, or of the words of their user name."""
    words = f"{person.first_name} {person.last_name}".split()
    if len(words) < 2:
        words = "".join(letter if letter.isalnum() else " " for letter in person.username).split()
    return "".join(word[0] for word in words[:3]).upper() or person.username[:2]


def _levels(levels: Mapping[str, int]) -> SafeString | str:
    said = [f"{Rating(level).label} {levels[level]}" for level in Rating.values if levels.get(level)]
    return note(", ".join(said)) or NO_VALUE


def _models(row: ImageRow) -> SafeString:
    return parts(str(row.models), long_note(", ".join(row.work.models)))


def _comparisons(row: ImageRow) -> SafeString:
    number = row.work.judgements
    said = ngettext("%(number)s judgement", "%(number)s judgements", number) % {"number": number}
    return parts(str(row.comparisons), note(said if row.comparisons else ""))
