"""What applying a file changes, as it is found out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.services.projects import ProjectSetupError
from core.people.models import Project, User
from core.people.rules.consent_parts import PartsError
from core.people.services.texts import ConsentGapsError
from office.dashboard.formats.campaign_file import CampaignFileError
from office.dashboard.services.campaign.names import CampaignNames
from office.practice.services.sets import ImageInWorkError
from sxs_eval.services.comparisons import ComparisonError


class StepKind(TextChoices):
    ADDED = "added", _("Added")
    CHANGED = "changed", pgettext_lazy("by a campaign file", "Changed")
    REFUSED = "refused", _("Cannot be changed")


@dataclass(frozen=True)
class CampaignStep:
    """One difference between a file and a project: its path in the file, and what is done about it or why it is not."""

    kind: StepKind
    path: str
    text: str


@dataclass
class CampaignChange:
    """A file being applied to a project, and the differences found so far."""

    project: Project
    names: CampaignNames
    by: User
    now: datetime
    is_new: bool = False
    steps: list[CampaignStep] = field(default_factory=list)
    is_applied: bool = False

    @property
    def who(self) -> dict[str, Any]:
        return {"by": self.by, "now": self.now}

    @property
    def refused(self) -> list[CampaignStep]:
        return [step for step in self.steps if step.kind == StepKind.REFUSED]

    def added(self, path: str, text: str) -> None:
        self.steps.append(CampaignStep(StepKind.ADDED, path, text))

    def changed(self, path: str, text: str) -> None:
        kind = StepKind.ADDED if self.is_new else StepKind.CHANGED
        self.steps.append(CampaignStep(kind, path, text))

    def refuse(self, path: str, why: str) -> None:
        self.steps.append(CampaignStep(StepKind.REFUSED, path, why))

    def compare(
        self, path: str, before: Mapping[str, Any], wanted: Mapping[str, Any], *, fixed: Mapping[str, str] | None = None
    ) -> list[str]:
        """Note what differs, for the names in `before`; refuse what is `fixed`, by name with the reason.

        Returns the names of what is to be changed.
        """
        differing = []
        for name, value in before.items():
            if name not in wanted or _same(name, value, wanted[name]):
                continue
            if fixed and name in fixed:
                self.refuse(f"{path}.{name}", f"{shown(value)} → {shown(wanted[name])}: {fixed[name]}")
            else:
                self.changed(f"{path}.{name}", f"{shown(value)} → {shown(wanted[name])}")
                differing.append(name)
        return differing


def _same(name: str, before: Any, wanted: Any) -> bool:
    if name == "lease_h":
        return seconds(before) == seconds(wanted)
    if isinstance(before, list):
        return sorted(map(str, before)) == sorted(map(str, wanted))
    return bool(before == wanted)


def seconds(hours: float) -> int:
    return round(hours * 3600)


def shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else f"{value}"


@contextmanager
def refusals_at(path: str) -> Iterator[None]:
    """Say in which part of the file a service refused something."""
    try:
        yield
    except (ProjectSetupError, ComparisonError, ConsentGapsError, ImageInWorkError, PartsError) as error:
        raise CampaignFileError([f"{path}: {error}"]) from error
