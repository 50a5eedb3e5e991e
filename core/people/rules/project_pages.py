"""The pages of a project, in the groups of its navigation, and which of them each of its addresses belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

ROOT = "projects/<slug:slug>/"
"""How the route of an address of a project begins."""


@dataclass(frozen=True)
class ProjectPage:
    """A page of the navigation."""

    name: str
    """Of the address that its link opens."""
    label: Promise
    paths: tuple[str, ...]
    """How the addresses of the page, and of those below it, begin after `ROOT`. An empty one means `ROOT` alone."""
    is_for_researchers: bool = False
    """Whether researchers may open it, and not only managers."""


@dataclass(frozen=True)
class PageGroup:
    """Pages behind one entry of the navigation, which opens the first of them."""

    label: Promise
    pages: tuple[ProjectPage, ...]


GROUPS = (
    PageGroup(
        _("Overview"),
        (
            ProjectPage(
                "annotation:project-show",
                _("Progress"),
                ("", "progress/", "languages/", "rounds/", "tasks/"),
                is_for_researchers=True,
            ),
            ProjectPage("dashboard:image-list", _("Images"), ("images/",), is_for_researchers=True),
            ProjectPage("dashboard:setup-show", pgettext_lazy("of a project", "Setup"), ("setup/",)),
        ),
    ),
    PageGroup(
        pgettext_lazy("part of a project", "Work"),
        (
            ProjectPage("annotation:guidelines-show", _("Guidelines"), ("guidelines/",), is_for_researchers=True),
            ProjectPage("imports:import-create", _("Import"), ("import/",), is_for_researchers=True),
            ProjectPage("exports:export-show", _("Export"), ("export/",), is_for_researchers=True),
            ProjectPage("practice:practice-list", _("Practice"), ("practice/manage/",)),
            ProjectPage(
                "corpora:selection-list", _("Selections"), ("selections/", "candidates/"), is_for_researchers=True
            ),
            ProjectPage("gapgame:season-list", _("Game seasons"), ("game/",), is_for_researchers=True),
            ProjectPage("gapgame:item-set-list", _("Game sentences"), ("game/items/",), is_for_researchers=True),
            ProjectPage("gapgame:vectors-show", _("Word vectors"), ("game/vectors/",), is_for_researchers=True),
        ),
    ),
    PageGroup(
        _("People"),
        (
            ProjectPage("annotation:annotator-list", _("Annotators"), ("annotators/", "batches/")),
            ProjectPage("conversation:inbox-show", _("Inbox"), ("inbox/",)),
            ProjectPage("people:member-list", _("Members"), ("people/",)),
            ProjectPage("people:invitation-list", _("Invitations"), ("people/invitations/",)),
            ProjectPage("recruitment:study-list", _("Studies"), ("studies/",)),
            ProjectPage("recruitment:cost-list", _("Hours, quality and cost"), ("costs/",)),
        ),
    ),
    PageGroup(
        _("Quality"),
        (
            ProjectPage("annotation:quality-show", _("Quality"), ("quality/", "captions/"), is_for_researchers=True),
            ProjectPage("annotation:statistics-show", _("Statistics"), ("statistics/",), is_for_researchers=True),
            ProjectPage("annotation:plots-show", _("Charts"), ("plots/",), is_for_researchers=True),
        ),
    ),
    PageGroup(
        _("Releases"),
        (ProjectPage("annotation:release-list", _("Releases"), ("releases/",), is_for_researchers=True),),
    ),
    PageGroup(
        _("Research"),
        (
            ProjectPage("sxs_eval:comparison-list", _("Comparisons"), ("comparisons/",), is_for_researchers=True),
            ProjectPage("sxs_eval:results-show", _("Results"), ("comparisons/results/",), is_for_researchers=True),
            ProjectPage(
                "sxs_eval:metrics-show", _("Metrics and raters"), ("comparisons/metrics/",), is_for_researchers=True
            ),
            ProjectPage("sxs_eval:plan-show", _("Plan"), ("plan/",), is_for_researchers=True),
            ProjectPage(
                "sxs_eval:instructions-publish", _("Instructions"), ("instructions/new/",), is_for_researchers=True
            ),
            ProjectPage("scoring:score-list", _("Scores"), ("scores/",), is_for_researchers=True),
            ProjectPage("scoring:score-compare", _("Two models"), ("scores/compare/",), is_for_researchers=True),
            ProjectPage("scoring:reference-list", _("References"), ("references/",), is_for_researchers=True),
            ProjectPage(
                "corpora:subset-list", _("Named subsets"), ("subsets/", "new-subset/"), is_for_researchers=True
            ),
        ),
    ),
    PageGroup(
        _("Settings"),
        (
            ProjectPage("dashboard:project-settings", _("Project"), ("settings/",)),
            ProjectPage("dashboard:campaign-show", _("Campaign file"), ("campaign/",)),
            ProjectPage("people:consent-publish", _("Consent text"), ("people/consent/",)),
            ProjectPage("people:text-list", _("Translations"), ("people/texts/",)),
            ProjectPage(
                "corpora:table-show",
                _("Where languages are spoken"),
                ("where-spoken/",),
                is_for_researchers=True,
            ),
            ProjectPage("people:webhook-list", _("Webhooks"), ("webhooks/", "deliveries/")),
            ProjectPage("people:log-show", _("Audit log"), ("log/",)),
        ),
    ),
)

PAGES_OF_PARTICIPANTS = ("consent/", "practice/", "instructions/", "messages/")
"""Paths below `ROOT` of pages for people who work in a project: they have no navigation of it."""

_PAGES: dict[str, ProjectPage | None] = {path: page for group in GROUPS for page in group.pages for path in page.paths}
_PAGES |= dict.fromkeys(PAGES_OF_PARTICIPANTS)


@lru_cache(maxsize=1024)
def page_of(route: str) -> ProjectPage | None:
    """Return the page that an address with `route` belongs to: that of the longest path with which it begins.

    None if the address is outside projects, or of participants.
    """
    path = path_of(route)
    return None if path is None else _PAGES[path]


def path_of(route: str) -> str | None:
    """Return the longest path of `GROUPS` or `PAGES_OF_PARTICIPANTS` with which `route` begins."""
    if not route.startswith(ROOT):
        return None
    rest = route.removeprefix(ROOT)
    return max((path for path in _PAGES if (rest.startswith(path) if path else not rest)), key=len, default=None)


def groups_for(*, manages: bool) -> tuple[PageGroup, ...]:
    """Return the groups with the pages that a manager may open, or a researcher."""
    if manages:
        return GROUPS
    groups = (
        PageGroup(group.label, tuple(page for page in group.pages if page.is_for_researchers)) for group in GROUPS
    )
    return tuple(group for group in groups if group.pages)
