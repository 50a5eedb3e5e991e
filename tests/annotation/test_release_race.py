"""What counts is changed while a release is made, and as much counts as before: its tables still agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from annotation.models import Caption, CaptionState, Verdict
from annotation.services import release_files, tallies
from annotation.services.release_files import write_release
from core.allocation.models import Assignment, AssignmentState
from tests.annotation.released import Campaign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

Change = tuple[Callable[[], object], Callable[[], object]]


def another_caption(campaign: Campaign) -> Change:
    first, last = Caption.objects.filter(text="Ein Hafen 1"), Caption.objects.filter(text="Ein Hafen 4")

    def swap() -> None:
        first.update(state=CaptionState.COUNTED)
        last.update(state=CaptionState.EXCLUDED)

    return lambda: first.update(state=CaptionState.EXCLUDED), swap


def another_rating(campaign: Campaign) -> Change:
    verdicts = Verdict.objects.filter(batch__round=campaign.verification).order_by("caption__image__sha256", "pk")
    level = verdicts[0].rating
    first, *_, last = (
        Assignment.objects.filter(pk=pk) for pk in verdicts.filter(rating=level).values_list("pk", flat=True)
    )

    def swap() -> None:
        first.update(state=AssignmentState.DONE)
        last.update(state=AssignmentState.REJECTED)

    return lambda: first.update(state=AssignmentState.REJECTED), swap


def another_text(campaign: Campaign) -> Change:
    def write_anew() -> None:
        Caption.objects.filter(text__startswith="Ein Hafen").update(text="Ein Kai")
        tallies.recount(round=campaign.rounds["de"], person=campaign.people["ann"])

    return lambda: None, write_anew


@pytest.mark.parametrize("what", [another_caption, another_rating, another_text])
def test_where_as_much_counts_as_before_the_tables_still_agree(what, campaign: Campaign, tmp_path, monkeypatch):
    prepare, change = what(campaign)
    prepare()
    release = campaign.start()
    beats: list[None] = []

    def beat() -> None:
        beats.append(None)
        if len(beats) == 3:
            change()

    monkeypatch.setattr(release_files, "IMAGES_AT_ONCE", 1)
    for name in ("meanwhile", "afterwards"):
        (tmp_path / name).mkdir()
    changed = write_release(release, tmp_path / "meanwhile", beat=beat)
    assert changed.checksum == write_release(release, tmp_path / "afterwards", beat=lambda: None).checksum
