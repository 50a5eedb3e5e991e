"""Who may report what, and who answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from core.conversation.models import ManagerThread, ReportedImage, SavedAnswer
from core.conversation.rules import ReportReason
from core.images.models import Image
from core.languages.models import Language
from core.people.models import Project, Role, User
from core.people.permissions import project_for


@dataclass(frozen=True)
class ReportableItem:
    """One image of somebody's work, and where they go on once they have reported it.

    `is_caption_judged` where it is the work to judge captions in `language`; that of screen 1 is shared by the work in
    all languages. `src` is for images that have addresses of their own; `beside` are the pages of the same
    report, image by image.
    Players have no list of work: replies about what `is_played` are on the page of the season.
    """

    project: Project
    language: Language
    image: Image
    url: str
    is_on_screen_1: bool = False
    is_caption_judged: bool = False
    is_skipped: bool = True
    src: str = ""
    beside: Sequence[str] = ()
    is_played: bool = False


@dataclass(frozen=True)
class SeenCaption:
    """A caption that somebody saw with an image; `gloss` is its translation into English by a machine, if any."""

    text: str
    language: Language
    gloss: Any = None


ItemPlace = tuple[UUID, int]
"""A batch and a position in it."""
SeenCaptions = Mapping[ItemPlace, Sequence[SeenCaption]]


def _no_captions(_reader: User, _places: Collection[ItemPlace]) -> SeenCaptions:
    return {}


@dataclass(frozen=True)
class ReportableKind:
    """A kind of work with images to report.

    `find` returns the item at a position of somebody's own batch, or raises Http404. `skip` gives it up for good, in
    the current transaction, and returns False if it was done before. Repeating it changes nothing. `captions` returns
    those of items, in the order in which they were seen, for a manager who may read what is said about the images of
    the items. `reasons` are those that make sense in such work.

    `is_locked_last` where the rows that `skip` locks come after those of a report (docs/decisions/0039). `go_on` opens
    what comes after a skipped item and returns its address; without it, people go on at the address of the item.
    """

    find: Callable[[User, UUID, int], ReportableItem]
    skip: Callable[[UUID, User, int, datetime], bool]
    captions: Callable[[User, Collection[ItemPlace]], SeenCaptions] = _no_captions
    reasons: Collection[ReportReason] = tuple(ReportReason)
    is_locked_last: bool = False
    go_on: Callable[[UUID, User, datetime], str] | None = None


KINDS: dict[str, ReportableKind] = {}
"""By the word in addresses; apps add theirs when they are ready."""


def item_for(user: User, kind: str, batch_id: UUID, position: int) -> ReportableItem:
    if kind not in KINDS:
        raise Http404(_("There is no such page."))
    return KINDS[kind].find(user, batch_id, position)


def inbox_of(user: User | AnonymousUser, slug: str) -> Project:
    return project_for(user, slug, Role.MANAGER)


def reported_image_for(user: User | AnonymousUser, slug: str, reported_id: int) -> ReportedImage:
    return get_object_or_404(ReportedImage, pk=reported_id, project=inbox_of(user, slug))


def project_asked(user: User | AnonymousUser, slug: str) -> Project:
    """Return a project whose managers `user`, who works in it, may ask."""
    return project_for(user, slug, Role.ANNOTATOR, Role.RATER, Role.PLAYER)


def thread_for(user: User | AnonymousUser, slug: str, thread_id: int) -> ManagerThread:
    threads = ManagerThread.objects.select_related("person", "project")
    return get_object_or_404(threads, pk=thread_id, project=inbox_of(user, slug))


def saved_answer_for(user: User | AnonymousUser, slug: str, answer_id: int) -> SavedAnswer:
    return get_object_or_404(SavedAnswer, pk=answer_id, project=inbox_of(user, slug))
