"""What of a project somebody may export now."""

from __future__ import annotations

from annotation import permissions as annotation_permissions
from core.people.models import Project, Role, User
from core.people.permissions import has_role
from office.dashboard.selectors.images import ProjectImages
from research.inference.selectors.assigned_work import is_assigned
from research.scoring import permissions as scoring_permissions
from research.scoring.models import ReferenceSet
from sxs_eval import permissions as judging_permissions
from sxs_eval.models import Comparison

OF_MANAGERS = frozenset({"time"})
"""What names people: for managers alone."""


def may_export(user: User, project: Project, what: str) -> bool:
    return what not in OF_MANAGERS or has_role(user, project, Role.MANAGER)


def is_closed(user: User, project: Project, what: str, comparison: Comparison | None) -> bool:
    """Return whether the file has others' words about images that are assigned to `user`."""
    if what in ("captions", "ratings", "release"):
        return annotation_permissions.has_assigned_images(user, project)
    if what == "model-captions":
        return ProjectImages(project).entries.filter(is_assigned(user, "image")).exists()
    if what == "judgements":
        asked = [comparison] if comparison else list(Comparison.objects.filter(project=project))
        return judging_permissions.has_assigned_images(user, asked)
    sets = ReferenceSet.objects.filter(project=project)
    return what == "image-scores" and scoring_permissions.has_assigned_images(user, sets)
