"""Every message on the pages of those who annotate, rate and play is marked.

tools/scripts/checks reads the catalogues.
"""

from __future__ import annotations

import calendar
import re
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.html import strip_tags
from django.utils.translation import gettext

from annotation.models import Guidelines
from annotation.services.batches import submit_batch
from core.languages.rules.page_languages import PAGE_LANGUAGES, is_of_work, is_page_of_work
from core.people.defaults import default_text
from core.people.models import Project, User
from core.people.rules.markdown import to_html
from gapgame.services import playing
from tests.annotation.submitting import submit_captions, take, write
from tests.clients import client_of
from tests.factories import (
    make_annotator,
    make_comparison,
    make_player,
    make_project,
    make_rater,
    make_round,
    make_season,
)
from tests.people.conftest import PASSWORD
from tests.people.invitations import link_of, make_invitation
from tests.pseudo import LANGUAGE, left_in_english, words_of
from tests.pseudo import pseudo as pseudo
from tests.recruitment.panel import Panel, make_study
from tests.sxs_eval.judged import take as take_pairs

NAMES = {
    "Crosslens",
    "Prolific",
    "Enter",
    "Backspace",
    "Esc",
    "UTC",
    "Bahasa",
    "Indonesia",
    "Email",
    "Alamat",
    "e-mail",
    *calendar.month_name,
}
"""Also months and the word for an address: Django and allauth have them in Indonesian."""
OWN_NAMES = [own_name for _code, own_name in PAGE_LANGUAGES]


@pytest.fixture
def project() -> Project:
    made = make_project("lions")
    Project.objects.update(name="Львы")
    Guidelines.objects.update(rating="Оцените.", writing="Опишите.")
    made.consent_texts.update(body="Согласие.")
    made.refresh_from_db()
    return made


def page_of(client: Client, address: str, *, status: int = 200) -> str:
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = LANGUAGE
    answer = client.get(address)
    assert answer.status_code == status, address
    return answer.content.decode()


def translated(code: str, message: str) -> str:
    with translation.override(code):
        return gettext(message)


def check(page: str, *names: str) -> None:
    assert f'<html lang="{LANGUAGE}"' in page
    assert "⟦" in page
    known = NAMES | set(words_of(" ".join(names)))
    # Dates are not messages: ICU writes them, and some months are called alike in two languages.
    page = re.sub(r"<time.*?</time>|panel-[0-9a-f]+|manager-of-lions|[\w.-]+@[\w.]+", "", page)
    assert list(left_in_english(page, known)) == []


@pytest.mark.django_db
class TestPseudoLocale:
    def test_a_word_that_is_not_marked_is_found(self) -> None:
        page = '<p>⟦Take ⟦two⟧ batches···⟧ now <bdi>anna</bdi> <b lang="en">words</b></p><img alt="A cat">'
        assert list(left_in_english(page, {"cat"})) == ["now"]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_annotators(self, project: Project, pseudo: str) -> None:
        round = make_round(project=project, images=6, batch_size=2, language="te")
        anna = make_annotator(round, "аня")
        client, now = client_of(anna), timezone.now()
        check(page_of(client, reverse("annotation:work-show")), round.title)
        submit_captions(round, anna, "పిల్లి", now=now)
        batch = take(round, anna, now=now)
        check(page_of(client, reverse("annotation:batch-rate", args=[batch.pk])), round.title)
        write(batch, anna, "పిల్లి", now=now)
        of_batch = {"caption-write": [batch.pk, 1], "batch-review": [batch.pk], "batch-return": [batch.pk]}
        others: dict[str, list[Any]] = {"history-show": [], "captions-show": [], "feedback-list": [], "work-show": []}
        for name, arguments in (of_batch | others | {"guidelines-show": ["lions"]}).items():
            check(page_of(client, reverse(f"annotation:{name}", args=arguments)), round.title)
        done = submit_batch(batch_id=batch.pk, person=anna, now=now)
        check(page_of(client, reverse("annotation:batch-done", args=[done.pk])), round.title)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_raters(self, project: Project, pseudo: str) -> None:
        comparison = make_comparison(project=project, images=3, batch_size=3, language="te")
        rita = make_rater(comparison, "рита")
        client = client_of(rita)
        check(page_of(client, reverse("sxs_eval:work-show")))
        batch = take_pairs(comparison, rita, now=timezone.now())
        check(page_of(client, reverse("sxs_eval:batch-show", args=[batch.pk])))
        instructions = to_html(default_text("instructions", LANGUAGE))
        check(page_of(client, reverse("sxs_eval:instructions-show", args=["lions"])), strip_tags(instructions))

    def test_players(self, project: Project, pseudo: str) -> None:
        now = timezone.now()
        times: dict[str, Any] = {"starts_at": now - timedelta(days=1), "ends_at": now + timedelta(days=1)}
        season = make_season(project=project, name="Сезон", **times)
        player = make_player(season, "павел", nickname="павел")
        client = client_of(player.user)
        check(page_of(client, reverse("gapgame:game-home")))
        for name in ("season-show", "rules-show"):
            check(page_of(client, reverse(f"gapgame:{name}", args=[season.slug])))
        who: dict[str, Any] = {"player_id": player.pk, "user": player.user, "now": now}
        playing.take_batch(**who, language="en", rng=Random(1))
        turn = playing.open_turn(**who)
        assert turn is not None
        # Its sentence is English: “Sentence 1 has the … here”.
        check(page_of(client, reverse("gapgame:turn-show", args=[turn.pk])), "Sentence the here")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_everybody(self, project: Project, pseudo: str) -> None:
        round = make_round(project=project, language="te")
        client = client_of(make_annotator(round, "аня"))
        for name in ("profile-show", "session-list", "account-delete"):
            check(page_of(client, reverse(f"people:{name}")), *OWN_NAMES)
        check(page_of(client, reverse("people:consent-withdraw", args=["lions"])))
        check(page_of(client, "/nothing/here/", status=404))
        for name in ("account_login", "account_reset_password", "people:home-show"):
            check(page_of(Client(), reverse(name)))

    def test_who_joins_is_welcomed_in_their_language(self, project: Project, pseudo: str) -> None:
        account = {"username": "аня", "email": "anya@example.org", "password": PASSWORD}
        answers = {"level-de": "advanced", "consent": "on", "consent_version": "1"}
        client = Client()
        client.cookies[settings.LANGUAGE_COOKIE_NAME] = LANGUAGE
        joined = client.post(link_of(make_invitation(project)), account | answers, follow=True)
        page = joined.content.decode()
        check(page)
        assert page.count("⟦Welcome to Львы.") == page.count("⟦We have sent a link to anya@example.org.") == 1
        assert "⟦Captions are written by people" in page

    def test_people_of_a_panel(self, project: Project, pseudo: str) -> None:
        round = make_round(project=project, images=2, batch_size=2, language="de")
        panel = Panel(make_study(project))
        check(page_of(panel.browser("5f1a"), panel.address("5f1a")))
        assert round.pk
        check(panel.send("5f1a").content.decode(), round.title)
        check(page_of(panel.browser("5f1a"), reverse("recruitment:study-finish")))
        entrance = reverse("recruitment:study-enter", args=[panel.study.token])
        check(page_of(Client(), entrance, status=400), "PID", "PROLIFIC")

    def test_pages_of_managers_are_in_english_whole(self, project: Project, pseudo: str) -> None:
        client = client_of(project.created_by)
        client.cookies[settings.LANGUAGE_COOKIE_NAME] = LANGUAGE
        page = client.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        assert '<html lang="en"' in page
        assert "⟦" not in page


def test_every_e_mail_but_the_managers_digest_is_in_all_languages() -> None:
    mails = [path.relative_to(settings.BASE_DIR) for path in settings.BASE_DIR.glob("templates/**/email/*")]
    of_managers = [path.name for path in mails if not is_of_work(path.as_posix())]
    assert sorted(of_managers) == ["digest.html", "digest.txt", "digest_subject.txt"]


def test_the_e_mails_of_allauth_are_in_languages_that_it_lacks() -> None:
    details: dict[str, Any] = {
        "activate_url": "https://x/",
        "username": "ann",
        "email": "a@b",
        "user": User(username="ann"),
    }
    details |= {"password_reset_url": "https://x/"}
    for name in ("email_confirmation", "password_reset_key", "account_already_exists"):
        for part in ("subject", "message"):
            english = render_to_string(f"account/email/{name}_{part}.txt", details)
            for code, _own_name in PAGE_LANGUAGES[1:]:
                with translation.override(code):
                    said = render_to_string(f"account/email/{name}_{part}.txt", details)
                assert words_of(said)[:3] != words_of(english)[:3], (name, part, code)


@pytest.mark.parametrize(
    ("module", "address", "is_of_work"),
    [
        ("annotation.views.work", "annotation:work-show", True),
        ("annotation.views.workers", "annotation:quality-show", False),
        ("annotation.views.guidelines", "annotation:guidelines-show", True),
        ("annotation.views.guidelines", "annotation:guidelines-edit", False),
        ("allauth.mfa.totp.views", "mfa_activate_totp", True),
    ],
)
def test_which_pages_are_of_work(module: str, address: str, *, is_of_work: bool) -> None:
    assert is_page_of_work(module, address) is is_of_work


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_a_language_is_chosen_from_the_list_and_the_page_says_that_nobody_reviewed_it(client: Client) -> None:
    page = client.get(reverse("account_login")).content.decode()
    assert '<option value="en" lang="en" dir="ltr" selected>English</option>' in page
    client.post(reverse("set_language"), {"language": "sw", "next": "/"})
    page = client.get(reverse("account_login")).content.decode()
    assert '<html lang="sw" dir="ltr">' in page
    assert translated("sw", "No native speaker has reviewed this translation yet.") in page
