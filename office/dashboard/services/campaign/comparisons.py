"""Comparisons: those that the project lacks are made, settings of the others changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from core.allocation.models import Pool
from core.people.models import Project
from office.dashboard.selectors.campaign_file import SHARED_BY_COMPARISONS, comparison_of, comparisons_of
from office.dashboard.services.campaign.changes import CampaignChange, seconds
from sxs_eval.models import Comparison
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.services.comparisons import (
    ATTENTION,
    PoolSettings,
    change_comparison,
    change_replication,
    create_comparisons,
)

SAME = ("base", "test", "collection", "subset", "images", "seed", "scale")
"""What makes two comparisons of a language one."""


def known_comparisons(project: Project) -> dict[tuple[Any, ...], Comparison]:
    """Return comparisons by their language and what else makes two of them one."""
    return {(one.language_id, *_key(comparison_of(one))): one for one in comparisons_of(project)}


def named_pools(project: Project, comparisons: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Pool, Mapping[str, Any]]]:
    """Yield the pools of comparisons that are there, each with what the file says of it."""
    known = known_comparisons(project)
    for wanted in comparisons:
        found = (known.get((tag, *_key(wanted))) for tag in wanted["languages"])
        yield from ((one.pool, wanted) for one in found if one is not None)


def apply_comparisons(change: CampaignChange, comparisons: Sequence[Mapping[str, Any]]) -> None:
    known = known_comparisons(change.project)
    for number, wanted in enumerate(comparisons):
        path, key = f"comparisons[{number}]", _key(wanted)
        lacking = [tag for tag in wanted["languages"] if (tag, *key) not in known]
        if lacking:
            _create(change, path, wanted, lacking)
        for tag in wanted["languages"]:
            if tag not in lacking:
                _compare(change, f"{path} ({tag})", wanted, known[(tag, *key)])


def _key(said: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(said.get(name) for name in SAME)


def _create(change: CampaignChange, path: str, wanted: Mapping[str, Any], tags: Sequence[str]) -> None:
    names = change.names
    setting = {name: wanted.get(name) for name in (*SHARED_BY_COMPARISONS, "replication", "batch_size")}
    create_comparisons(
        project=change.project,
        languages=[names.languages[tag] for tag in tags],
        base=names.models[wanted["base"]],
        test=names.models[wanted["test"]],
        collection=names.collections[wanted["collection"]],
        setting=ComparisonSetting(lease_s=seconds(wanted["lease_h"]), **setting),  # type: ignore[arg-type]
        chosen_by=wanted.get("chosen_by", ""),
        **change.who,
    )
    about = {"test": wanted["test"], "base": wanted["base"], "languages": ", ".join(tags)}
    change.added(path, _("%(test)s against %(base)s: %(languages)s") % about)


def _compare(change: CampaignChange, path: str, wanted: Mapping[str, Any], comparison: Comparison) -> None:
    before = comparison_of(comparison)
    names = ("equal_captions", "replication", "batch_size", "lease_h", *ATTENTION)
    why = _("its pairs are made. Remove the comparison and make another, or change the file.")
    shown = {name: before[name] for name in names} | {"chosen_by": comparison.chosen_by}
    why_chosen = _("this cannot be changed later. Take the key out of the file, or make another comparison.")
    differing = change.compare(path, shown, wanted, fixed={"equal_captions": why, "chosen_by": why_chosen})
    if "replication" in differing:
        change_replication(comparison=comparison, replication=wanted["replication"], **change.who)
        differing.remove("replication")
    if differing:
        settings = PoolSettings(
            batch_size=wanted["batch_size"],
            lease_s=seconds(wanted["lease_h"]),
            is_open=comparison.pool.is_open,
            **{name: wanted[name] for name in ATTENTION},
        )
        change_comparison(comparison=comparison, settings=settings, **change.who)
