"""The player's pages in a browser: any language and width, no barriers, little to load, and no way to see the word."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from core.people.models import Role
from core.people.services.invitations import invite
from gapgame.models import Player, Season, SeasonAccess, Turn, TurnOutcome
from gapgame.services import playing
from gapgame.services.playing import GRACE, close_season
from tests.browser.annotator import barriers, barriers_at, source_of
from tests.browser.gaming import ABOVE_KEYBOARD, PHONE, Table, guesses, images, make_game, sit_down
from tests.factories import make_item, make_item_set, make_player

pytestmark = pytest.mark.django_db(transaction=True)

SENTENCES = {
    "hi": ("उसने एक ", " खरीदा।", "ltr"),
    "ja": ("彼は", "を飼っています。", "ltr"),
    "ar": ("رأيت ", " في الحديقة.", "rtl"),
    "en": ("She keeps a ", " in the garden.", "ltr"),
}


@pytest.fixture
def _at_any_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "MIN_PAUSE", timedelta(0))


@pytest.fixture
def table(live_server: Any, page: Page, _at_any_pace: None) -> Table:
    return sit_down(page, make_game(batch_size=2), live_server.url, "ana")


def box(page: Page, selector: str) -> Any:
    bounds = page.locator(selector).first.bounding_box()
    assert bounds is not None
    return bounds


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.usefixtures("_at_any_pace")
@pytest.mark.parametrize("language", SENTENCES)
def test_the_sentence_keeps_its_own_direction_whatever_the_language_of_the_pages(
    live_server: Any, page: Page, language: str
) -> None:
    before, after, direction = SENTENCES[language]
    items = make_item_set()
    make_item(items, language=language, before=before, after=after)
    season = make_game(item_set=items, items=0, language=language)
    table = sit_down(page, season, live_server.url, "layla", language="ar")
    assert page.evaluate("[document.documentElement.dir, document.documentElement.lang]") == ["rtl", "ar"]
    for part in (".sentence", "#guess"):
        expect(page.locator(part)).to_have_attribute("lang", language)
        expect(page.locator(part)).to_have_attribute("dir", direction)
    for name in ("autocapitalize", "autocomplete"):
        expect(page.locator("#guess")).to_have_attribute(name, "off")
    table.guess("dog")
    assert page.locator(".sentence").evaluate("sentence => getComputedStyle(sentence).direction") == direction
    table.guess("cat")
    expect(page.locator(".sentence__text")).to_have_text(f"{before}cat{after}")
    assert barriers(page) == []


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_with_the_keyboard_of_a_phone_open_sentence_hint_and_field_are_all_in_view(table: Table, page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.reload()
    page.set_viewport_size(ABOVE_KEYBOARD)
    expect(page.locator("html")).to_have_class("has-keyboard")
    for word in ("dog", "car"):
        table.guess(word)
        expect(page.locator("#guess")).to_be_focused()
        for part in (".sentence", ".guess >> nth=-1", ".hint__box >> nth=0", "#guess", "#guess-form .bar__go"):
            expect(page.locator(part)).to_be_in_viewport(ratio=0.99)
        bar, hint, button = box(page, ".bar"), box(page, ".hint__box"), box(page, "#guess-form .bar__go")
        assert hint["y"] + hint["height"] <= bar["y"], "no hint lies beneath the bar"
        assert button["height"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= ABOVE_KEYBOARD["width"]


@pytest.mark.usefixtures("_at_any_pace")
def test_gap_and_boxes_are_the_same_for_every_word_and_image(live_server: Any, page: Page) -> None:
    items = make_item_set()
    for word in ("elf", "uncharacteristically"):
        make_item(items, word, before="Here is the ", after=".", images=1)
    table = sit_down(page, make_game(item_set=items, items=0), live_server.url, "ana")
    seen = []
    for _turn in range(2):
        table.expect_state("open")
        gap = box(page, ".gap")
        table.guess("tree")
        assert table.turn().item.word not in page.locator("#turn").inner_text()
        seen.append((gap, box(page, ".hint__box")))
        table.guess(table.turn().item.word)
        table.go_on()
    assert seen[0] == seen[1]


def test_credits_come_with_the_end_of_the_turn_and_not_before(table: Table, page: Page) -> None:
    for entry in table.turn().item.images.select_related("image"):
        entry.image.title, entry.image.author, entry.image.licence = "A cat asleep", "Ida Lens", "CC BY 4.0"
        entry.image.save()
    table.guess("tree")
    assert "Ida Lens" not in source_of(page)
    table.guess("cat")
    expect(page.locator(".hint .credit").first).to_contain_text("A cat asleep · Ida Lens · CC BY 4.0")


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.usefixtures("_at_any_pace")
def test_a_find_is_celebrated_except_for_who_wants_nothing_to_move(live_server: Any, browser: Browser) -> None:
    season = make_game()
    for motion, pieces in (("no-preference", 1), ("reduce", 0)):
        context = browser.new_context(locale="en-GB", reduced_motion=motion)  # type: ignore[arg-type]
        page = context.new_page()
        table = sit_down(page, season, live_server.url, f"of-{motion}")
        page.locator("#guess").fill("cat")
        page.keyboard.press("Enter")
        table.expect_state("found")
        assert page.locator(".confetti").count() == pieces
        context.close()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_sound_is_off_until_it_is_switched_on_and_stays_so(table: Table, page: Page) -> None:
    expect(page.locator("#sound")).to_have_attribute("aria-pressed", "false")
    page.locator("#sound").click()
    expect(page.locator("#sound")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.locator("#sound")).to_have_attribute("aria-pressed", "true")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_result_is_told_to_who_listens(table: Table, page: Page) -> None:
    table.guess("dog")
    expect(page.locator("#status")).to_contain_text("dog: closeness 80 of 100. 1 image is shown as a hint.")
    table.guess("cat")
    expect(page.locator("#status")).to_contain_text("Correct! 90 points. Total: 90.")


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_scripts_too_soon_is_told_and_what_was_typed_is_there(live_server: Any, browser: Browser) -> None:
    context = browser.new_context(locale="en-GB", java_script_enabled=False)
    page = context.new_page()
    sit_down(page, make_game(), live_server.url, "flo", has_scripts=False)
    Turn.objects.filter(outcome=TurnOutcome.OPEN).update(shown_at=timezone.now() + timedelta(minutes=1))
    page.locator("#guess").fill("dog")
    page.locator("#guess-form button").click()
    expect(page.locator(".turn__messages")).to_contain_text("too quick")
    expect(page.locator("#guess")).to_have_value("dog")
    context.close()


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_the_players_pages_have_no_barriers(table: Table, page: Page) -> None:
    def check(where: str) -> None:
        assert barriers_at(page, 1366, 320) == [], where

    check("a sentence")
    page.locator("[data-skip] summary").click()
    check("skipping")
    page.keyboard.press("Escape")
    for count, word in enumerate(("dog", "tree"), start=1):
        table.guess(word)
        expect(images(page)).to_have_count(2 * count - 1)
        check(f"after {word}")
    images(page).first.click()
    check("a large image")
    table.guess("car")
    check("missed")
    table.go_on()
    table.expect_state("open")
    table.guess("cat")
    check("found")
    table.go_on()
    page.wait_for_url(table.url)
    check("the batch")
    for path in ("turns/", "turns/?show=missed", "rules/", "me/", "../"):
        page.goto(table.url + path)
        check(path)
    close_season_now(table.player.season)
    for path in ("", "leaderboard/"):
        page.goto(table.url + path)
        check(path or "the season when it is over")


def close_season_now(season: Season) -> None:
    season.ends_at = timezone.now()
    season.save()
    close_season(season_id=season.pk, now=season.ends_at + GRACE)


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.usefixtures("_at_any_pace")
@pytest.mark.parametrize("has_scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_stranger_signs_up_agrees_chooses_a_nickname_and_plays(
    live_server: Any, browser: Browser, has_scripts: bool
) -> None:
    season = make_game(access=SeasonAccess.OPEN, batch_size=2)
    season.invitation = invite(
        project=season.project,
        role=Role.PLAYER,
        places=10,
        note=season.name,
        expires_at=season.ends_at,
        created_by=season.project.created_by,
        now=timezone.now(),
    )
    season.save()
    page = browser.new_page(viewport=PHONE, java_script_enabled=has_scripts)
    page.goto(f"{live_server.url}/game/{season.slug}/")
    page.get_by_role("link", name="Take part").click()
    page.get_by_label("Make an account with a password").check()
    page.get_by_label("User name").fill("zoe")
    page.get_by_label("Password", exact=True).fill("walrus-parade-99")
    page.get_by_label("I have read the text above and agree to it").check()
    page.get_by_role("button", name="Join").click()
    expect(page).to_have_url(f"{live_server.url}/game/{season.slug}/")
    page.get_by_label("Nickname", exact=True).fill("Zoe the Fox")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("link", name="Change nickname (Zoe the Fox)")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    page.locator("#guess").fill("cat")
    page.keyboard.press("Enter")
    expect(page.locator("#turn")).to_have_attribute("data-state", "found")
    player = Player.objects.get(season=season)
    assert (player.user.username, player.nickname, player.is_on_leaderboard, player.turns) == (
        "zoe",
        "Zoe the Fox",
        True,
        1,
    )
    page.context.close()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_nickname_is_changed_and_the_end_of_the_season_is_seen(live_server: Any, page: Page, table: Table) -> None:
    season = table.player.season
    make_player(season, "bob", nickname="Bob", total=900_000, turns=1, reached_at=timezone.now())
    table.guess("cat")
    page.goto(f"{table.url}me/")
    page.locator("#nickname").fill("Ana the Owl")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Change nickname (Ana the Owl)")).to_be_visible()
    close_season_now(season)
    page.goto(f"{table.url}leaderboard/")
    expect(page.locator(".winner--1")).to_contain_text("Ana the Owl")
    expect(page.locator(".winner--2")).to_contain_text("Bob")
    expect(page.locator("tr.is-me")).to_contain_text("100")
    expect(page.locator(".leaderboard__me")).to_contain_text("rank is 1 of 2")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_who_has_no_rank_is_told_why(table: Table, page: Page) -> None:
    table.guess("cat")
    Player.objects.filter(pk=table.player.pk).update(is_marked=True)
    close_season_now(table.player.season)
    page.goto(table.url)
    expect(page.get_by_role("region", name="Your play").locator(".notice")).to_contain_text("You have no rank")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_past_sentences_show_words_guesses_and_images(table: Table, page: Page) -> None:
    table.guess("cat")
    table.go_on()
    table.expect_state("open")
    for word in ("dog", "car", "tree"):
        table.guess(word)
    page.goto(f"{table.url}turns/?show=missed")
    expect(page.locator(".past__turn")).to_have_count(1)
    expect(page.locator(".past__sentence mark")).to_have_text("cat")
    expect(page.locator(".past .guess__word")).to_have_text(["dog", "car", "tree"])
    expect(page.locator(".past__images img")).to_have_count(3)
    page.goto(f"{table.url}turns/")
    expect(page.locator(".past__turn")).to_have_count(2)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_page_of_a_turn_is_light_and_asks_nobody_else(table: Table, page: Page) -> None:
    table.guess("dog")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.wait_for_load_state("networkidle")
    expect(guesses(page)).to_have_count(1)
    assert all(url.startswith((table.address, "data:")) for url in asked)
    turn = table.turn().pk
    parts = {url for url in asked if url.startswith(table.address) and f"/turns/{turn}/" not in url} | {page.url}
    # Compressed, as in production.
    sizes = [len(gzip.compress(page.context.request.get(url).body())) for url in parts]
    assert len(parts) <= 11
    assert min(sizes) > 0
    assert 5_000 < sum(sizes) < 40_000
