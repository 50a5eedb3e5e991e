"""A whole campaign through the pages, on photographs: two pilots with feedback, main, verification, a release.

Everything that people do is done in the browser; background work is done by calling what a worker would call.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from annotation import tasks
from annotation.models import Caption, Release, Round, RoundKind, RoundState, Verdict
from core.images.models import Collection, Image
from core.images.services import images
from core.images.services.collections import find_or_create_collection
from core.images.services.imports import import_path
from core.people.models import Consent, ConsentText, LanguageLevel, LanguageSkill, Membership, Project, Role, User
from tests.browser.annotator import barriers, sign_in, source_of
from tests.factories import make_captioner, make_project, make_user
from tests.published import published
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db(transaction=True)

PHOTOGRAPHS = 6
PILOT_IMAGES = 2
WRITERS = ("ann", "bob")
RATERS = ("cem", "dia", "eva")
WITHIN_MS = 15_000
ENGLISH = "an english caption that nobody may read on screen two"


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    folder = published("photos")
    listed = json.loads((folder / "manifest.json").read_text())[:PHOTOGRAPHS]
    for entry in listed:
        shutil.copy(folder / entry["file"], tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(listed))
    made = find_or_create_collection("Photographs")
    import_path(path=tmp_path / "manifest.json", collection=made, clock=timezone.now, announce=lambda image_id: None)
    for image_id in Image.objects.values_list("pk", flat=True):
        images.make_sizes(image_id=image_id, now=timezone.now())
    return made


@pytest.fixture
def people() -> dict[str, User]:
    users = {name: make_user(name, reads_english=True) for name in ("mara", *WRITERS, *RATERS)}
    # Whoever manages something may make projects.
    make_project("elsewhere", manager=users["mara"])
    return users


class Campaign:
    """A browser window for each person, and the project they work in."""

    def __init__(self, browser: Browser, address: str, people: dict[str, User]) -> None:
        self.address = address
        self.people = people
        self.contexts = {}
        self.pages: dict[str, Page] = {}
        for name, person in people.items():
            context = browser.new_context(locale="en-GB", viewport={"width": 1280, "height": 900})
            sign_in(context, person, address)
            page = context.new_page()
            page.set_default_timeout(WITHIN_MS)
            self.contexts[name], self.pages[name] = context, page

    @property
    def project(self) -> Project:
        return Project.objects.get(name="Street life")

    @property
    def manager(self) -> Page:
        return self.pages["mara"]

    def go(self, path: str) -> Page:
        self.manager.goto(f"{self.address}{path}")
        return self.manager

    def campaign(self) -> Page:
        return self.go(f"/projects/{self.project.slug}/languages/de/")

    def step(self, title: str) -> Any:
        return (
            self.campaign()
            .locator("li.campaign__step")
            .filter(has=self.manager.get_by_role("heading", name=title, exact=True))
        )

    def press(self, title: str, action: str, *, why: str = "", choice: str = "") -> None:
        """Do `action` with the round called `title`, on the language's page."""
        step = self.step(title)
        if action == "Reject":
            # It asks on a page of its own.
            step.get_by_role("link", name=re.compile("^Reject")).click()
            self.manager.get_by_label("Reason").fill(why)
            self.manager.get_by_role("button", name=re.compile("^Reject")).click()
        else:
            button = self.manager.get_by_role("button", name=re.compile(f"^{action} ?: {title}$"))
            form = step.locator("form").filter(has=button)
            if why:
                form.get_by_label("Reason (optional)").fill(why)
            if choice:
                form.get_by_label(choice).check()
            form.get_by_role("button").click()
        self.manager.wait_for_load_state()
        sweep(tasks.fill_round)

    def round(self, kind: RoundKind, number: int = 1) -> Round:
        return Round.objects.get(project=self.project, kind=kind, number=number)

    def write_batch(self, name: str, text: str) -> None:
        """Take a batch, rate, write, hand in, by keyboard; `text` is completed with `{position}`."""
        page = self.pages[name]
        page.goto(f"{self.address}/work/")
        page.get_by_role("button", name="Take a batch").click()
        page.wait_for_url(re.compile("/rate/$"))
        count = page.locator(".rate__item").count()
        for _ in range(count):
            page.keyboard.press("2")
        expect(page.locator(".rate__item [data-state=saved]")).to_have_count(count)
        expect(page.locator("#rate [name=open]")).to_be_focused()
        page.keyboard.press("Enter")
        page.locator("#confirm button[value=open]").click()
        page.wait_for_url(re.compile("/write/1/$"))
        for position in range(1, count + 1):
            assert ENGLISH not in source_of(page)
            page.locator("#text").fill(text.format(position=position))
            page.locator("#text").press("Enter")
            page.wait_for_url(re.compile(f"/write/{position + 1}/$" if position < count else "/review/$"))
        page.locator('form[action$="/submit/"] button').click()
        page.wait_for_url(re.compile("/done/$"))

    def rate_batch(self, name: str, key: str) -> None:
        """Rate captions of others, by keyboard, and hand the ratings in."""
        page = self.pages[name]
        page.goto(f"{self.address}/work/")
        page.locator('form[action$="/rate/"] button').first.click()
        page.wait_for_url(re.compile("/ratings/"))
        count = page.locator(".rate__item").count()
        for _ in range(count):
            page.keyboard.press(key)
        expect(page.locator(".rate__item [data-state=saved]")).to_have_count(count)
        expect(page.locator("#rate [name=open]")).to_be_focused()
        page.keyboard.press("Enter")
        page.locator("#confirm button[value=open]").click()
        page.wait_for_url(re.compile("/done/$"))


@pytest.fixture
def campaign(live_server: Any, browser: Browser, people: dict[str, User]) -> Iterator[Campaign]:
    made = Campaign(browser, live_server.url, people)
    yield made
    for context in made.contexts.values():
        context.close()


@pytest.mark.long(reason="a whole campaign; each of its steps has tests of its own")
def test_a_language_goes_from_its_first_pilot_to_a_release(campaign: Campaign, collection: Collection) -> None:
    make_captioner(collection, "A model", text=ENGLISH)
    _set_up(campaign, collection)
    _first_pilot_is_not_good_enough(campaign)
    _guidelines_are_made_clearer(campaign)
    _second_pilot_is_accepted(campaign)
    _main_round(campaign)
    _verification(campaign)
    _release(campaign)


def _set_up(campaign: Campaign, collection: Collection) -> None:
    page = campaign.go("/projects/new/")
    page.get_by_label("Collection").select_option(collection.slug)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("textbox", name="Name", exact=True).fill("Street life")
    page.get_by_label("Images in the pilot").fill(str(PILOT_IMAGES))
    page.get_by_label("Images per batch").fill("3")
    page.get_by_role("checkbox", name="German").check()
    page.get_by_role("spinbutton", name="Captions per image").fill("2")
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url(re.compile("/projects/street-life/$"))
    sweep(tasks.fill_round)
    assert barriers(page) == []

    project, now = campaign.project, timezone.now()
    # Tests of its own pass the practice that projects begin with.
    project.practice_sets.update(is_required=False)
    consent = ConsentText.objects.filter(project=project).order_by("version").last()
    for name in (*WRITERS, *RATERS):
        person = campaign.people[name]
        Membership.objects.create(project=project, user=person, role=Role.ANNOTATOR)
        LanguageSkill.objects.create(user=person, language_id="de", level=LanguageLevel.NATIVE)
        if consent is not None:
            Consent.objects.create(text=consent, user=person, given_at=now)


def _first_pilot_is_not_good_enough(campaign: Campaign) -> None:
    for name in WRITERS:
        campaign.write_batch(name, f"Ein Bild von {name}, das {{position}}. der Reihe")
    expect(campaign.step("Main").get_by_role("button", name="Open")).to_have_count(0)
    campaign.press("Pilot 1", "Close")
    campaign.press("Rating of pilot 1", "Open")
    for name in RATERS:
        campaign.rate_batch(name, "3" if name == "cem" else "4")
    campaign.press("Rating of pilot 1", "Close")

    # What was written is looked at: a rating marked, a level given, feedback to its author.
    page = campaign.go(f"/projects/{campaign.project.slug}/languages/de/check/")
    mine = page.locator(".check__row").filter(has_text="von ann").first
    mine.locator("[data-key=w]").click()
    expect(mine.locator("[data-key=w]")).to_have_attribute("aria-pressed", "true")
    mine.locator("[data-doing=f] summary").click()
    mine.locator("[data-doing=f] textarea").fill("Name the people, not the image.")
    mine.get_by_role("button", name="Give feedback").click()
    expect(page.get_by_text("Name the people, not the image.").first).to_be_visible()

    campaign.press("Pilot 1", "Reject", why="The captions do not say what is to be seen.")
    expect(campaign.step("Pilot 1").get_by_text("The captions do not say what is to be seen.")).to_be_visible()
    assert campaign.round(RoundKind.PILOT).state == RoundState.REJECTED


def _guidelines_are_made_clearer(campaign: Campaign) -> None:
    page = campaign.go(f"/projects/{campaign.project.slug}/guidelines/edit/")
    writing = page.get_by_label("For writing")
    writing.fill(writing.input_value() + "\n\nName people as specifically as you can.\n")
    page.get_by_label("What changed, and why").fill("People were not named.")
    page.get_by_role("button", name="Publish this version").click()
    page.wait_for_load_state()
    page = campaign.go(f"/projects/{campaign.project.slug}/guidelines/")
    expect(page.get_by_text("Name people as specifically as you can.")).to_be_visible()


def _second_pilot_is_accepted(campaign: Campaign) -> None:
    page = campaign.campaign()
    page.get_by_label("Images in the pilot").fill(str(PILOT_IMAGES))
    page.get_by_role("button", name="Plan a pilot").click()
    campaign.press("Pilot 2", "Open")

    ann = campaign.pages["ann"]
    ann.goto(f"{campaign.address}/work/")
    expect(ann.get_by_role("button", name="Take a batch")).to_have_count(0)
    ann.goto(f"{campaign.address}/feedback/")
    ann.get_by_role("link", name=re.compile("^Read the feedback")).first.click()
    expect(ann.get_by_text("Name the people, not the image.")).to_be_visible()
    assert ENGLISH not in source_of(ann)
    ann.locator('form[action$="/acknowledge/"] button').click()

    ann.goto(f"{campaign.address}/work/")
    expect(ann.get_by_text("People were not named.")).to_be_visible()
    for name in WRITERS:
        campaign.write_batch(name, f"Eine Frau geht über die Straße, so {name} {{position}}")
    campaign.press("Pilot 2", "Close")
    campaign.press("Rating of pilot 2", "Open")
    for name in RATERS:
        campaign.rate_batch(name, "1")
    campaign.press("Rating of pilot 2", "Close")
    campaign.press("Pilot 2", "Accept", why="Good.")
    versions = Caption.objects.filter(round=campaign.round(RoundKind.PILOT, 2)).values_list("guidelines__version")
    assert set(versions) == {(2,)}


def _main_round(campaign: Campaign) -> None:
    campaign.press("Main", "Open")
    main = campaign.round(RoundKind.MAIN)
    while main.captions.count() < 2 * PHOTOGRAPHS:
        before = main.captions.count()
        for name in WRITERS:
            campaign.write_batch(name, f"Ein Mann mit Hut wartet, so {name} {{position}}")
        assert main.captions.count() > before
    assert main.captions.count() == 2 * PHOTOGRAPHS
    assert set(Caption.objects.filter(round=main).values_list("author__username", flat=True)) == set(WRITERS)
    campaign.press("Main", "Close")
    campaign.press("Main", "Accept")


def _verification(campaign: Campaign) -> None:
    campaign.press("Verification", "Open")
    verification = Round.objects.get(verifies=campaign.round(RoundKind.MAIN))
    while Verdict.objects.filter(batch__round=verification, assignment__state="done").count() < 3 * PHOTOGRAPHS:
        for name, key in zip(RATERS, ("1", "2", "4"), strict=True):
            campaign.rate_batch(name, key)
    campaign.press("Verification", "Close")
    campaign.press("Verification", "Accept")
    tasks.sweep_figures()
    page = campaign.go(f"/projects/{campaign.project.slug}/quality/")
    row = page.locator("tr").filter(has_text="German").filter(has_text="100").first
    expect(row).to_be_visible()
    for path in ("", "annotators/", "plots/", "statistics/", "quality/", "log/"):
        assert barriers(campaign.go(f"/projects/{campaign.project.slug}/{path}")) == []


def _release(campaign: Campaign) -> None:
    page = campaign.go(f"/projects/{campaign.project.slug}/releases/new/")
    page.get_by_label("Authors").fill("Muster, Mara")
    page.get_by_role("button", name="Make release").click()
    page.wait_for_url(re.compile("/releases/1/$"))
    release = Release.objects.get()
    tasks.build_release(release.pk)
    page.reload()
    expect(page.get_by_text("captions.jsonl")).to_be_attached()
    page.locator("summary", has_text="Individual files").click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="captions.jsonl").click()
    rows = [json.loads(line) for line in Path(downloading.value.path()).read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2 * PHOTOGRAPHS
    pseudonyms = {row["annotator"] for row in rows}
    assert len(pseudonyms) == len(WRITERS)
    assert not {None, *WRITERS} & pseudonyms
    release.refresh_from_db()
    assert release.state == "done"
    assert barriers(page) == []
