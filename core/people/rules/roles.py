"""What a person may do, from roles and levels by their stored names."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _

MANAGER, ANNOTATOR, RATER, PLAYER, RESEARCHER = "manager", "annotator", "rater", "player", "researcher"
OVERSEERS = frozenset({MANAGER, RESEARCHER})
JUDGES = frozenset({ANNOTATOR, RATER})


# They must not see what the project's overseers see: others' answers, the models' captions, the words of the game.
BLIND = JUDGES | {PLAYER}


# Their answers are collected, so they agree to the consent text first.
CONTRIBUTORS = frozenset({ANNOTATOR, RATER, PLAYER})
WRITING_LEVELS = frozenset({"native", "fluent"})


def conflicting_roles(roles: Collection[str]) -> str | None:
    """Return why nobody may have all of `roles` in one project, as a sentence; None if they are compatible."""
    if OVERSEERS.isdisjoint(roles) or BLIND.isdisjoint(roles):
        return None
    return _(
        "Managers and researchers see the captions of a project and the words of its game, so their answers "
        "would not be independent. They cannot also be annotators, raters or players of it. Choose another "
        "person or another project."
    )


def qualifies_to_write(*, reads_english: bool, level: str | None) -> bool:
    """Return whether somebody may write captions in a language: they read English, and are native or fluent in it."""
    return reads_english and qualifies_to_judge(level=level)


def qualifies_to_judge(*, level: str | None) -> bool:
    """Return whether somebody may compare captions in a language: they are native or fluent in it."""
    return level in WRITING_LEVELS


def needs_consent(role: str) -> bool:
    return role in CONTRIBUTORS


def home_of(roles: Collection[str], *, may_start_projects: bool) -> str | None:
    """Return the name of the start page of somebody with `roles`, over all projects; None if there is none yet."""
    if MANAGER in roles or may_start_projects:
        return "annotation:project-list"
    homes = {
        ANNOTATOR: "annotation:work-show",
        RATER: "sxs_eval:work-show",
        RESEARCHER: "sxs_eval:evaluation-list",
        PLAYER: "gapgame:game-home",
    }
    return next((home for role, home in homes.items() if role in roles), None)
