"""Which images come to nobody, what waits in a project's inbox, and what is stored of a person."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from core.conversation.models import (
    HELD,
    WAITING,
    ImageReport,
    ManagerThread,
    ReportedImage,
    ReportedState,
    ThreadMessage,
)
from core.conversation.permissions import KINDS, ItemPlace, SeenCaption
from core.languages.models import Language
from core.people.models import Membership, Project, Role, User
from core.people.personal_data import ExportPart

ON_A_PAGE = 20
WORKERS = (Role.ANNOTATOR, Role.RATER, Role.PLAYER)


@dataclass(frozen=True)
class ReadingRule:
    """What people must not read while they work, as it may quote captions of images that are assigned to them.

    The first three build the condition that the image at a path is assigned to a person: in any work, when they must
    not read what others say; in any but captions that were returned to them, whose feedback they may read; on screen
    2, when they must not read even what they said on screen 1. `while_writing` builds the condition that what was said
    about no image, by others or not, may quote a caption of an image on screen 2.
    """

    others: Callable[[User, str], Q]
    feedback: Callable[[User, str], Q]
    written: Callable[[User, str], Q]
    while_writing: Callable[[User, bool], Q]


_rules: list[ReadingRule] = []
register_reading = _rules.append
message_glosses: list[str] = []
"""The paths from a message to its translation for managers, which an app adds when it is ready."""


def _readable(
    messages: QuerySet[ThreadMessage], reader: User, *, by_others: bool = False, in_file: bool = False
) -> QuerySet[ThreadMessage]:
    """Leave out what `reader` must not read now. What stands in a file can still be read on screen 2."""
    for rule in _rules:
        messages = messages.exclude(rule.while_writing(reader, by_others), image=None)
        if by_others or in_file:
            messages = messages.exclude((rule.others if by_others else rule.feedback)(reader, "image"))
        else:
            messages = messages.exclude(rule.feedback(reader, "image"), ~Q(quote=""))
            messages = messages.exclude(rule.written(reader, "image"), is_of_screen_1=True)
    return messages


def is_held(project: int, image: str, language: str) -> Q:
    """Build the condition that the image at the path `image` comes to nobody in `project`, for work in `language`."""
    held = ReportedImage.objects.filter(project=project, state__in=HELD, image=OuterRef(image))
    return Q(Exists(held.filter(Q(language=None) | Q(language=OuterRef(language)))))


def withdrawn_images(project: int, language: str) -> QuerySet[ReportedImage, int]:
    """Return the images that new rounds and comparisons of `project` in `language` leave out."""
    withdrawn = ReportedImage.objects.filter(project=project, state=ReportedState.WITHDRAWN)
    return withdrawn.filter(Q(language=None) | Q(language=language)).values_list("image", flat=True)


def is_reported_by(person: User, image: str) -> Q:
    """Build the condition that `person` reported the image at the path `image`."""
    return Q(**{f"{image}__in": ImageReport.objects.filter(person=person).values("reported__image")})


def reported_images(
    project: Project, *, reader: User, is_waiting: bool = True, language: str = ""
) -> QuerySet[ReportedImage]:
    """List reported images, the newest report first, with the reports that `reader` may read."""
    found = ReportedImage.objects.filter(project=project)
    found = found.filter(state__in=WAITING) if is_waiting else found.exclude(state__in=WAITING)
    if language:
        found = found.filter(Q(reports__language=language)).distinct()
    readable = ImageReport.objects.all()
    for rule in _rules:
        readable = readable.exclude(rule.others(reader, "reported__image"))
    reports = Prefetch(
        "reports",
        readable.select_related("person", "language", "message", *(f"message__{path}" for path in message_glosses)),
        to_attr="readable",
    )
    return (
        found.select_related("image", "language", "decided_by")
        .prefetch_related(reports)
        .order_by("-reported_at", "-pk")
    )


def seen_captions(images: Iterable[Any], *, reader: User) -> dict[int, Sequence[SeenCaption]]:
    """Return by report the captions that people saw with `reported_images`: of the reports that `reader` may read."""
    reports: dict[str, dict[ItemPlace, int]] = defaultdict(dict)
    for report in (report for image in images for report in image.readable):
        kind, batch, position = report.place
        reports[kind][batch, position] = report.pk
    found: dict[int, Sequence[SeenCaption]] = {}
    for kind, places in reports.items():
        if kind in KINDS:
            seen = KINDS[kind].captions(reader, places.keys())
            found |= {places[place]: captions for place, captions in seen.items() if place in places}
    return found


def page_of(rows: QuerySet[Any], number: str | None, *, is_wanted: bool) -> Page[Any]:
    """Return a page of `rows`; none of them after the last page, so that lists of two lengths share their numbers."""
    paginator = Paginator(rows if is_wanted else rows.none(), ON_A_PAGE)
    page = paginator.get_page(number)
    is_after = (number or "").isdecimal() and int(number or 0) > paginator.num_pages
    return Page([], page.number, paginator) if is_after else page


def languages_of(project: Project) -> list[Language]:
    of_reports = ImageReport.objects.filter(reported__project=project).values("language")
    of_threads = ThreadMessage.objects.filter(thread__project=project, language__isnull=False).values("language")
    return list(Language.objects.filter(Q(pk__in=of_reports) | Q(pk__in=of_threads)))


def waiting_by_project(projects: Collection[int]) -> dict[int, int]:
    """Count what a manager has to answer."""
    images = ReportedImage.objects.filter(project__in=projects, state__in=WAITING)
    threads = ManagerThread.objects.filter(project__in=projects, is_open=True)
    waiting: Counter[int] = Counter()
    for rows in (images, threads):
        waiting.update(dict(rows.order_by().values_list("project").annotate(Count("pk"))))
    return waiting


def own_messages(project: Project, person: User, *, is_hidden: bool = False) -> QuerySet[ThreadMessage]:
    """List what `person` and the managers wrote, as far as the person may read it now; or the rest, which is hidden."""
    mine = ThreadMessage.objects.filter(thread__project=project, thread__person=person)
    readable = _readable(mine, person)
    return mine.exclude(pk__in=readable.values("pk")) if is_hidden else readable.select_related("report")


IS_UNREAD = Q(is_reply=True, read_at=None)
UNREAD_REPLIES = ThreadMessage.objects.filter(IS_UNREAD)


def projects_to_ask(person: User) -> list[tuple[Project, int]]:
    """List the projects in which `person` works, each with how many replies they have not confirmed."""
    works = Membership.objects.filter(user=person, role__in=WORKERS).values("project")
    projects = Project.objects.filter(pk__in=works, archived_at=None, deletion=None).order_by("name", "pk")
    new = set(UNREAD_REPLIES.filter(thread__person=person).order_by().values_list("thread__project", flat=True))
    return [
        (project, own_messages(project, person).filter(IS_UNREAD).count() if project.pk in new else 0)
        for project in projects.defer("description")
    ]


def threads_of(project: Project, *, is_waiting: bool = True, language: str = "") -> QuerySet[ManagerThread]:
    """List threads, the longest unanswered first; comments of reports alone, which stand with the image, are none."""
    besides_reports = ThreadMessage.objects.filter(thread=OuterRef("pk"), report=None)
    found = ManagerThread.objects.filter(Exists(besides_reports), project=project, is_open=is_waiting)
    if language:
        found = found.filter(messages__language=language).distinct()
    return found.select_related("person").order_by("asked_at" if is_waiting else "-asked_at", "pk")


def why_unanswerable(thread: ManagerThread) -> str:
    """Say why nobody would find a reply; empty while its person works in the project."""
    works = Membership.objects.filter(project=thread.project_id, user=thread.person_id, role__in=WORKERS)
    return "" if works.exists() else _("This person no longer works in the project and would not see a reply.")


def messages_for(reader: User, threads: Iterable[ManagerThread]) -> dict[int, list[ThreadMessage]]:
    """Return the messages of threads by thread, as a manager may read them."""
    messages = ThreadMessage.objects.filter(thread__in=[one.pk for one in threads])
    found: dict[int, list[ThreadMessage]] = defaultdict(list)
    for message in _readable(messages, reader, by_others=True).select_related(
        "by", "image", "language", "report", *message_glosses
    ):
        found[message.thread_id].append(message)
    return found


def data_export(person: User) -> Iterator[ExportPart]:
    reports = ImageReport.objects.filter(person=person)
    for rule in _rules:
        reports = reports.exclude(rule.feedback(person, "reported__image"))
    yield ExportPart(
        "reports",
        _("Images that you reported."),
        reports.values("at", "item", "language", "reason", "comment", project_slug=F("reported__project__slug")),
    )
    messages = _readable(ThreadMessage.objects.filter(thread__person=person), person, in_file=True)
    yield ExportPart(
        "messages",
        _("What you wrote to managers, and their replies."),
        messages.values("at", "is_reply", "text", "quote", "language", project_slug=F("thread__project__slug")),
    )
