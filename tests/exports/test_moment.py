"""A file is of one moment, however long it takes and whatever people change meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from annotation.models import Caption, CaptionState
from annotation.selectors.caption_rows import CollectionImages, counted_by_image
from gapgame.models import Attempt, Turn
from office.exports.selectors.tables import ExportTable, ExportWish, table_of
from office.exports.services import exports
from sxs_eval.models import Judgement
from tests.annotation.released import Campaign
from tests.concurrency import together
from tests.exported import LATER
from tests.factories import make_comparison, make_player, make_rater, make_season
from tests.gapgame.seasons import close, play
from tests.sxs_eval.judged import judge_all, keys_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


def rows_with_a_change(change: Callable[[], object]) -> Callable[[ExportWish], ExportTable]:
    """The table, of which somebody else changes something once its first row was read."""

    def changed(wish: ExportWish) -> ExportTable:
        table = table_of(wish)

        def rows() -> Iterator[Sequence[Any]]:
            remaining = iter(table.rows)
            yield next(remaining)
            together(lambda _: change(), [None])
            yield from remaining

        return ExportTable(table.columns, rows())

    return changed


def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "one_moment", nullcontext)
    monkeypatch.setattr("office.exports.formats.images.one_moment", nullcontext)


def after_the_first_image(change: Callable[[], object]) -> Callable[..., Iterator[CollectionImages]]:
    """The captions of each image, of which somebody else changes something once those of the first were read."""

    def changed(*arguments: Any, **options: Any) -> Iterator[CollectionImages]:
        remaining = counted_by_image(*arguments, **options)
        yield next(remaining)
        together(lambda _: change(), [None])
        yield from remaining

    return changed


@pytest.mark.parametrize("is_guarded", [True, False])
@pytest.mark.parametrize("format", ["csv", "xm3600", "coco", "webdataset", "huggingface-images"])
def test_all_captions_of_somebody_who_is_excluded_meanwhile_are_in_a_file_or_none(
    monkeypatch, media, format, is_guarded
):
    campaign = Campaign()
    excluded = Caption.objects.filter(author=campaign.people["ann"])
    monkeypatch.setattr("annotation.formats.captions.IMAGES_AT_ONCE", 1)
    change = after_the_first_image(lambda: excluded.update(state=CaptionState.EXCLUDED))
    wish = ExportWish(campaign.project, "captions", format, LATER, languages=["de"])
    before = b"".join(exports.export(wish))
    monkeypatch.setattr("annotation.formats.captions.counted_by_image", change)
    if not is_guarded:
        unguarded(monkeypatch)

    assert (b"".join(exports.export(wish)) == before) is is_guarded
    assert not excluded.exclude(state=CaptionState.EXCLUDED).exists()


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_judgement_that_is_changed_meanwhile_is_as_it_was(monkeypatch, is_guarded):
    comparison = make_comparison(images=2, replication=1)
    judge_all(comparison, make_rater(comparison), dict.fromkeys(keys_of(comparison), 1))
    monkeypatch.setattr("sxs_eval.formats.judgement_export.IMAGES_AT_ONCE", 1)
    change = rows_with_a_change(lambda: Judgement.objects.update(comment="changed"))
    monkeypatch.setattr(exports, "table_of", change)
    if not is_guarded:
        unguarded(monkeypatch)

    wish = ExportWish(comparison.project, "judgements", "jsonl", LATER)
    lines = [json.loads(line) for line in b"".join(exports.export(wish)).splitlines()]

    assert [line["comment"] for line in lines] == ["", "" if is_guarded else "changed"]


@pytest.mark.parametrize("is_guarded", [True, False])
def test_what_is_changed_while_a_file_is_written_is_not_in_it(monkeypatch, is_guarded):
    season = make_season(batch_size=10)
    player = make_player(season, "ann")
    for item in season.item_set.items.all()[:2]:
        play(player, item=item, guesses=(item.word,))
    season = close(season)
    last = Turn.objects.order_by("batch").last()
    monkeypatch.setattr("gapgame.selectors.turns.TURNS_AT_ONCE", 1)
    of_last = Attempt.objects.filter(turn=last)
    monkeypatch.setattr(exports, "table_of", rows_with_a_change(lambda: of_last.update(guess="changed")))
    if not is_guarded:
        unguarded(monkeypatch)

    wish = ExportWish(season.project, "turns", "jsonl", LATER, season=season.slug)
    lines = [json.loads(line) for line in b"".join(exports.export(wish)).splitlines()]

    assert (lines[-1]["attempts"][0]["guess"] == "changed") is not is_guarded
    assert of_last.get().guess == "changed"
