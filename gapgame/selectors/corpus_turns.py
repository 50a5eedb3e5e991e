"""What players found of the words of a corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Max, Q

from corpora.rules.played import PlayedSense
from gapgame.models import CorpusItemSet, Mark, Outcome, PlayerStatus, Turn
from gapgame.rules.play import MICRO

FOUND = (Outcome.ATTEMPT_1, Outcome.ATTEMPT_2, Outcome.ATTEMPT_3)


def played_senses(build_id: int, lemma: str) -> list[PlayedSense]:
    """Count finished turns on an English noun of a corpus, by its sense.

    As in the game's report, skipped turns, turns with a mark of scripted play, and those of players who were set aside
    or withdrew do not count. A turn counts for no sense where several were left.
    """
    by_sense: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for item_set, lemmas in CorpusItemSet.objects.filter(build=build_id).values_list("item_set", "lemmas"):
        keys = [key for key, its_lemma in lemmas.items() if its_lemma == lemma]
        turns = (
            Turn.objects.filter(item__item_set=item_set, item__key__in=keys)
            .filter(outcome__in=(*FOUND, Outcome.FAILED))
            .filter(Q(marks=None) | Q(player__status=PlayerStatus.CLEARED))
            .exclude(player__status__in=(PlayerStatus.SET_ASIDE, PlayerStatus.WITHDRAWN))
            .exclude(player__in=_marked_as_a_whole(item_set))
            .annotate(best=Max("attempts__similarity"))
        )
        for sense, outcome, best in turns.values_list("item__sense", "outcome", "best"):
            by_sense[sense[0] if len(sense) == 1 else ""].append((outcome, (best or 0) / MICRO))
    return [_counted(synset, turns) for synset, turns in sorted(by_sense.items())]


def _marked_as_a_whole(item_set: int) -> Sequence[int]:
    marks = Mark.objects.filter(turn=None, player__season__item_set=item_set)
    marks = marks.exclude(player__status=PlayerStatus.CLEARED)
    return list(marks.values_list("player", flat=True))


def _counted(synset: str, turns: Sequence[tuple[str, float]]) -> PlayedSense:
    outcomes = [outcome for outcome, _best in turns]
    found_1, found_2, found_3, failed = (outcomes.count(outcome) for outcome in (*FOUND, Outcome.FAILED))
    similarity = sum(best for _outcome, best in turns) / len(turns)
    return PlayedSense(synset, len(turns), found_1, found_2, found_3, failed, similarity)
