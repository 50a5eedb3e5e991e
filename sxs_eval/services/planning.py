"""Making the chosen comparisons of a plan, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from core.images.models import Collection
from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from research.inference.models import CaptioningModel
from sxs_eval.models import Comparison
from sxs_eval.selectors.planning import ComparisonSetting, existing_comparisons
from sxs_eval.services.comparisons import create_comparison, record_change


class ChosenPair(NamedTuple):
    language: Language
    base: CaptioningModel
    test: CaptioningModel
    chosen_by: str = ""


def create_planned(
    *,
    project: Project,
    chosen: Sequence[ChosenPair],
    collection: Collection,
    setting: ComparisonSetting,
    by: User,
    now: datetime,
) -> tuple[list[Comparison], int]:
    """Make all chosen comparisons that do not exist yet, or none; also return how many of them existed.

    Of two calls at once, the second finds them there.

    Raises ComparisonError: the image filter cannot be applied to one of the languages.
    """
    with transaction.atomic():
        audit_log.lock(project, by)
        existing = existing_comparisons(
            project=project,
            collection=collection,
            setting=setting,
            languages=[session.language.pk for session in chosen],
        )
        taken = set(existing)
        made = []
        for session in chosen:
            key = (session.language.pk, frozenset((session.base.pk, session.test.pk)))
            if key in taken:
                continue
            taken.add(key)
            comparison = create_comparison(
                project=project, collection=collection, setting=setting, by=by, **session._asdict()
            )
            record_change("comparison.added", comparison, by, now, asdict(setting) | {"chosen_by": session.chosen_by})
            made.append(comparison)
    return made, len(chosen) - len(made)
