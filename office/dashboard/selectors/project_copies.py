"""What a copy of a project would get, and what it cannot have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import Round, RoundKind
from core.people.models import Owned, Project


@dataclass(frozen=True)
class CopyableSettings:
    """`languages` are main rounds, of which those in `usable` can begin in another project, too.

    `own` are the collections and models that keep the others from it: they are not shared with all.
    """

    languages: Sequence[Round]
    usable: Sequence[Round]
    own: Sequence[Owned]


def copyable(project: Project) -> CopyableSettings:
    mains = Round.objects.filter(project=project, kind=RoundKind.MAIN)
    mains = mains.select_related("language", "collection", "pool").prefetch_related("captioners")
    languages = sorted(mains, key=lambda main: main.language.english_name)
    usable: list[Round] = []
    own: dict[tuple[type[Owned], int], Owned] = {}
    for main in languages:
        needed: list[Owned] = [main.collection, *main.captioners.all()]
        missing = [one for one in needed if not one.is_shared]
        own |= {(type(one), one.pk): one for one in missing}
        if not missing:
            usable.append(main)
    return CopyableSettings(languages, usable, list(own.values()))
