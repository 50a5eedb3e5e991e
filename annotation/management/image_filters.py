"""The option `--images` of commands about captions."""

from __future__ import annotations

from annotation.models import Round, RoundKind
from core.languages.models import Language
from core.people.models import Project
from research.selection.management.image_filters import check_some_images
from research.selection.rules.image_filters import ImageFilter


def check_some_captioned(images: ImageFilter, project: Project, kind: RoundKind = RoundKind.MAIN) -> None:
    """Refuse a filter that leaves no image of the project's rounds of this kind.

    Raises CommandError. Raises ImageFilterError if the filter cannot be applied to a language.
    """
    rounds = Round.objects.filter(project=project, kind=kind)
    languages = Language.objects.filter(pk__in=rounds.values("language")).order_by("pk")
    check_some_images(images, project=project, languages=languages, collections=rounds.values("collection"))
