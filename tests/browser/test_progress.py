"""Pages of progress, annotators, plots and statistics in a browser: live, on a phone, in Arabic, without barriers."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Round, RoundKind
from annotation.services import figures
from core.people.models import User
from tests.annotation.submitting import submit_captions
from tests.browser.annotator import barriers_at, scrolls_sideways, sign_in
from tests.browser.conftest import Visit
from tests.factories import make_annotator, make_project, make_round

pytestmark = pytest.mark.django_db(transaction=True)

POLLED_MS = 40_000
PAGES = ("project-show", "annotator-list", "annotator-show", "plots-show", "statistics-show")


@pytest.fixture
def ann(round: Round) -> User:
    person = make_annotator(round, "ann")
    submit_captions(round, person, now=timezone.now())
    figures.compute(round_id=round.pk, now=timezone.now())
    return person


@pytest.fixture
def round() -> Round:
    made = make_round(project=make_project("lions"), images=4, replication=2, batch_size=2, language="de")
    make_round(project=made.project, images=2, language="ar", kind=RoundKind.PILOT)
    return made


def addresses(live_server: Any, person: User) -> list[str]:
    return [
        str(
            live_server.url
            + reverse(f"annotation:{name}", args=["lions", *([person.pk] if name == "annotator-show" else [])])
        )
        for name in PAGES
    ]


def test_a_page_shows_what_was_submitted_since_without_being_loaded_again(
    live_server: Any, page: Page, context: BrowserContext, round: Round, ann: User
) -> None:
    sign_in(context, round.project.created_by, live_server.url)
    page.goto(live_server.url + reverse("annotation:project-show", args=["lions"]))
    expect(page.get_by_text("2 of 12 captions")).to_be_visible()
    page.evaluate("window.isTheSamePage = true")
    submit_captions(round, ann, now=timezone.now())
    expect(page.get_by_text("4 of 12 captions")).to_be_visible(timeout=POLLED_MS)
    assert page.evaluate("window.isTheSamePage")


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_a_table_is_sorted_by_the_head_of_a_column_without_scripts(
    live_server: Any, visit: Visit, round: Round, ann: User
) -> None:
    page = visit(round.project.created_by, java_script_enabled=False)
    page.goto(live_server.url + reverse("annotation:project-show", args=["lions"]))
    expect(page.locator("tbody th").first).to_contain_text("Arabic")
    page.get_by_role("link", name="Done", exact=True).click()
    expect(page.locator("tbody th").first).to_contain_text("German")
    expect(page.locator("[aria-sort]")).to_contain_text("Done")
    page.get_by_label("Rounds").select_option("pilot")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.long(reason="axe reads other pages of the same parts")
@pytest.mark.parametrize(("language", "widths"), [("en", (1366, 390)), ("ar", (390,))], ids=["en", "ar"])
def test_pages_have_no_barriers_and_fit(
    live_server: Any, visit: Visit, round: Round, ann: User, language: str, widths: tuple[int, ...]
) -> None:
    User.objects.filter(pk=round.project.created_by_id).update(interface_language=language)
    page = visit(round.project.created_by, locale=language)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    for address in addresses(live_server, ann):
        page.goto(address)
        assert page.evaluate("document.documentElement.lang") == language
        assert barriers_at(page, *widths) == [], address
        page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
        assert not scrolls_sideways(page), address
    assert said == []
