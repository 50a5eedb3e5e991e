"""Joining by a link for 36 languages on a telephone, and a manager's pages of invitations and cost in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from annotation.models import Round, Tally
from core.languages.models import Language
from core.people.models import Invitation, MailState, Project, User
from core.people.services.consent import publish_consent_text
from tests.browser.annotator import AWAKE, barriers, check_all, make_images, scrolls_sideways
from tests.browser.conftest import Visit
from tests.factories import make_annotator, make_round
from tests.people.invitations import link_of, make_invitation

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True}
DARK = {"color_scheme": "dark"}
PASSWORD = "seven tall giraffes"


@pytest.fixture
def invitation(project: Project) -> Invitation:
    publish_consent_text(project=project, body="I agree.", by=project.created_by, now=timezone.now())
    return make_invitation(project, languages=list(Language.objects.all()))


@pytest.fixture
def visitor(browser: Browser, live_server: Any, request: Any) -> Iterator[Page]:
    options = {"reduced_motion": "reduce", "locale": "en-GB", "base_url": live_server.url} | PHONE
    context = browser.new_context(**options | getattr(request, "param", {}))
    yield context.new_page()
    context.close()


@pytest.fixture
def page(visit: Visit, project: Project, request: Any) -> Page:
    return visit(project.created_by, **{"locale": "en-GB"} | getattr(request, "param", {}))


def fill_in(page: Page) -> None:
    page.get_by_label("Make an account with a password").check()
    page.get_by_label("User name").fill("somchai")
    password = page.get_by_label("Password", exact=True)
    password.fill(PASSWORD)
    show = page.get_by_role("button", name="Show password")
    if show.is_visible():
        show.click()
        expect(password).to_have_attribute("type", "text")
    page.get_by_label("I read English well").check()
    page.get_by_label("I have read the text above and agree to it").check()


def test_somebody_who_knows_thai_alone_finds_it_among_36_and_joins_on_a_telephone(
    visitor: Page, invitation: Invitation
) -> None:
    visitor.goto(link_of(invitation))
    assert not scrolls_sideways(visitor)
    rows = visitor.locator("[data-words]")
    expect(rows).to_have_count(36)
    find = visitor.get_by_label("Find a language")
    for words in ("ไทย", "thai", "TH"):
        find.fill(words)
        expect(visitor.get_by_label("ไทย")).to_be_visible()
    find.fill("thai")
    expect(rows.filter(visible=True)).to_have_count(1)
    find.press("Enter")  # Submits nothing.
    visitor.get_by_label("ไทย").select_option("native")
    find.fill("")
    expect(rows.filter(visible=True)).to_have_count(36)
    fill_in(visitor)
    assert barriers(visitor) == []
    visitor.get_by_role("button", name="Join").click()
    expect(visitor.get_by_role("heading", name="My work")).to_be_visible()
    expect(visitor.get_by_text("There is nothing to do for your role yet.")).to_be_visible()
    assert not scrolls_sideways(visitor)
    skills = User.objects.get(username="somchai").language_skills.values_list("language", "level")
    assert list(skills) == [("th", "native")]


@pytest.mark.long(reason="the whole way, whose steps other tests look at")
def test_the_first_caption_is_saved_five_pages_after_the_invitation_without_a_password(
    visitor: Page, project: Project
) -> None:
    round: Round = make_round(project=project, images=2, batch_size=1, language="te")
    make_images(round.collection)
    publish_consent_text(project=project, body="I agree.", by=project.created_by, now=timezone.now())
    invitation = make_invitation(project, languages=[round.language])
    pages: list[str] = []
    visitor.on("framenavigated", lambda frame: pages.append(frame.url))

    visitor.goto(link_of(invitation))
    assert visitor.locator("main :is(input, select, textarea):visible").count() == 7, (
        "2 ways, 3 levels, English, consent"
    )
    assert barriers(visitor) == []
    expect(visitor.locator("html")).to_have_attribute("lang", "te")
    visitor.locator("main button[type=submit]").click()
    level = visitor.locator("fieldset:has([name=level-te])")
    expect(level.locator("input").first).to_be_focused()
    expect(level.locator("legend")).to_be_in_viewport(ratio=0.99)
    for answer in ("[name=level-te][value=native]", "[name=reads_english]", "[name=consent]"):
        visitor.locator(answer).check()
    visitor.locator("main button[type=submit]").click()
    link = visitor.locator("#link").input_value()
    assert barriers(visitor) == []
    assert not scrolls_sideways(visitor)
    visitor.locator("main .actions a.button").click()
    visitor.locator("form[action$='/take/'] button").first.click()
    visitor.locator("#start").click()
    visitor.locator("#item-1 .level").nth(3).click()
    expect(visitor.locator(".rate__item [data-state=saved]")).to_have_count(1)
    visitor.locator(AWAKE).wait_for()
    visitor.locator("button[name=open]").click()
    visitor.locator("#confirm [value=open]").click()
    visitor.locator("#text").fill("చెట్టు కింద ఒక కుక్క నిద్రపోతోంది")
    expect(visitor.locator("#write [data-state=saved]")).to_be_attached()
    assert len(set(pages)) <= 5, pages
    other = visitor.context.browser.new_context(base_url=link.partition("/link/")[0]).new_page()
    other.goto(link)
    other.get_by_role("button", name="Continue").click()
    expect(other).to_have_url(re.compile("/work/$"))
    expect(other.locator("html")).to_have_attribute("lang", "te")
    other.context.close()


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
@pytest.mark.parametrize("visitor", [{"java_script_enabled": False}], ids=["without scripts"], indirect=True)
def test_the_same_works_without_scripts_and_nobody_joins_without_a_language(
    visitor: Page, invitation: Invitation
) -> None:
    visitor.goto(link_of(invitation))
    expect(visitor.get_by_label("Find a language")).to_be_hidden()
    fill_in(visitor)
    visitor.get_by_role("button", name="Join").click()
    errors = visitor.get_by_role("alert")
    expect(errors).to_contain_text("You need to know at least one of these languages")
    expect(errors).to_be_focused()
    fill_in(visitor)
    visitor.get_by_label("ไทย").select_option("native")
    visitor.get_by_role("button", name="Join").click()
    expect(visitor.get_by_role("heading", name="My work")).to_be_visible()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_manager_ticks_a_group_and_copies_a_link_for_each_language(page: Page) -> None:
    page.goto("/projects/lions/people/invitations/new/")
    for group, count in (("The core four", 4), ("The low-resource five", 9), ("The core four", 5), ("All 36", 36)):
        page.get_by_role("button", name=group).click()
        expect(page.locator('input[name="languages"]:checked')).to_have_count(count)
    page.get_by_label("A link for each language").check()
    page.get_by_role("button", name="Create the invitation").click()
    expect(page.get_by_text("36 links are ready.")).to_be_visible()
    lines = page.get_by_label("Language, role and link of the open invitations above").input_value().splitlines()
    assert len(lines) == Invitation.objects.count() == 36


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_manager_chooses_all_and_revokes_them_in_one_confirmed_step(page: Page, project: Project) -> None:
    for _number in range(3):
        make_invitation(project)
    page.goto("/projects/lions/people/invitations/")
    page.get_by_label("Choose all on this page").check()
    page.get_by_role("button", name="Revoke…").click()
    page.get_by_role("button", name="Revoke 3 invitations").click()
    expect(page.get_by_text("3 invitations were revoked.")).to_be_visible()
    assert not Invitation.objects.filter(revoked_at=None).exists()


@pytest.fixture
def addresses(project: Project) -> list[str]:
    """Every page of a manager about invitations and cost, with something of every kind on it."""
    round: Round = make_round(project=project, images=1)
    Tally.objects.create(round=round, person=make_annotator(round, "ann"), captions=3, writing_ms=3_600_000)
    now, about = timezone.now(), {"asked_by": project.created_by, "site": "http://testserver/"}
    make_invitation(project, languages=list(Language.objects.all()), places=5)
    make_invitation(project, expires_at=now - timedelta(days=1))
    for state in MailState:
        mail = {"state": state, "due_at": now, "asked_at": now, "sent_at": now if state == MailState.SENT else None}
        made = make_invitation(project, email=f"{state}@example.org", note="Of the university")
        made.mails.create(**about, **mail, reason="550 No such user" if state == MailState.FAILED else "")
    people = "/projects/lions/people/invitations"
    costs = "/projects/lions/costs"
    return [f"{people}/", f"{people}/new/", f"{people}/addresses/", f"{costs}/", f"{costs}/rates/"]


@pytest.mark.long(reason="axe reads other pages of the same parts")
@pytest.mark.parametrize(
    "page", [DARK, PHONE | {"locale": "ar"}], ids=["wide and dark", "narrow and Arabic"], indirect=True
)
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_screen(page: Page, addresses: list[str]) -> None:
    check_all(page, addresses)
    page.goto(addresses[0])
    page.locator("[data-ticks-all]").check()
    page.locator('button[value="extend"]').click()
    assert barriers(page) == []
    assert not scrolls_sideways(page)
    page.goto(addresses[2])
    page.locator("textarea").fill("address,languages,note\nzoe@example.org,de sw,Uni\n")
    page.locator("main button[type=submit]").click()
    expect(page.locator("td", has_text="Uni")).to_be_visible()
    assert barriers(page) == []
    assert not scrolls_sideways(page)
