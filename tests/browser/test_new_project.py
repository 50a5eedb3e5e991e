"""A project in 36 languages made in a browser: two clicks for the languages, an estimate, and the project."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.images.models import Collection
from core.people.models import Project
from tests.browser.annotator import barriers_at
from tests.browser.conftest import Visit
from tests.factories import make_captioner, make_collection, make_project

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def collection() -> Collection:
    collection = make_collection(6)
    make_captioner(collection, "blip")
    make_captioner(collection, "git")
    return collection


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_all_36_languages_take_one_click_and_their_cost_is_known_before_the_project(
    visit: Visit, collection: Collection
) -> None:
    page = visit(make_project("lions").created_by, locale="en-GB")
    page.goto(f"/projects/new/?collection={collection.slug}")
    chosen = page.locator("[data-counts]")
    expect(chosen).to_have_text("0")
    page.get_by_role("button", name="The core four").click()
    expect(chosen).to_have_text("4")
    page.get_by_role("button", name="All 36").click()
    expect(chosen).to_have_text("36")
    assert (
        page.get_by_role("checkbox", name="blip").is_checked() != page.get_by_role("checkbox", name="git").is_checked()
    )

    page.get_by_text("Another number in some languages").click()
    page.get_by_role("spinbutton", name="Cusco Quechua").fill("1")
    page.get_by_label("Pay per hour").fill("12")
    page.get_by_label("Currency").fill("EUR")
    page.get_by_label("Name", exact=True).fill("Tigers")
    page.get_by_label("Name", exact=True).press("Enter")  # Shows the estimate, and neither ticks nor makes anything.
    page.wait_for_url(re.compile("#estimate$"))
    # In 35 languages 12 captions in the pilot and as many in the main round, in one half of that.
    expect(page.locator("#estimate .facts")).to_contain_text(re.compile(r"Captions\s*852"))
    expect(page.locator("#estimate .facts")).to_contain_text("EUR")
    page.locator("#estimate summary").click()
    expect(page.locator("#estimate tbody tr").filter(visible=True)).to_have_count(36)
    expect(chosen).to_have_text("36")
    assert not Project.objects.filter(name="Tigers").exists()
    assert barriers_at(page, 1366, 390) == []

    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/projects/tigers/", timeout=10_000)
    rounds = Project.objects.get(name="Tigers").rounds.filter(kind="pilot")
    assert rounds.count() == 36
    assert rounds.get(language="quz").replication == 1


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_a_group_works_without_javascript(visit: Visit, collection: Collection) -> None:
    page = visit(make_project("lions").created_by, java_script_enabled=False)
    page.goto(f"/projects/new/?collection={collection.slug}")
    page.get_by_label("Name", exact=True).fill("Tigers")
    page.get_by_role("button", name="The core four").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Tigers")
    expect(page.locator("[name=languages]:checked")).to_have_count(4)
