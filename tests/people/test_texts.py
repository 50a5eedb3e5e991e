"""Consent, guidelines and instructions in the language of the page: drafts, versions, and what is recorded."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from annotation.models import CaptionBatch
from annotation.services.projects import publish_guidelines
from core.people.models import Consent, TextKind, TextTranslation, User
from core.people.services.consent import publish_consent_text
from core.people.services.texts import StaleTranslationError, save_translation
from tests.annotation.submitting import take
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_comparison, make_language, make_rater, make_round

pytestmark = pytest.mark.django_db
HINDI = "## चित्र का वर्णन करें"


@pytest.fixture
def round():
    return make_round(language="hi")


@pytest.fixture
def hana(round) -> User:
    return make_annotator(round, "hana")


def reader(user: User, code: str = "hi") -> Client:
    """Somebody whose browser asks for pages in this language."""
    client = client_of(user)
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = code
    return client


def translate(project, kind=TextKind.RATING, *, version=1, publishes=True, body=HINDI, language="hi", **about):
    return save_translation(
        project=project, kind=kind, language=make_language(language), version=version, body=body,
        publishes=publishes, by=project.created_by, now=NOW, **about,
    )  # fmt: skip


def guidelines(client: Client, project, **query: str) -> str:
    return client.get(reverse("annotation:guidelines-show", args=[project.slug]), query).content.decode()


class TestReading:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_published_translation_is_shown_with_its_language_and_direction(self, round, hana):
        translate(round.project)
        page = guidelines(reader(hana), round.project)
        assert '<div class="prose" lang="hi" dir="ltr">' in page
        assert "चित्र का वर्णन करें" in page
        assert page.count('<div class="prose" lang="hi"') == 1, "writing has none yet"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_original_is_a_link_away_and_back(self, round, hana):
        translate(round.project)
        page = guidelines(reader(hana), round.project, text="original")
        assert HINDI[3:] not in page
        assert '<div class="prose" lang="hi"' not in page
        assert 'href="?text=original"' in guidelines(reader(hana), round.project)

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("about", [{"publishes": False}, {"language": "te"}])
    def test_drafts_and_other_languages_are_not_shown(self, round, hana, about):
        translate(round.project, **about)
        assert HINDI[3:] not in guidelines(reader(hana), round.project)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_translation_of_an_older_version_is_not_shown_for_the_newer(self, round, hana):
        translate(round.project)
        publish_guidelines(
            project=round.project, rating="## Anew", writing="## Anew", by=round.project.created_by, now=NOW
        )
        assert HINDI[3:] not in guidelines(reader(hana), round.project)
        assert HINDI[3:] in guidelines(reader(hana), round.project, version="1")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_chinese_and_norwegian_pages_find_theirs(self, round, hana):
        """Django calls Chinese and Norwegian otherwise than the languages do."""
        for tag, code, body in (("zh", "zh-hans", "描述图片"), ("no", "nb", "Beskriv bildet")):
            translate(round.project, language=tag, body=body)
            assert body in guidelines(reader(hana, code), round.project)

    def test_raters_read_instructions_in_their_language(self):
        comparison = make_comparison(language="hi")
        rater = make_rater(comparison, "ravi")
        translate(comparison.project, TextKind.INSTRUCTIONS)
        address = reverse("sxs_eval:instructions-show", args=[comparison.project.slug])
        assert HINDI[3:] in reader(rater).get(address).content.decode()


class TestWhatIsRecorded:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_batch_records_the_language_of_its_guidelines(self, round, hana):
        translate(round.project)
        with translation.override("hi"):
            take(round, hana)
        batch = CaptionBatch.objects.get()
        assert (batch.guidelines.version, batch.guidelines_language) == (1, "hi")
        with translation.override("en"):
            take(round, make_annotator(round, "other"))
        assert CaptionBatch.objects.exclude(pk=batch.pk).get().guidelines_language == ""

    def test_a_consent_records_the_translation_that_was_read(self, round, hana):
        publish_consent_text(project=round.project, body="Agree?", by=round.project.created_by, now=NOW)
        made = translate(round.project, TextKind.CONSENT, version=2, body="क्या आप सहमत हैं?")
        client = reader(hana)
        address = reverse("people:consent-give", args=[round.project.slug])
        assert "क्या आप सहमत हैं?" in client.get(address).content.decode()
        client.post(address, {"version": "2", "consent": "on"})
        assert Consent.objects.get(user=hana, text__version=2).translation == made


class TestTranslating:
    def test_what_was_published_is_followed_and_never_edited(self, round):
        first = translate(round.project)
        draft = translate(round.project, body="बेहतर", publishes=False)
        assert translate(round.project, body="सबसे अच्छा").pk == draft.pk
        first.refresh_from_db()
        assert (first.body, first.revision, draft.revision) == (HINDI, 1, 2)
        assert round.project.audit_entries.filter(action="translation.published").count() == 2

    def test_a_text_that_has_a_newer_version_is_refused(self, round):
        publish_guidelines(project=round.project, rating="A", writing="B", by=round.project.created_by, now=NOW)
        with pytest.raises(StaleTranslationError):
            translate(round.project, version=1)

    def test_a_manager_drafts_and_publishes(self, round, hana):
        manager = client_of(round.project.created_by)
        address = reverse("people:text-translate", args=[round.project.slug, "rating", "hi"])
        page = manager.get(address).content.decode()
        assert 'lang="hi"' in page
        assert manager.post(address, {"version": "1", "body": HINDI, "do": "draft"}).status_code == 302
        listed = reverse("people:text-list", args=[round.project.slug])
        assert manager.get(listed).content.decode().count(">draft<") == 1
        assert HINDI in manager.get(address).content.decode()
        assert manager.post(address, {"version": "1", "body": HINDI, "do": "publish"}).status_code == 302
        assert manager.get(listed).content.decode().count(">published<") == 1
        assert HINDI[3:] in guidelines(reader(hana), round.project)

    def test_what_was_typed_stays_where_the_text_has_changed(self, round):
        manager = client_of(round.project.created_by)
        address = reverse("people:text-translate", args=[round.project.slug, "rating", "hi"])
        publish_guidelines(project=round.project, rating="A", writing="B", by=round.project.created_by, now=NOW)
        answered = manager.post(address, {"version": "1", "body": HINDI, "do": "publish"})
        assert answered.status_code == 409
        assert HINDI in answered.content.decode()
        assert 'name="version" value="2"' in answered.content.decode()
        assert not TextTranslation.objects.exists()

    @pytest.mark.parametrize("parts", [("singing", "hi"), ("rating", "xx"), ("instructions", "hi")])
    def test_unknown_texts_and_languages_are_not_found(self, round, parts):
        address = reverse("people:text-translate", args=[round.project.slug, *parts])
        assert client_of(round.project.created_by).get(address).status_code == 404
