from datetime import timedelta
from typing import Any

import pytest

from core.people.rules.invitations import InvitationState, invitation_state
from core.people.rules.roles import conflicting_roles, home_of, qualifies_to_write
from tests.factories import NOW


@pytest.mark.parametrize("overseer", ["manager", "researcher"])
@pytest.mark.parametrize("judge", ["annotator", "rater", "player"])
def test_who_oversees_a_project_may_not_judge_or_play_in_it_and_is_told_why(overseer: str, judge: str):
    assert "independent" in (conflicting_roles([overseer, judge]) or "")


@pytest.mark.parametrize("roles", [["manager", "researcher"], ["annotator", "rater"], ["annotator", "player"], []])
def test_other_roles_go_together(roles: list[str]):
    assert conflicting_roles(roles) is None


@pytest.mark.parametrize(
    ("reads_english", "level", "qualifies"),
    [
        (True, "native", True),
        (True, "fluent", True),
        (True, "advanced", False),
        (True, None, False),
        (False, "native", False),
    ],
)
def test_captions_are_written_by_native_or_fluent_speakers_who_read_english(
    reads_english: bool, level: str | None, qualifies: bool
):
    assert qualifies_to_write(reads_english=reads_english, level=level) is qualifies


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({}, InvitationState.OPEN),
        ({"places_taken": 2}, InvitationState.USED_UP),
        ({"expires_at": NOW}, InvitationState.EXPIRED),
        ({"revoked_at": NOW}, InvitationState.REVOKED),
        ({"revoked_at": NOW, "places_taken": 2, "expires_at": NOW}, InvitationState.REVOKED),
    ],
)
def test_an_invitation_is_open_until_it_is_used_up_expired_or_revoked(change: dict[str, Any], state: InvitationState):
    values: dict[str, Any] = {"places": 2, "places_taken": 1, "expires_at": NOW + timedelta(days=1), "revoked_at": None}
    assert invitation_state(**(values | change), now=NOW) is state


@pytest.mark.parametrize(
    ("roles", "may_start", "home"),
    [
        ({"manager", "annotator"}, False, "annotation:project-list"),
        ({"annotator"}, False, "annotation:work-show"),
        ({"annotator", "rater", "player"}, False, "annotation:work-show"),
        ({"rater", "researcher"}, False, "sxs_eval:work-show"),
        ({"researcher"}, False, "sxs_eval:evaluation-list"),
        (set(), True, "annotation:project-list"),
        ({"player"}, False, "gapgame:game-home"),
        (set(), False, None),
    ],
)
def test_everybody_begins_where_their_work_is(roles: set[str], may_start: bool, home: str | None):
    assert home_of(roles, may_start_projects=may_start) == home
