"""Search over what a manager or researcher may see: a few hits of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Round
from core.images.models import CollectionImage
from core.images.permissions import collections_for
from core.languages.models import Language
from core.people.models import Membership, Project, Role, User
from core.people.permissions import READERS, reads_anything
from core.people.rules.project_pages import groups_for
from research.inference.permissions import models_for

PER_GROUP = 5
MAX_QUERY_CHARACTERS = 100
"""Characters of a question; more would find nothing."""
WORKERS = (Role.ANNOTATOR, Role.RATER)


@dataclass(frozen=True)
class SearchHit:
    """`detail` says where it is, where the label alone would not."""

    label: str
    url: str
    detail: str = ""


def search(user: User, words: str, *, here: str = "") -> list[dict[str, Any]]:
    """Return what `user` may see, by kind, that has all of `words`; pages are those of the project `here`."""
    wanted = " ".join(words.replace("\0", "").split())[:MAX_QUERY_CHARACTERS]
    if not wanted:
        return []
    roles = Membership.objects.filter(user=user, role__in=READERS, project__deletion=None)
    seen = _SearchScope(
        user=user,
        words=wanted,
        managed=set(roles.filter(role=Role.MANAGER).values_list("project", flat=True)),
        read=set(roles.values_list("project", flat=True)),
    )
    found: list[tuple[str, Callable[[], Iterable[SearchHit]]]] = [
        (_("Pages of this project"), lambda: _pages(seen, here)),
        (_("Projects"), lambda: _projects(seen)),
        (_("Languages"), lambda: _languages(seen)),
        (_("People"), lambda: _people(seen)),
        (_("Collections"), lambda: _collections(seen)),
        (_("Images"), lambda: _images(seen)),
        (_("Models"), lambda: _models(seen)),
    ]
    groups = [{"label": label, "hits": list(islice(hits(), PER_GROUP))} for label, hits in found]
    return [group for group in groups if group["hits"]]


@dataclass(frozen=True)
class _SearchScope:
    """Who asks for what, and the projects that they manage or may read."""

    user: User
    words: str
    managed: set[int]
    read: set[int]

    def has_words(self, *places: str) -> Q:
        """Return the condition that all words are in one of `places` or another."""
        condition = Q()
        for word in self.words.split():
            of_word = Q()
            for place in places:
                of_word |= Q(**{f"{place}__icontains": word})
            condition &= of_word
        return condition

    def fits(self, *texts: str) -> bool:
        joined = " ".join(texts).casefold()
        return all(word.casefold() in joined for word in self.words.split())


def _pages(seen: _SearchScope, here: str) -> Iterable[SearchHit]:
    project = Project.objects.filter(slug=here, pk__in=seen.read).first()
    if project is None:
        return
    for group in groups_for(manages=project.pk in seen.managed):
        for page in group.pages:
            if seen.fits(str(page.label), str(group.label)):
                yield SearchHit(str(page.label), reverse(page.name, args=[here]), str(group.label))
    if project.pk in seen.managed and seen.fits(_("Invite people")):
        yield SearchHit(_("Invite people"), reverse("people:invitation-create", args=[here]))


def _projects(seen: _SearchScope) -> Iterable[SearchHit]:
    projects = Project.objects.filter(seen.has_words("name", "slug"), pk__in=seen.read)
    for project in projects.order_by("archived_at", "name")[:PER_GROUP]:
        page = reverse("annotation:project-show", args=[project.slug])
        yield SearchHit(project.name, page, _("Archived") if project.is_archived else "")


def _languages(seen: _SearchScope) -> Iterable[SearchHit]:
    # Names are translated, so they are compared here; there are few languages.
    fitting = [one.pk for one in Language.objects.all() if seen.fits(one.name, one.english_name, one.own_name, one.pk)]
    rounds = Round.objects.filter(project__in=seen.read, project__archived_at=None, language__in=fitting)
    found = rounds.order_by("project__name", "language__english_name").values_list(
        "project__slug", "project__name", "language"
    )
    names = Language.objects.in_bulk(fitting)
    for slug, project, tag in found.distinct()[:PER_GROUP]:
        yield SearchHit(names[tag].name, reverse("annotation:language-show", args=[slug, tag]), project)


def _people(seen: _SearchScope) -> Iterable[SearchHit]:
    members = Membership.objects.filter(seen.has_words("user__username"), project__in=seen.managed)
    found = members.order_by("user__username", "project__name", "role").values_list(
        "user", "user__username", "project__slug", "project__name", "role"
    )
    shown: set[tuple[int, str]] = set()
    # Nobody has more than two roles in a project, so these are enough.
    for person, name, slug, project, role in found[: 2 * PER_GROUP]:
        if (person, slug) in shown:
            continue
        shown.add((person, slug))
        if role in WORKERS:
            yield SearchHit(name, reverse("annotation:annotator-show", args=[slug, person]), project)
        else:
            yield SearchHit(name, reverse("people:member-list", args=[slug]), project)


def _collections(seen: _SearchScope) -> Iterable[SearchHit]:
    if not reads_anything(seen.user):
        return
    found = collections_for(seen.user).filter(seen.has_words("name", "slug"))
    for collection in found.order_by("name")[:PER_GROUP]:
        yield SearchHit(collection.name, reverse("images:collection-show", args=[collection.slug]))


def _images(seen: _SearchScope) -> Iterable[SearchHit]:
    """Find images by the beginning of their key, then by words of their title."""
    if not reads_anything(seen.user):
        return
    collections = list(collections_for(seen.user).values_list("pk", flat=True))
    entries = CollectionImage.objects.filter(collection__in=collections)
    by_key = _hits_of(entries.filter(key__startswith=seen.words).order_by("key"))
    yield from by_key
    if len(by_key) < PER_GROUP:
        known = {hit.url for hit in by_key}
        by_title = _hits_of(entries.filter(seen.has_words("image__title")).order_by())
        yield from (hit for hit in by_title if hit.url not in known)


def _hits_of(entries: QuerySet[CollectionImage]) -> list[SearchHit]:
    columns = ("key", "image__title", "image__public_id", "collection__slug", "collection__name")
    hits = []
    for key, title, public_id, slug, collection in entries.values_list(*columns)[:PER_GROUP]:
        page = reverse("images:collection-image-show", args=[slug, public_id])
        hits.append(SearchHit(f"{title} ({key})" if title else key, page, collection))
    return hits


def _models(seen: _SearchScope) -> Iterable[SearchHit]:
    for model in models_for(seen.user).filter(seen.has_words("name")).order_by("name")[:PER_GROUP]:
        yield SearchHit(model.name, reverse("inference:model-show", args=[model.pk]))
