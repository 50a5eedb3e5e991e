"""Private details before a release: what is found in which scripts, what is not, and what managers decide about it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Caption, CaptionGloss, CaptionState, DetailDecision, Round, RoundState
from annotation.rules.private_details import WORTH_A_SCAN, private_details
from annotation.selectors.details import details_page, undecided_for_release
from annotation.services import annotator_status
from annotation.services.details import DetailChoice, DetailDecisionError, decide
from annotation.services.tallies import recount_all
from core.allocation.models import Assignment, AssignmentState
from core.people.models import AuditEntry
from research.inference.models import Translator
from tests.annotation.submitting import submit_captions
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_round
from tests.kept import kept

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)

FOUND = {
    "Schild mit eva.lang@post.example am Zaun": "email: eva.lang@post.example",
    "Un mur avec www.atelier-dupont.fr en rouge": "link: www.atelier-dupont.fr",
    "สติกเกอร์ karoseribaktruk.com บนรถ": "link: karoseribaktruk.com",
    "Kahvila, jonka tili on @kahvila_oulu": "handle: @kahvila_oulu",
    "A van with 0171 234-5678 on its door": "number: 0171 234-5678",
    "Лист с номером +7 (495) 123-45-67": "number: +7 (495) 123-45-67",
    "墙上写着电话13812345678": "number: 13812345678",
    "لافتة عليها ٠١٢ ٣٤٥ ٦٧٨٩": "number: ٠١٢ ٣٤٥ ٦٧٨٩",
    "تابلویی با ۰۹۱۲۳۴۵۶۷۸۹": "number: ۰۹۱۲۳۴۵۶۷۸۹",
    "पोस्टर पर ९८७६५ ४३२१० लिखा है": "number: ९८७६५ ४३२१०",
    "পোস্টারে ০১৭১২-৩৪৫৬৭৮ লেখা": "number: ০১৭১২-৩৪৫৬৭৮",
    "ป้ายเขียนว่า ๐๘๑-๒๓๔-๕๖๗๘": "number: ๐๘๑-๒๓๔-๕๖๗๘",
    "Ein Auto mit dem Kennzeichen B-MW 1234": "plate: B-MW 1234",
    "รถรุ่นเก่าทะเบียน EJ 984MH": "plate: EJ 984MH",
    "Машина с номером А123ВС77": "plate: А123ВС77",
}
HARMLESS = [
    "A calendar of 12.10.2005 and 2013-11-14, at 11:18",
    "Ein Denkmal für den Krieg 1914–1918",
    "Ein Scheck über 1.234.567 Euro",
    "Boeing 747-400 of 90 m, gate A12",
    "Three players, 10, 11 and 12, in the 1980s",
    "一架波音747在跑道上",
    "John Lennon plays in New York. He smiles.",
]


@pytest.mark.parametrize("text", FOUND)
def test_a_detail_is_found_in_every_script_and_given_as_it_stands(text: str) -> None:
    assert [f"{found.kind}: {found.text}" for found in private_details(text)] == [FOUND[text]]
    assert re.search(WORTH_A_SCAN, text, re.IGNORECASE)


@pytest.mark.parametrize("text", HARMLESS)
def test_dates_prices_models_and_names_are_not_found(text: str) -> None:
    assert private_details(text) == []


def test_several_details_are_given_in_their_order() -> None:
    text = "Truck of KARO.COM, call ٠٨١٣١ ٥٥٩٩ ٣٢٣, plate AB 12 CDE"
    assert [found.text for found in private_details(text)] == ["KARO.COM", "٠٨١٣١ ٥٥٩٩ ٣٢٣", "AB 12 CDE"]


@kept
def round() -> Round:
    """An accepted main round with three captions by ann: one with a telephone number, one with a year."""
    made = make_round(images=3, replication=1, batch_size=3)
    submit_captions(made, make_annotator(made, "ann"))
    one, other, _third = Caption.objects.order_by("pk")
    Caption.objects.filter(pk=one.pk).update(text="पोस्टर पर ९८७६५ ४३२१० लिखा है")
    Caption.objects.filter(pk=other.pk).update(text="Ein Plakat von 1998")
    Round.objects.filter(pk=made.pk).update(state=RoundState.ACCEPTED, decided_at=NOW)
    made.refresh_from_db()
    return made


@pytest.fixture
def caption(round: Round) -> Caption:
    return Caption.objects.order_by("pk")[0]


@pytest.fixture
def manager(round: Round) -> Client:
    return client_of(round.project.created_by)


def undecided(round: Round) -> list[Caption]:
    return [row.caption for row in details_page(round.project)["undecided"]]


def choose(caption: Caption, choice: DetailChoice) -> None:
    decide(caption_id=caption.pk, choice=choice, by=caption.round.project.created_by, now=LATER)


def test_the_form_of_a_release_warns_until_somebody_has_decided(
    round: Round, caption: Caption, manager: Client
) -> None:
    form = reverse("annotation:release-create", args=[round.project.slug])
    listed = reverse("annotation:details-show", args=[round.project.slug])
    assert listed in manager.get(form).content.decode()
    page = manager.get(listed).content.decode()
    assert "<bdi>९८७६५ ४३२१०</bdi>" in page
    assert 'value="leave-out"' in page
    answer = manager.post(
        reverse("annotation:details-decide", args=[round.project.slug, caption.pk]), {"choice": "keep"}
    )
    assert answer["Location"] == listed
    assert undecided_for_release(round.project) == 0
    assert "Newest decisions" in manager.get(listed).content.decode()
    assert listed not in manager.get(form).content.decode()


def test_a_caption_that_is_left_as_it_is_is_listed_again_once_its_text_is_another(
    round: Round, caption: Caption
) -> None:
    choose(caption, DetailChoice.KEEP)
    assert undecided(round) == []
    Caption.objects.filter(pk=caption.pk).update(text="Ruf 030 1234567 an")
    assert undecided(round) == [caption]


def test_a_caption_that_is_left_out_counts_no_more_until_that_is_undone(round: Round, caption: Caption) -> None:
    work = Assignment.objects.get(item__caption=caption)
    states = []
    for choice in (DetailChoice.LEAVE_OUT, DetailChoice.LEAVE_OUT, DetailChoice.UNDO):
        choose(caption, choice)
        caption.refresh_from_db()
        work.refresh_from_db()
        states.append((caption.state, work.state, Caption.objects.in_results().count(), len(undecided(round))))
        assert list(recount_all(round.project)) == []
    out = (CaptionState.EXCLUDED, AssignmentState.REJECTED, 2, 0)
    assert states == [out, out, (CaptionState.COUNTED, AssignmentState.DONE, 3, 1)]
    actions = AuditEntry.objects.filter(action__startswith="caption.").values_list("action", flat=True)
    assert list(actions.order_by("pk")) == ["caption.left-out", "caption.counted-again"]


def test_a_caption_stays_left_out_when_the_exclusion_of_its_author_is_undone(round: Round, caption: Caption) -> None:
    assert caption.author
    by = round.project.created_by
    choose(caption, DetailChoice.LEAVE_OUT)
    about: dict[str, Any] = {"project": round.project, "person": caption.author, "language": round.language}
    exclusion = annotator_status.exclude(reason="Copies", by=by, now=LATER, **about)
    with pytest.raises(DetailDecisionError, match="excluded"):
        choose(caption, DetailChoice.UNDO)
    annotator_status.undo_exclusion(exclusion=exclusion, by=by, now=LATER)
    assert Caption.objects.in_results().count() == 2
    choose(caption, DetailChoice.UNDO)
    assert Caption.objects.in_results().count() == 3
    assert not DetailDecision.objects.exists()


def test_before_its_round_is_accepted_a_caption_is_returned_to_its_author(
    round: Round, caption: Caption, manager: Client
) -> None:
    Round.objects.filter(pk=round.pk).update(state=RoundState.CLOSED, decided_at=None)
    with pytest.raises(DetailDecisionError, match="Return the caption"):
        choose(caption, DetailChoice.LEAVE_OUT)
    page = manager.get(reverse("annotation:details-show", args=[round.project.slug])).content.decode()
    assert f"#caption-{caption.pk}" in page
    assert 'value="leave-out"' not in page
    assert undecided_for_release(round.project) == 0


def test_captions_are_listed_with_their_translation_into_english(
    round: Round, caption: Caption, manager: Client
) -> None:
    translator = Translator.objects.create(name="NLLB", backend="fake", source="x", project=round.project)
    CaptionGloss.objects.create(
        caption=caption, translator=translator, version="1", text="The poster says a number", made_at=NOW
    )
    for _state in ("undecided", "decided"):
        page = manager.get(reverse("annotation:details-show", args=[round.project.slug])).content.decode()
        assert page.count("The poster says a number") == 1
        choose(caption, DetailChoice.KEEP)


def test_programs_list_and_decide_as_the_page_does(round: Round, caption: Caption, manager: Client) -> None:
    listed = manager.get(reverse("api:details-list", args=[round.project.slug])).json()
    assert (listed["count"], listed["results"][0]["details"]) == (1, [{"kind": "number", "text": "९८७६५ ४३२१०"}])
    address = reverse("api:details-decide", args=[round.project.slug, caption.pk])
    assert manager.post(address, {"choice": "leave-out"}, content_type="application/json").status_code == 200
    assert manager.get(reverse("api:details-list", args=[round.project.slug])).json()["count"] == 0
