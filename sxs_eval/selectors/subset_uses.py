"""Say which comparisons are over the images of named subsets."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.translation import gettext as _

from core.people.models import Project
from research.selection.rules.image_filters import FilterKind, parse
from research.selection.selectors.usage import ImagesUse
from sxs_eval.models import Comparison, Judgement


def comparisons_by_subset(project: Project) -> Iterator[tuple[str, ImagesUse]]:
    """Yield each comparison of the project under the slugs of the subsets that its image filter names."""
    judged = Judgement.objects.filter(comparison=OuterRef("pk"))
    rows = Comparison.objects.filter(project=project, images__contains=f"{FilterKind.SUBSET}:").select_related(
        "language"
    )
    for row in rows.annotate(is_judged=Exists(judged)).order_by("pk"):
        # Without its models, which not everybody may know.
        title = _("comparison %(number)d in %(language)s") % {"number": row.pk, "language": row.language.name}
        use = ImagesUse(title, reverse("sxs_eval:comparison-show", args=[project.slug, row.pk]), row.is_judged)  # type: ignore[attr-defined]
        for term in parse(row.images).terms:
            if term.kind is FilterKind.SUBSET:
                yield term.value, use
