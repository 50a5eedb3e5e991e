"""What a round waits for, at which round a language is, which one an action is about, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.rules.bulk_actions import consequence, of_batches
from annotation.rules.campaign import CampaignStep, RoundAction, current_round, in_order, round_to_change, why_not
from annotation.rules.waiting import STANDSTILL_DAYS, RoundFacts, WaitingPage, WaitsFor, waiting

YOU, PEOPLE, NOTHING = WaitsFor


def language(
    pilot: str, rating: str | None, main: str = "planned", verification: str | None = "planned"
) -> list[CampaignStep]:
    """The steps of a language with one pilot, in the order in which they are made."""
    steps = [CampaignStep("main", "main", 1, main), CampaignStep("pilot", "pilot", 1, pilot)]
    if rating:
        steps.append(CampaignStep("rating", "verification", 1, rating, "pilot"))
    if verification:
        steps.append(CampaignStep("verification", "verification", 2, verification, "main"))
    return steps


def one(steps: list[CampaignStep], key: str) -> CampaignStep:
    return next(step for step in steps if step.key == key)


def waits(steps: list[CampaignStep], key: str = "", **facts: Any) -> tuple[WaitsFor, str]:
    step = one(steps, key) if key else current_round(steps)
    found = waiting(step, steps, RoundFacts(**({"wanted": 10, "done": 4, "free": 6, "able": 3} | facts)))
    return found.who, found.what


WAY = [
    (language("planned", "planned"), "pilot", (YOU, "Open pilot 1")),
    (language("open", "planned"), "pilot", (PEOPLE, "6 captions missing")),
    (language("closed", "planned"), "pilot", (YOU, "Open the rating of pilot 1")),
    (language("closed", None), "pilot", (YOU, "Plan a rating of pilot 1")),
    (language("closed", "open"), "rating", (PEOPLE, "6 ratings missing")),
    (language("closed", "closed"), "pilot", (YOU, "Decide pilot 1")),
    (language("closed", "skipped"), "pilot", (YOU, "Decide pilot 1")),
    (language("accepted", "accepted"), "main", (YOU, "Open the main round")),
    (language("rejected", "accepted"), "main", (YOU, "Plan pilot 2")),
    (language("skipped", None), "main", (YOU, "Open the main round")),
    (language("accepted", "accepted", "open"), "main", (PEOPLE, "6 captions missing")),
    (language("accepted", "accepted", "closed"), "main", (YOU, "Accept the main round")),
    (language("accepted", "accepted", "accepted"), "verification", (YOU, "Open the verification")),
    (language("accepted", "accepted", "accepted", "open"), "verification", (PEOPLE, "6 ratings missing")),
    (language("accepted", "accepted", "accepted", "closed"), "verification", (YOU, "Accept the verification")),
]


class TestWhereALanguageStands:
    @pytest.mark.parametrize(("steps", "key", "expected"), WAY)
    def test_it_is_at_one_round_which_says_what_has_to_happen(self, steps, key, expected):
        assert current_round(steps).key == key
        assert waits(steps) == expected

    def test_after_the_last_decision_it_stays_at_what_was_accepted_last(self):
        steps = language("accepted", "accepted", "accepted", "accepted")
        assert (current_round(steps).key, waits(steps, done=10)) == ("verification", (NOTHING, "Everything is decided"))
        steps = language("accepted", "accepted", "accepted", "skipped")
        assert (current_round(steps).key, waits(steps, done=10)) == ("main", (NOTHING, "Everything is decided"))

    def test_rounds_are_in_the_order_of_the_campaign(self):
        steps = [
            *language("rejected", "accepted"),
            CampaignStep("second", "pilot", 2, "open"),
            CampaignStep("r2", "verification", 3, "planned", "second"),
        ]
        assert [step.key for step in in_order(steps)] == ["pilot", "rating", "second", "r2", "main", "verification"]

    @pytest.mark.parametrize(
        ("action", "steps", "key"),
        [
            (RoundAction.OPEN, language("planned", "planned"), "pilot"),
            (RoundAction.OPEN, language("closed", "planned"), "rating"),
            (RoundAction.OPEN, language("accepted", "accepted", "accepted"), "verification"),
            (RoundAction.CLOSE, language("closed", "open"), "rating"),
            (RoundAction.ACCEPT, language("closed", "closed"), "pilot"),
            (RoundAction.ACCEPT, language("closed", "planned"), None),
            (RoundAction.REOPEN, language("closed", "closed"), "rating"),
            (RoundAction.REOPEN, language("accepted", "accepted", "accepted", "closed"), "verification"),
        ],
    )
    def test_an_action_on_a_language_is_about_the_one_round_that_allows_it(self, action, steps, key):
        found = round_to_change(action, steps)
        assert (found.key if found else None) == key

    def test_the_whole_campaign_is_walked_by_taking_what_each_action_is_about(self):
        """Open, close and accept, again and again: every step that is taken is allowed, and the last ends it."""
        steps, taken = language("planned", "planned"), []
        states = {RoundAction.OPEN: "open", RoundAction.CLOSE: "closed", RoundAction.ACCEPT: "accepted"}
        for action in (
            RoundAction.OPEN, RoundAction.CLOSE, RoundAction.OPEN, RoundAction.CLOSE, RoundAction.ACCEPT,
            RoundAction.OPEN, RoundAction.CLOSE, RoundAction.ACCEPT,
            RoundAction.OPEN, RoundAction.CLOSE, RoundAction.ACCEPT,
        ):  # fmt: skip
            step = round_to_change(action, steps)
            assert step is not None
            assert why_not(action, step, steps) is None
            taken.append(step.key)
            # A pilot's rating is decided with it.
            also = {"rating"} if (step.key, action) == ("pilot", RoundAction.ACCEPT) else set()
            steps = [
                CampaignStep(each.key, each.kind, each.number, states[action], each.verifies)
                if each.key in {step.key} | also
                else each
                for each in steps
            ]
        assert taken == ["pilot", "pilot", "rating", "rating", "pilot", *["main"] * 3, *["verification"] * 3]
        assert {step.state for step in steps} == {"accepted"}


class TestAnOpenRound:
    OPEN = language("open", "planned")

    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({"awaits_tasks": True, "wanted": 0}, (NOTHING, "Being set up")),
            ({"wanted": 0, "done": 0}, (YOU, "No English captions")),
            ({"done": 10}, (YOU, "Close it: all is submitted")),
            ({"is_paused": True}, (YOU, "Resume it: paused")),
            ({"able": 0}, (YOU, "Nobody can write")),
            ({"able": 0, "invited": 5}, (PEOPLE, "5 invited, nobody joined")),
            ({"able": 0, "free": 0, "assigned": 6}, (PEOPLE, "6 captions missing")),
            ({"idle_days": STANDSTILL_DAYS}, (YOU, "Stands still for 3 days")),
            ({"idle_days": STANDSTILL_DAYS - 1}, (PEOPLE, "6 captions missing")),
            ({"idle_days": 30, "assigned": 1}, (PEOPLE, "6 captions missing")),
            ({"done": 9, "free": 0, "to_correct": 1}, (PEOPLE, "1 caption to rewrite")),
        ],
    )
    def test_it_waits_for_what_is_in_the_way(self, facts, expected):
        assert waits(self.OPEN, **facts) == expected

    def test_a_rating_round_speaks_of_reviewers(self):
        steps = language("closed", "open")
        assert waits(steps, able=0) == (YOU, "Nobody can rate")
        assert waits(steps, wanted=0, done=0) == (YOU, "Nothing to rate")

    def test_it_leads_to_where_it_is_done(self):
        step = one(self.OPEN, "pilot")
        assert waiting(step, self.OPEN, RoundFacts(wanted=2, free=2)).where == WaitingPage.INVITE
        assert waiting(step, self.OPEN, RoundFacts(wanted=2, free=2, is_paused=True)).where == WaitingPage.SETTINGS


class TestOtherRounds:
    def test_a_pilot_is_not_decided_while_batches_are_unfinished(self):
        assert waits(language("closed", "closed"), batches=2) == (PEOPLE, "2 batches unfinished")

    def test_those_that_come_later_say_after_what(self):
        steps = language("open", "planned")
        assert waits(steps, "rating") == (NOTHING, "After pilot 1")
        assert waits(steps, "main") == (NOTHING, "After pilot 1")
        assert waits(steps, "verification") == (NOTHING, "After the main round")

    def test_a_rating_that_is_closed_is_decided_with_its_pilot(self):
        assert waits(language("closed", "closed"), "rating") == (NOTHING, "Decided with pilot 1")

    def test_captions_that_an_accepted_main_round_lost_are_asked_for(self):
        steps = language("accepted", "accepted", "accepted", "accepted")
        assert waits(steps, "main") == (YOU, "Reopen: 6 captions missing")


class TestConsequences:
    def test_every_action_that_is_allowed_anywhere_says_what_follows(self):
        said = {
            (action, step.kind)
            for steps, _key, _expected in WAY
            for step in steps
            for action in RoundAction
            if why_not(action, step, steps) is None and consequence(action, step, steps)
        }
        allowed = {
            (action, step.kind)
            for steps, _key, _expected in WAY
            for step in steps
            for action in RoundAction
            if why_not(action, step, steps) is None
        }
        assert said == allowed
        assert {action for action, _kind in said} == set(RoundAction)

    def test_what_cannot_be_undone_says_so(self):
        steps = language("closed", "closed")
        for action in (RoundAction.ACCEPT, RoundAction.REJECT):
            assert consequence(action, one(steps, "pilot"), steps).endswith("You cannot undo this.")
        steps = language("accepted", "accepted", "closed")
        assert "undo" not in consequence(RoundAction.ACCEPT, one(steps, "main"), steps)

    def test_unfinished_batches_are_counted(self):
        assert [of_batches(number) for number in (0, 1)] == ["", "1 batch is unfinished."]
