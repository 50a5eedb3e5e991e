"""From an empty database to a release: a manager follows the setup of a project and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import PIL.Image
import pytest
from django.utils import timezone
from playwright.sync_api import Browser, FilePayload, Page, expect

from annotation.models import Release, Round, RoundKind
from config.celery import app
from core.jobs.models import JobState
from core.people.models import User
from tests.annotation.submitting import submit_captions
from tests.annotation.verifying import make_reviewer, rate_all
from tests.browser.annotator import barriers, sign_in
from tests.factories import make_annotator, make_user

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.long(reason="eleven steps, each with its page"),
]


@pytest.fixture
def page(browser: Browser, live_server: Any, media: Any) -> Iterator[Page]:
    """Somebody who may start projects, in an empty installation whose worker is the web server."""
    app.conf.task_always_eager = True
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1366, "height": 768})
    sign_in(context, make_user("mia", is_staff=True, is_superuser=True), live_server.url)
    yield context.new_page()
    context.close()
    app.conf.task_always_eager = False


IMAGES = 2
MANIFEST = "file,title,author,licence\n" + "".join(f"{n}.png,Picture {n},An Author,CC BY 4.0\n" for n in range(IMAGES))
ENGLISH = "".join(f'{{"image": "{n}.png", "caption": "A picture of something, number {n}."}}\n' for n in range(IMAGES))


def picture(number: int) -> FilePayload:
    content = BytesIO()
    PIL.Image.new("RGB", (320, 240), (40 * number, 90, 160)).save(content, "PNG")
    return {"name": f"{number}.png", "mimeType": "image/png", "buffer": content.getvalue()}


def follow(page: Page, step: str, project: str) -> None:
    """Open the setup and select a step."""
    page.goto(f"/projects/{project}/setup/")
    page.locator(".setup").get_by_role("link", name=step, exact=True).click()


def write_all(round: Round, author: User) -> None:
    for _image in range(IMAGES):
        submit_captions(round, author, now=timezone.now())


def rate_by_three(round: Round) -> None:
    rating = Round.objects.get(verifies=round)
    for _rater in range(3):
        assert rate_all(rating, make_reviewer(rating), now=timezone.now()) == IMAGES


def act(page: Page, step: str, button: str) -> None:
    """Follow a step to the page of the language, and take the one step that stands there."""
    follow(page, step, "lions")
    # What comes before the colon is shown; a blank may be, too.
    page.get_by_role("button", name=re.compile(f"^{button.replace(':', ' ?:')}$")).click()
    expect(page.locator(".notice").first).to_contain_text(f"{button.partition(': ')[2]}: ")


def test_the_setup_leads_from_an_empty_database_to_a_release(page: Page) -> None:
    page.goto("/projects/")
    page.get_by_label("Name", exact=True).fill("Lions")
    page.get_by_role("button", name="Start a project").click()
    follow(page, "Images with licences", "lions")
    page.locator("input[type=file]").first.set_input_files(
        [
            *map(picture, range(IMAGES)),
            FilePayload(name="manifest.csv", mimeType="text/csv", buffer=MANIFEST.encode()),
            FilePayload(name="captions.jsonl", mimeType="application/jsonl", buffer=ENGLISH.encode()),
        ]
    )
    page.locator("main button[type=submit]").first.click()
    page.get_by_label("What the captions are").select_option("Captions by a model")
    page.get_by_label("Model", exact=True).fill("captioner")
    page.get_by_label("New collection").fill("Pictures")
    page.get_by_text("More about these files").click()
    page.locator("#id_language").select_option("en")
    page.get_by_role("button", name="Preview again").click()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="Add languages").click()
    page.get_by_label("Collection").select_option("Pictures")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("checkbox", name=re.compile("Swahili")).check()
    page.get_by_role("spinbutton", name="Captions per image").fill("1")
    page.get_by_role("spinbutton", name="Images per batch").fill("1")
    page.get_by_role("button", name="Add languages").last.click()
    follow(page, "Guidelines", "lions")
    page.get_by_label("For writing").fill("Write one sentence.")
    page.get_by_label("What changed, and why").fill("Shorter.")
    page.get_by_role("button", name="Publish this version").last.click()
    follow(page, "People", "lions")
    page.get_by_role("button", name="Create the invitation").click()
    expect(page.get_by_text(re.compile("/join/|/invitations/")).first).to_be_visible()
    pilot = Round.objects.get(kind=RoundKind.PILOT)
    # Tests of its own pass the practice that projects begin with.
    pilot.project.practice_sets.update(is_required=False)
    author = make_annotator(pilot, "ann")
    write_all(pilot, author)
    act(page, "Pilots", "Close: Pilot 1")
    act(page, "Decisions about the pilots", "Open: Rating of pilot 1")
    rate_by_three(pilot)
    act(page, "Decisions about the pilots", "Close: Rating of pilot 1")
    act(page, "Decisions about the pilots", "Accept: Pilot 1")
    act(page, "Main rounds", "Open: Main")
    main = Round.objects.get(kind=RoundKind.MAIN)
    write_all(main, author)
    act(page, "Main rounds", "Close: Main")
    act(page, "Verification", "Accept: Main")
    act(page, "Verification", "Open: Verification")
    rate_by_three(main)
    act(page, "Verification", "Close: Verification")
    follow(page, "Release", "lions")
    page.get_by_label("Authors").fill("Doe, Mia")
    page.get_by_label("Description").fill("Made to try the setup.")
    page.get_by_role("button", name="Make release").click()
    page.goto("/projects/lions/setup/")
    expect(page.locator(".setup__step--done")).to_have_count(11)
    release = Release.objects.get()
    assert (release.state, release.counts["captions"]) == (JobState.DONE, IMAGES)
    assert barriers(page) == []
