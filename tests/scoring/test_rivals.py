"""What happens to scores at the same moment: whoever comes second waits, and nothing is lost or left behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any

import pytest
from django.db import connections

from core.jobs.models import OPEN_STATES
from research.scoring.models import Pass, Reference, ReferenceSet, Score, Scoring
from research.scoring.services import references as services
from research.scoring.services import scoring_passes
from research.scoring.services.references import drop_references, put_references
from research.scoring.services.scorings import ask_again, delete_scoring
from tests.factories import NOW
from tests.scoring.scored import make_references, make_scoring, make_scorings, run

WAITED_S, LONGEST_S = 0.5, 30


class Rival:
    """Somebody else, with a connection of their own, who begins when they are called and may have to wait."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
        self.error: BaseException | None = None
        self.thread = Thread(target=self._run)

    def begin(self) -> None:
        self.thread.start()
        self.thread.join(WAITED_S)

    def end(self) -> None:
        self.thread.join(LONGEST_S)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self.act()
        except BaseException as error:  # raised in the test's own thread
            self.error = error
        finally:
            connections.close_all()


def at_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], Any]) -> Rival:
    """A rival who begins just before `owner.name` is called for the first time."""
    original, rival = getattr(owner, name), Rival(act)

    def called(*arguments: Any, **about: Any) -> Any:
        if rival.thread.ident is None:
            rival.begin()
        return original(*arguments, **about)

    monkeypatch.setattr(owner, name, called)
    return rival


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_metric_that_is_added_while_the_pass_ends_is_computed_by_the_next(monkeypatch):
    scoring = make_scoring(metrics=["bleu"])
    more = partial(make_scorings, scoring.references, [scoring.model], metrics=["rouge-l"])
    rival = at_once(monkeypatch, scoring_passes, "_finish", more)

    run(scoring)
    rival.end()

    assert scoring.passes.filter(state__in=OPEN_STATES).count() == 1
    assert "rouge-l" in set(run(scoring).scores.values_list("metric", flat=True))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("owner", "moment"), [(scoring_passes, "pack_integers"), (Score.objects, "bulk_create")])
def test_a_scoring_can_be_removed_while_a_pass_begins_or_keeps_a_metric(monkeypatch, owner, moment):
    scoring = make_scoring(metrics=["bleu"])
    rival = at_once(monkeypatch, owner, moment, lambda: delete_scoring(scoring=scoring))

    scoring_passes.run_pass(pass_id=scoring.passes.get().pk, clock=lambda: NOW)
    rival.end()

    assert [kind.objects.count() for kind in (Scoring, Pass, Score)] == [0, 0, 0]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_references_can_be_removed_while_captions_are_put_in(monkeypatch):
    references = make_references()
    image = references.collection.entries.first().image_id
    rival = at_once(monkeypatch, services, "insert_rows", lambda: drop_references(reference_set=references))

    put_references(reference_set=references, captions={image: ["another"]}, now=NOW)
    rival.end()

    assert [kind.objects.count() for kind in (ReferenceSet, Reference)] == [0, 0]


@pytest.mark.django_db
def test_what_was_removed_meanwhile_is_not_asked_for_again_and_is_removed_without_a_word():
    scoring = make_scoring()
    Scoring.objects.get().delete()
    assert ask_again(scoring=scoring, now=NOW) is None
    delete_scoring(scoring=scoring)
    references = scoring.references
    ReferenceSet.objects.get().delete()
    drop_references(reference_set=references)
