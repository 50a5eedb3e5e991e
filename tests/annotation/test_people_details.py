"""Names and descriptions of people before a release: what is found in which languages, and only to be looked at."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Caption, Round, RoundState
from annotation.rules.people_details import PEOPLE_KINDS, WORDS, people_details
from annotation.rules.private_details import DetailKind
from annotation.selectors.details import details_page, people_found, undecided_for_release
from annotation.services.details import DetailChoice, decide
from crosslens_metrics.formats.caption_rows import KNOWN_LANGUAGES
from tests.annotation.submitting import submit_captions
from tests.api.seeded import Program
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_round
from tests.kept import kept

FOUND = {
    ("en", "A shop of the baker John O'Neill in York"): ["name: John O'Neill"],
    ("en", "On stage, Mr. Smith waves"): ["name: Mr. Smith"],
    ("nl", "Een brief van Vincent van Gogh"): ["name: Vincent van Gogh"],
    ("de", "Ein Bild von Frau Schmidt im Garten"): ["name: Frau Schmidt"],
    ("ru", "Портрет, на нём Лев Толстой"): ["name: Лев Толстой"],
    ("ja", "田中さんが立っている"): ["name: 田中 さん"],
    ("zh", "王先生在门口"): ["name: 王 先生"],
    ("ar", "صورة الدكتور أحمد في مكتبه"): ["name: الدكتور أحمد"],
    ("ko", "김 씨가 웃고 있다"): [],
    ("hi", "श्रीमती शर्मा बैठी हैं"): ["name: श्रीमती शर्मा"],
    ("en", "A dark-skinned man with a Scar and blue eyes in a wheelchair"): [
        "face: eyes", "mark: scar", "origin: skinned", "disability: wheelchair",
    ],
    ("fi", "Partainen mies, jolla on tatuointi"): ["face: partainen", "mark: tatuointi"],
    ("es", "Una mujer en silla de ruedas"): ["disability: silla de ruedas"],
    ("th", "ชายมีรอยสักบนแขน"): ["mark: รอย สัก"],
    ("te", "గడ్డం ఉన్న వ్యక్తి"): ["face: గడ్డం"],
    ("fa", "مردی سیاه‌پوست با ریش"): ["face: ریش", "origin: سیاه‌پوست"],
}  # fmt: skip
HARMLESS = {
    "en": "A surface of skinny cheese. Two Dogs on a facet",
    "de": "Ein Alter Mann Und Ein Haus am Meer",
    "fi": "Mies, jolla on silmälasit",
    "ko": "날씨가 좋은 날의 아저씨",
    "zh": "一位女士站在门口",
    "ta": "ஒரு வீடு",
}


@pytest.mark.parametrize(("language", "text"), FOUND)
def test_names_and_descriptions_are_found_as_whole_words(language: str, text: str) -> None:
    assert [f"{one.kind}: {one.text}" for one in people_details([text], language)[0]] == FOUND[language, text]


@pytest.mark.parametrize("language", HARMLESS)
def test_parts_of_words_and_capitals_that_say_nothing_are_not_found(language: str) -> None:
    assert people_details([HARMLESS[language]], language) == [[]]


def test_each_language_has_one_line_whose_words_are_all_found() -> None:
    head, *lines = (line.split("\t") for line in WORDS.read_text("utf-8").splitlines())
    assert head == ["language", "titles", *(kind.value for kind in PEOPLE_KINDS[1:])]
    assert [line[0] for line in lines] == sorted(KNOWN_LANGUAGES)
    for tag, _titles, *cells in lines:
        for kind, cell in zip(PEOPLE_KINDS[1:], cells, strict=True):
            words = cell.split(", ")
            assert len(words) == len({*words}), tag
            for word, found in zip(words, people_details([one.strip("*") for one in words], tag), strict=True):
                assert kind in {one.kind for one in found}, (tag, word)


@kept
def round() -> Round:
    made = make_round(images=3, replication=1, batch_size=3)
    submit_captions(made, make_annotator(made, "ann"))
    texts = ("Ein bärtiger Mann mit Narbe, Ruf 030 1234567", "Frau Schmidt im Garten", "Ein Haus")
    for pk, text in zip(Caption.objects.order_by("pk").values_list("pk", flat=True), texts, strict=True):
        Caption.objects.filter(pk=pk).update(text=text)
    Round.objects.filter(pk=made.pk).update(state=RoundState.ACCEPTED, decided_at=NOW)
    made.refresh_from_db()
    return made


@pytest.fixture
def manager(round: Round) -> Client:
    return client_of(round.project.created_by)


@pytest.mark.django_db
def test_they_are_counted_by_kind_apart_from_what_is_to_be_decided(round: Round, manager: Client) -> None:
    found = people_found(round.project)
    numbers = {DetailKind.NAME: 1, DetailKind.FACE: 1, DetailKind.MARK: 1, DetailKind.ORIGIN: 0}
    assert found.by_kind == numbers | {DetailKind.DISABILITY: 0}
    assert len(found.rows) == 2
    assert [row.caption.text for row in people_found(round.project, kind="name").rows] == ["Frau Schmidt im Garten"]
    assert people_found(round.project, language="fr").rows == []
    assert details_page(round.project)["count"] == undecided_for_release(round.project) == 1
    listed = reverse("annotation:details-show", args=[round.project.slug])
    assert "Frau Schmidt" not in manager.get(listed).content.decode()
    page = manager.get(listed, {"kind": "", "language": "de"}).content.decode()
    assert len(re.findall(r'id="(?:people-)?caption-', page)) == len({*re.findall(r'id="[^"]*caption-\d+"', page)}) == 3
    assert "name:" in page
    assert "<bdi>Frau Schmidt</bdi>" in page


@pytest.mark.django_db
def test_a_decision_leads_back_to_the_list_without_the_caption(round: Round, manager: Client) -> None:
    (row,) = people_found(round.project, kind="name").rows
    where = reverse("annotation:details-decide", args=[round.project.slug, row.caption.pk])
    page = manager.get(reverse("annotation:details-show", args=[round.project.slug]), {"kind": "name"})
    assert f'action="{where}?kind=name"' in page.content.decode()
    answer = manager.post(f"{where}?kind=name", {"choice": "keep"})
    assert answer["Location"].endswith("/releases/details/?kind=name")
    assert people_found(round.project, kind="name").rows == []
    Caption.objects.filter(pk=row.caption.pk).update(text="Frau Meier im Garten")
    assert len(people_found(round.project, kind="name").rows) == 1


@pytest.mark.django_db
def test_programs_see_the_same(round: Round) -> None:
    program, where = Program(round.project.created_by), reverse("api:details-people", args=[round.project.slug])
    told = program.get(where, kind="mark").json()
    assert told["by_kind"] == {"name": 1, "face": 1, "mark": 1, "origin": 0, "disability": 0}
    assert [one["details"] for one in told["results"]] == [
        [{"kind": "face", "text": "bärtiger"}, {"kind": "mark", "text": "narbe"}]
    ]
    assert program.get(where, kind="x").status_code == program.get(where, language="tlh").status_code == 422
    decide(caption_id=told["results"][0]["caption"], choice=DetailChoice.KEEP, by=round.project.created_by, now=NOW)
    assert program.get(where, kind="mark").json()["results"] == []
