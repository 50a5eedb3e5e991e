"""What annotators, raters and players do, in WebKit (every browser of an iPhone) and in Firefox.

Chromium has a test for each rule of these pages. Here each is used as a whole: what Chromium forgives, others may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from annotation.models import Caption, CaptionBatch, Round, Stage
from gapgame.models import Turn
from office.practice.models import PracticeKind
from office.recruitment.models import Participant, ParticipantState
from sxs_eval.models import Judgement
from tests.browser import gaming, judging
from tests.browser.annotator import AWAKE, make_images, open_writing
from tests.browser.conftest import Opener
from tests.browser.elsewhere import (
    STATE,
    go_on_to_writing,
    rate,
    sign_in,
    sit_down,
    start_rating,
    wait_for_image,
    written,
)
from tests.browser.windows import ALT, ARROW_DOWN, ARROW_UP, ENTER, ESCAPE, Profile, Window
from tests.factories import make_language, make_player, make_rater, make_round
from tests.practice.making import make_practice
from tests.recruitment.panel import CODES, Panel, make_study

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.long(reason="Chromium goes the same way; what WebKit took otherwise is in test_leaving_screen_1.py"),
]

PHONES = [(390, 664), (360, 640)]
TEXT = "కుర్చీ మీద నిద్రపోతున్న చిన్న నల్ల పిల్లి {number}"


def test_each_caption_is_rated_with_all_levels_in_view_and_choices_are_undone(window: Window, live_server: Any) -> None:
    batch = sit_down(window, live_server.url, images=3)
    window.open(f"{live_server.url}/batches/{batch.pk}/rate/")
    start_rating(window)
    for position, level, size in ((1, 5, PHONES[0]), (2, 1, PHONES[1])):
        window.resize(*size)
        assert window.run("return document.documentElement.scrollWidth <= innerWidth")
        rate(window, position, level)
        parts = ("img", "[data-english]", ".level:first-child", ".level:last-child")
        window.wait_for_view(*(f"#item-{position + 1} {part}" for part in parts))
    rate(window, 3, 4)
    assert list(batch.items.order_by("position").values_list("rating", flat=True)) == [
        "NOT-ENOUGH-INFO",
        "EXCELLENT",
        "BAD",
    ]
    window.click("#undo")
    window.wait_for_text("#item-3 [data-state]", "Undone")
    window.press("u")
    window.wait_for_text("#item-2 [data-state]", "Undone")
    window.run("document.querySelector('#item-2 input').focus({ preventScroll: true })")
    window.press(ARROW_DOWN * 3)
    window.wait_for("return document.activeElement.value === 'BAD'")
    assert window.count("input:checked[type=radio]") == 1
    assert list(batch.items.order_by("position").values_list("rating", flat=True)) == ["NOT-ENOUGH-INFO", "", ""]


def test_an_image_is_enlarged_on_both_screens_and_nothing_is_rated(window: Window, live_server: Any) -> None:
    batch = sit_down(window, live_server.url, images=2)
    window.open(f"{live_server.url}/batches/{batch.pk}/rate/")
    start_rating(window)
    for item, step in (("#item-2", "1"), ("#item-1", "-1")):
        window.click(f"[data-step='{step}']")
        window.click(f"{item} [data-enlarge]")
        window.wait_for(
            "const image = document.querySelector('#zoom img'); return image.complete && image.naturalWidth"
        )
        window.click("#zoom [data-zoom=close]")
        window.wait_for("return !document.querySelector('#zoom').open")
    assert window.count("input:checked[type=radio]") == 0
    open_writing(batch, batch.lease.person)
    window.open(f"{live_server.url}/batches/{batch.pk}/write/1/")
    window.click("#zoom-link")
    window.wait_for("return document.querySelector('#zoom').open")
    window.press(ESCAPE)
    window.wait_for("return !document.querySelector('#zoom').open")


def test_a_whole_batch_is_rated_written_and_submitted_and_the_next_is_taken(window: Window, live_server: Any) -> None:
    size = 4
    batch = sit_down(window, live_server.url, images=size)
    window.open(f"{live_server.url}/batches/{batch.pk}/rate/")
    start_rating(window)
    for position in range(1, size + 1):
        rate(window, position, position)
    go_on_to_writing(window)
    texts = [TEXT.format(number=number) for number in range(1, size + 1)]
    # Of several lines on a phone.
    texts[1] = " ".join([texts[1]] * 6)
    wait_for_image(window, 1)
    window.click("#text")
    window.run("globalThis.isTheFirstPage = true")
    for position, text in enumerate(texts, start=1):
        wait_for_image(window, position)
        low = window.run("return document.querySelector('#text').offsetHeight")
        # Without a click: the field keeps the focus.
        window.press(text)
        window.wait_for_text(STATE, "Saved")
        if position == 2:
            field = "const field = document.querySelector('#text'); return "
            assert window.run(f"{field} field.offsetHeight") > low, "the field grows"
            assert window.run(f"{field} field.scrollHeight <= field.clientHeight + 1"), "and shows all of its text"
        if position < size:
            window.press(ENTER)
    assert window.run("return globalThis.isTheFirstPage"), "no page is loaded for an image"
    window.press(ARROW_UP, holding=ALT)
    wait_for_image(window, size - 1, text=texts[-2])
    window.run("history.back()")
    wait_for_image(window, size, text=texts[-1])
    window.press(ENTER)
    window.wait_for_path("/review/")
    assert written(batch) == texts
    texts[2] = TEXT.format(number="మూడు")
    window.click("#captions li:nth-child(3) [data-open] a")
    window.fill("#text", texts[2])
    window.press(ENTER)
    window.wait_for_text("#captions li:nth-child(3) .caption", texts[2])
    window.click("form[action$='/submit/'] button")
    window.wait_for_path("/done/")
    assert list(Caption.objects.order_by("item__position").values_list("text", flat=True)) == texts
    assert all(batch.items.values_list("rating", flat=True))
    window.click("form[action$='/take/'] button")
    window.wait_for_path("/rate/")
    assert CaptionBatch.objects.exclude(pk=batch.pk).get().stage == Stage.RATE


def test_an_error_goes_away_when_it_is_mended_and_a_reload_shows_what_is_stored(
    window: Window, live_server: Any
) -> None:
    batch = sit_down(window, live_server.url, images=2)
    open_writing(batch, batch.lease.person)
    window.open(f"{live_server.url}/batches/{batch.pk}/write/1/")
    window.click("#write button[value=following]")
    window.wait_for_element("#error")
    window.fill("#text", "పిల్లి")
    window.wait_for("return !document.querySelector('#error')")
    window.wait_for_text(STATE, "Saved")
    window.run("location.reload()")
    wait_for_image(window, 1, text="పిల్లి")
    assert not window.run("return [...document.querySelectorAll('#error, [data-conflict]')].some((one) => !one.hidden)")


def test_times_are_those_of_the_devices_zone(window: Window, profile: Profile, live_server: Any) -> None:
    batch = sit_down(window, live_server.url, images=1)
    window.open(f"{live_server.url}/work/")
    # The first page tells the server of the zone.
    window.open(f"{live_server.url}/work/")
    local = batch.lease.deadline.astimezone(ZoneInfo(profile.zone))
    tomorrow = (local.date() - datetime.now(ZoneInfo(profile.zone)).date()).days == 1
    assert f"{local:%H:%M} GMT+5:30" in window.text("main time")
    assert f"{local.day} {local:%b}" in window.text("main time")
    assert ("tomorrow" in window.text("main time")) == tomorrow


def test_a_comparison_is_judged_to_its_end(window: Window, live_server: Any) -> None:
    comparison = judging.make_pairs(3)
    rater = make_rater(comparison, "ria")
    sign_in(window, rater, live_server.url)
    window.open(f"{live_server.url}/compare/")
    window.click("form[action$='/take/'] button")
    for number in range(1, 4):
        window.wait_for_text("[data-number]", f"Pair {number} of 3")
        window.wait_for_view(".trial__stage", ".side:first-child", ".side:last-child", ".strip")
        window.wait_for_element(AWAKE)
        window.click(".answer")
        window.wait_for_text("body", "All judged" if number == 3 else f"Pair {number + 1} of 3")
    assert list(Judgement.objects.filter(person=rater).values_list("choice", flat=True)) == [3, 3, 3]


def test_a_turn_of_the_game_is_played_to_its_end(window: Window, live_server: Any) -> None:
    player = make_player(gaming.make_game(batch_size=2), "ana")
    sign_in(window, player.user, live_server.url)
    window.open(f"{live_server.url}/game/{player.season.slug}/")
    window.click("form[action$='/batch/'] button")
    window.fill("#guess", f"dog{ENTER}")
    window.wait_for_text(".guesses", "So close!")
    # A guess can be made once a second; the script asks again by itself.
    window.fill("#guess", f"cat{ENTER}")
    window.wait_for_text(".result", "+90")
    window.wait_for_element(AWAKE)
    window.click("#next-form button")
    window.wait_for_text("#turn", "2 of 2")
    # The sentence is shown at once; the address changes when the server knows.
    window.wait_for_path(f"/{Turn.objects.get(position=2).pk}/")
    assert list(Turn.objects.order_by("position").values_list("outcome", flat=True)) == ["attempt_2", "open"]


def test_who_arrives_from_a_panel_practises_and_then_gets_work(
    opened: Opener, profile: Profile, live_server: Any
) -> None:
    round = make_round(language="te", images=1, batch_size=1, replication=1)
    make_images(round.collection)
    make_practice(round.project, PracticeKind.RATING)
    make_practice(round.project, PracticeKind.WRITING)
    study = make_study(round.project, languages=[make_language("te")])
    with opened(replace(profile, language="te-IN")) as window:
        window.open(live_server.url + Panel(study).address("5f1a"))
        assert window.run("return document.documentElement.lang") == "te"
        window.click("[name=level-te][value=native]")
        window.click("[name=reads_english]")
        window.click("[name=consent]")
        window.click("main form button.button--primary")
        window.wait_for_path("/work/")
        practise(window, live_server.url, round, answers=["GOOD"] * 3)
        practise(window, live_server.url, round, texts=[TEXT.format(number=number) for number in (1, 2, 3)])

        window.click("form[action$='/take/'] button")
        window.wait_for_path("/rate/")
        start_rating(window)
        window.click("#item-1 .level:nth-child(2)")
        window.wait_for_element("#item-1 [data-state=saved]")
        window.wait_for_element(AWAKE)
        go_on_to_writing(window)
        wait_for_image(window, 1)
        window.fill("#text", TEXT.format(number=1))
        window.press(ENTER)
        window.wait_for_path("/review/")
        window.click("form[action$='/submit/'] button")
        window.wait_for_path("/done/")
        window.open(f"{live_server.url}/study/finish/")
        window.click("main form button.button--primary")
        window.wait_for_element(f'main a[href="{CODES["done_url"]}"]')
    assert Caption.objects.get().text == TEXT.format(number=1)
    assert Participant.objects.get().state == ParticipantState.DONE


def practise(
    window: Window, address: str, round: Round, *, answers: Sequence[str] = (), texts: Sequence[str] = ()
) -> None:
    """Pass the next practice, by choosing `answers` or by writing `texts`."""
    window.click(f'main a[href="/projects/{round.project.slug}/practice/"]')
    window.wait_for_path("/practice/")
    window.click("main form button.button--primary")
    for given in answers or texts:
        if texts:
            window.fill("#answer", given)
        window.click("main form button.button--primary" if texts else f'main button[value="{given}"]')
        window.wait_for_element(".practice__answers")
        window.click("main .actions a")
    window.wait_for_element(".notice--success:not(:has(~ .practice__answers))")
    window.open(f"{address}/work/")
