"""Pages of work in their languages: nothing lies over a caption, and nothing is too long for a phone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.services import verification
from core.languages.rules.page_languages import PAGE_LANGUAGES, is_page_of_work
from core.people.models import User
from gapgame.models import Player
from tests.annotation.submitting import submit_captions
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification
from tests.browser import gaming, judging
from tests.browser.annotator import make_images, open_writing, sign_in, take_batch
from tests.browser.conftest import Visit
from tests.clients import client_of
from tests.doors.asking import ours
from tests.doors.world import World, make_world
from tests.factories import make_annotator, make_round
from tests.leaks.addresses import GUESSED
from tests.tiers import some

pytestmark = pytest.mark.django_db(transaction=True)

WIDTHS = (360, 390, 768, 1366, 1920)
OVERLAPS = """
() => {
  const parts = (list) =>
    [...document.querySelectorAll(`main :is(${list})`)].filter((one) => one.checkVisibility({ visibilityProperty: 1 }));
  const rows = (one) => {
    if (one.matches("img")) return [one.getBoundingClientRect()];
    const range = document.createRange();
    range.selectNodeContents(one);
    return [...range.getClientRects()];
  };
  const shared = (a, b, start, end) => Math.min(a[end], b[end]) - Math.max(a[start], b[start]);
  const isOver = (a, b) => shared(a, b, "left", "right") > 1 && shared(a, b, "top", "bottom") > 1;
  // What stays in place while the page is scrolled lies over something else each time.
  const stays = (one) =>
    one && (["fixed", "sticky"].includes(getComputedStyle(one).position) || stays(one.parentElement));
  const work = parts("img, [data-english], [data-caption], .sentence");
  const controls = parts("a, button, input, select, textarea, summary, label, kbd").filter(
    (one) => !stays(one) && !one.closest(".visually-hidden"),
  );
  const found = [];
  for (const one of work)
    for (const control of controls) {
      const box = control.getBoundingClientRect();
      const isApart = !one.contains(control) && !control.contains(one);
      if (isApart && rows(one).some((row) => isOver(row, box)))
        found.push(`${control.outerHTML.slice(0, 80)} over ${one.outerHTML.slice(0, 80)}`);
    }
  return { work: work.length, controls: controls.length, found };
}
"""

FEW = ["de", "fi", "fr", "th"]
REST = [code for code, _own_name in PAGE_LANGUAGES if code not in FEW]
PHONE_WIDTH = 360
# Text of the platform, word by word: in scripts without spaces a line may end anywhere.
TOO_LONG = """
() => {
  const { scrollWidth, clientWidth, lang } = document.documentElement;
  const found = scrollWidth > clientWidth ? [`${scrollWidth - clientWidth} px too wide`] : [];
  const labels = document.querySelectorAll("main :is(button, a.button, label, summary, legend, dt, dd, h1, h2, .tag)");
  for (const label of ["ja", "th", "zh-hans"].includes(lang) ? [] : labels) {
    const texts = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const parent = text.parentElement;
      const isShown = parent.checkVisibility({ visibilityProperty: 1 });
      if (!isShown || parent.closest(".visually-hidden, main [lang]")) continue;
      for (const word of text.data.matchAll(/[^\\s\\-–/]+/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const tops = [...range.getClientRects()].map(({ top }) => top);
        if (Math.max(...tops) - Math.min(...tops) > 4) found.push(`${word[0]} on two lines`);
      }
    }
  }
  return { labels: labels.length, found };
}
"""


def rating(page: Page, url: str) -> None:
    round = make_round(images=6, language="ar")
    make_images(round.collection)
    annotator = make_annotator(round, "amal")
    sign_in(page.context, annotator, url)
    page.set_viewport_size({"width": 740, "height": 740})
    page.goto(f"{url}/batches/{take_batch(round, annotator).pk}/rate/")
    press_and_undo(page)


def verifying(page: Page, url: str) -> None:
    verified, _ = make_captioned_round(images=6, captions=1, language="hi")
    make_images(verified.collection)
    round = make_verification(verified)
    rater = make_reviewer(round, "rae")
    batch = verification.take_batch(round=round, person=rater, now=timezone.now(), rng=Random(1))
    assert batch is not None
    sign_in(page.context, rater, url)
    page.goto(f"{url}/ratings/{batch.pk}/")
    press_and_undo(page)


def press_and_undo(page: Page) -> None:
    """After a choice, undoing it is offered beside the next caption."""
    page.locator("#item-1 .level:not(:has(:checked))").first.click()
    expect(page.locator("#undo")).to_be_visible()


def writing(page: Page, url: str) -> None:
    round = make_round(images=3, language="ja")
    make_images(round.collection)
    annotator = make_annotator(round, "aki")
    batch = take_batch(round, annotator)
    open_writing(batch, annotator)
    sign_in(page.context, annotator, url)
    page.goto(f"{url}/batches/{batch.pk}/write/1/")
    expect(page.locator("textarea")).to_be_visible()


def comparing(page: Page, url: str) -> None:
    desk = judging.sit_down(page, judging.make_pairs(), url, "rita")
    desk.answer("1")


def playing(page: Page, url: str) -> None:
    gaming.sit_down(page, gaming.make_game(batch_size=2), url, "pia").guess("dog")


@pytest.mark.parametrize("work", [rating, verifying, writing, comparing, playing])
def test_no_control_lies_over_a_caption_or_an_image(
    work: Callable[[Page, str], None], page: Page, live_server: Any
) -> None:
    work(page, live_server.url)
    for language in ("en", "ar", "hi", "ja"):
        page.context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
        page.reload()
        if page.locator("#undo").count():
            press_and_undo(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 740})
            looked_at = page.evaluate(OVERLAPS)
            assert looked_at["work"]
            assert looked_at["controls"]
            assert looked_at["found"] == [], (language, width)


def winning(page: Page, url: str) -> None:
    """The head of a turn with all that it can show."""
    gaming.sit_down(page, gaming.make_game(batch_size=2), url, "ana").guess("cat")
    Player.objects.update(streak=12)


def choosing(page: Page, url: str) -> None:
    """The list of work, with all that is said of a batch before it is taken."""
    round = make_round(images=3, replication=4, language="ar")
    for name in ("ben", "cem", "dia"):
        submit_captions(round, make_annotator(round, name), now=timezone.now())
    sign_in(page.context, make_annotator(round, "eva"), url)
    page.goto(f"{url}/work/")


def thanking(page: Page, url: str) -> None:
    round = make_round(images=3, batch_size=2, language="ar")
    make_images(round.collection)
    annotator = make_annotator(round, "mia")
    batch = submit_captions(round, annotator, now=timezone.now())
    sign_in(page.context, annotator, url)
    page.goto(f"{url}/batches/{batch.pk}/done/")


@pytest.mark.parametrize(
    "languages", some([FEW, REST], short=1, reason="the same pages in the languages that have shorter words")
)
def test_nothing_is_wider_than_a_phone_and_no_label_breaks_inside_a_word(
    languages: list[str], page: Page, live_server: Any
) -> None:
    found: dict[tuple[str, str], list[str]] = {}
    for work in (winning, playing, comparing, rating, writing, choosing, thanking):
        work(page, live_server.url)
        page.set_viewport_size({"width": PHONE_WIDTH, "height": 740})
        for language in languages:
            page.context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
            page.reload()
            assert page.locator("html").get_attribute("lang") == language
            looked_at = page.evaluate(TOO_LONG)
            assert looked_at["labels"]
            found |= {(work.__name__, language): looked_at["found"]} if looked_at["found"] else {}
    assert found == {}


def pages_of_work(world: World) -> dict[str, User | None]:
    """Each page of work that there is, with one of those who can open it; visitors are nobody."""
    seen: dict[str, User | None] = {}
    for person in [*world.insiders[1:], world.insiders[0], None]:
        client = client_of(person) if person else Client()
        client.raise_request_exception = False
        for route in ours():
            for address in route.addresses({**GUESSED, **world.known}):
                view = resolve(address).func
                module = getattr(view, "view_class", view).__module__
                if address in seen or hasattr(view, "cls") or not is_page_of_work(module, route.name):
                    continue
                answer = client.get(address)
                if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
                    seen[address] = person
    # Everybody has these; theirs say more.
    rater, player = world.insiders[-2:]
    return seen | {"/compare/": rater, "/game/": player}


@pytest.mark.long(reason="the same look at the pages around the work, with fewer words")
@pytest.mark.parametrize("languages", [FEW, REST[::2], REST[1::2]], ids=["longest-words", "rest-1", "rest-2"])
def test_no_page_of_work_is_wider_than_a_phone_and_none_breaks_a_label_inside_a_word(
    languages: list[str], visit: Visit, media: Path, live_server: Any
) -> None:
    world = make_world(media)
    pages = pages_of_work(world)
    assert len(pages) > 60, pages
    found: dict[tuple[str, str], list[str]] = {}
    for person in dict.fromkeys(pages.values()):
        page = visit(person, viewport={"width": PHONE_WIDTH, "height": 740})
        for language, address in product(languages, [one for one, whose in pages.items() if whose == person]):
            page.context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
            page.goto(address)
            assert page.locator("html").get_attribute("lang") == language, address
            page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
            looked_at = page.evaluate(TOO_LONG)
            found |= {(address, language): looked_at["found"]} if looked_at["found"] else {}
    assert found == {}
