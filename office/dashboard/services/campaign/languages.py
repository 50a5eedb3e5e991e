"""Languages and their rounds: those that the project lacks are begun, settings of the others changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import SystemRandom
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Round, RoundState
from annotation.selectors.overview import coverage_of
from annotation.services.campaign import LanguageBeginning, LanguageSettings
from annotation.services.projects import (
    NewRound,
    add_languages,
    change_round,
    changed_settings,
    take_over,
)
from core.allocation.models import Pool
from core.people.models import Project
from office.dashboard.formats.campaign_file import ROUND_TABLES, CampaignFileError
from office.dashboard.selectors.campaign_file import ALL, language_of, round_of, rounds_by_language
from office.dashboard.services.campaign.changes import CampaignChange, seconds

SEED_BITS = 31
FIXED = ("collection", "captioners", "seed")


def named_pools(project: Project, languages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Pool, Mapping[str, Any]]]:
    """Yield the pools of rounds that are there, each with what the file says of it."""
    known = rounds_by_language(project)
    for wanted in languages:
        for table, round in known.get(wanted["tag"], {}).items():
            yield round.pool, wanted[table]


def apply_languages(change: CampaignChange, languages: Sequence[Mapping[str, Any]]) -> None:
    known = rounds_by_language(change.project)
    seed = SystemRandom().getrandbits(SEED_BITS)
    covered: dict[tuple[str, ...], int] = {}
    for number, wanted in enumerate(languages):
        if wanted["tag"] not in known:
            path = f"languages[{number}]"
            _check_pilot(change, path, wanted, covered)
            _begin(change, path, {"seed": seed, **wanted})
    rounds = rounds_by_language(change.project)
    for number, wanted in enumerate(languages):
        _compare(change, f"languages[{number}]", wanted, rounds[wanted["tag"]], is_new=wanted["tag"] not in known)


def settings_for(change: CampaignChange, wanted: Mapping[str, Any]) -> LanguageSettings:
    return {
        "collection": change.names.collections[wanted["collection"]],
        "captioners": [change.names.models[name] for name in wanted["captioners"]],
        "batch_size": wanted["main"]["batch_size"],
        "lease_s": seconds(wanted["main"]["lease_h"]),
        "seed": wanted.get("seed", 0),
    }


def _begin(change: CampaignChange, path: str, wanted: Mapping[str, Any]) -> None:
    language, settings = change.names.languages[wanted["tag"]], settings_for(change, wanted)
    pilot = wanted["pilot"]
    owned: dict[str, Any] = {name: settings[name] for name in ("collection", "captioners")}
    take_over(project=change.project, **owned, **change.who)
    add_languages(
        project=change.project,
        languages=[NewRound(language, wanted["main"]["replication"])],
        beginning=LanguageBeginning(pilot_images=pilot["images"], why_no_pilot=pilot["skip_reason"]),
        **change.who,
        **settings,
    )
    text = _("%(language)s, images of %(collection)s")
    change.added(path, text % {"language": language.name, "collection": settings["collection"]})


def _check_pilot(
    change: CampaignChange, path: str, wanted: Mapping[str, Any], covered: dict[tuple[str, ...], int]
) -> None:
    key = (wanted["collection"], *wanted["captioners"])
    if key not in covered:
        settings = settings_for(change, wanted)
        covered[key] = coverage_of(settings["collection"], settings["captioners"]).by_any
    if not wanted["pilot"]["skip_reason"] and wanted["pilot"]["images"] > covered[key]:
        text = ngettext(
            "%(path)s: %(wanted)d, but only %(number)d image has an English caption by these models.",
            "%(path)s: %(wanted)d, but only %(number)d images have an English caption by these models.",
            covered[key],
        )
        values = {"path": f"{path}.pilot.images", "wanted": wanted["pilot"]["images"], "number": covered[key]}
        raise CampaignFileError([text % values])


def _compare(
    change: CampaignChange, path: str, wanted: Mapping[str, Any], rounds: Mapping[str, Round], *, is_new: bool
) -> None:
    if not is_new:
        before = language_of(rounds)
        why = _("what a language began with stays. Add it to another project, or change the file.")
        change.compare(path, {name: before[name] for name in FIXED}, wanted, fixed=dict.fromkeys(FIXED, why))
    for table in ROUND_TABLES:
        if round := rounds.get(table):
            steps = list(change.steps)
            _compare_round(change, f"{path}.{table}", wanted[table], round, table)
            if is_new:
                # What a new language begins with is one step.
                change.steps = steps


def _compare_round(change: CampaignChange, path: str, wanted: Mapping[str, Any], round: Round, table: str) -> None:
    before = round_of(round, table)
    fixed = {"skip_reason": _("skip pilots on the page of the language.")}
    if before.get("skip_reason"):
        before = {"skip_reason": before["skip_reason"]}
    if round.state != RoundState.PLANNED:
        fixed |= dict.fromkeys(("images", "captions"), _("the round has been opened."))
    differing = change.compare(path, before, wanted, fixed=fixed)
    if differing:
        changes = {_NAMES[name]: wanted[name] for name in differing}
        if "lease_s" in changes:
            changes["lease_s"] = seconds(changes["lease_s"])
        if "sample_size" in changes:
            changes["sample_size"] = None if changes["sample_size"] == ALL else changes["sample_size"]
        settings, _why_not = changed_settings(round, changes)
        change_round(round=round, settings=settings, **change.who)


_NAMES = {
    "replication": "replication",
    "batch_size": "batch_size",
    "lease_h": "lease_s",
    "qualified_only": "needs_qualification",
    "images": "sample_size",
    "captions": "sample_size",
}
