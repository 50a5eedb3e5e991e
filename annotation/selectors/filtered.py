"""The captions that an image filter leaves, over several languages."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from core.languages.models import Language
from core.people.models import Project
from research.selection.rules.image_filters import ImageFilter
from research.selection.selectors.subsets import images_of


def captions_within(images: ImageFilter, project: Project, languages: Iterable[Language]) -> Q:
    """Return the condition that a caption of one of `languages` is of one of `images`.

    Raises
    ------
    ImageFilterError
        If `images` cannot be applied to a language.
    """
    if images.is_all:
        return Q()
    in_order = sorted(languages, key=lambda language: language.pk)
    if not images.depends_on_language:
        in_order = in_order[:1]
        return Q(*(Q(image__in=images_of(images, project=project, language=language)) for language in in_order))
    within = Q(pk__in=[])
    for language in in_order:
        allowed = images_of(images, project=project, language=language)
        within |= Q(round__language=language, image__in=allowed)
    return within
