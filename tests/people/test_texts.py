"""Texts of a project in the language of the page, with drafts and versions; and what is English stays English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from annotation.models import CaptionBatch
from annotation.services.feedback import give_feedback
from annotation.services.projects import publish_guidelines
from core.languages.rules.scripts import is_english
from core.people.models import Consent, TextKind, TextTranslation, User
from core.people.services import audit_log
from core.people.services.consent import publish_consent_text
from core.people.services.texts import StaleTranslationError, save_translation
from core.people.templatetags.written import written
from sxs_eval.models import RaterState, RaterStatus
from tests.annotation.submitting import take
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification
from tests.annotation.verifying import take as take_captions
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_comparison, make_language, make_project, make_rater, make_round
from tests.people.invitations import link_of, make_invitation, publish
from tests.sxs_eval.judged import take as take_pairs
from tools.scripts.checks.sources import own_apps

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
    def test_a_batch_records_the_translations_of_its_guidelines(self, round, hana):
        translate(round.project)
        rating = translate(round.project, body="बेहतर")
        writing = translate(round.project, TextKind.WRITING)
        with translation.override("hi"):
            take(round, hana)
        batch = CaptionBatch.objects.get()
        assert (batch.guidelines.version, batch.guidelines_language) == (1, "hi")
        assert (batch.rating_translation, batch.writing_translation) == (rating, writing)
        with translation.override("en"):
            take(round, make_annotator(round, "other"))
        other = CaptionBatch.objects.exclude(pk=batch.pk).get()
        assert (other.guidelines_language, other.rating_translation, other.writing_translation) == ("", None, None)

    def test_batches_of_captions_and_of_pairs_to_rate_record_theirs(self):
        written, _authors = make_captioned_round(language="hi", images=1)
        rating = translate(written.project)
        comparison = make_comparison(language="hi")
        instructions = translate(comparison.project, TextKind.INSTRUCTIONS)
        with translation.override("hi"):
            batch = take_captions(rated := make_verification(written), make_reviewer(rated))
            pairs = take_pairs(comparison, make_rater(comparison, "ravi"))
        assert (batch.rating_translation, pairs.instructions_translation) == (rating, instructions)

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
        assert manager.get(listed).content.decode().count(">reviewed<") == 1
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


ARABIC = {"accept-language": "ar"}
ENGLISH = "Name what is there, and what the people do."
LEFT_TO_RIGHT = 'lang="en" dir="ltr"'
AS_IT_BEGINS = 'lang="" dir="auto"'
DEFAULTS = sorted(path for app in own_apps() for path in Path(app.path).glob("defaults/*.en.md"))


@pytest.mark.parametrize("default", DEFAULTS, ids=lambda path: path.stem)
def test_our_own_texts_are_english(default: Path):
    assert is_english(default.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123",
        "اكتب جملة واحدة عن الصورة، and nothing else",
        "Beschreibe in einem Satz, was auf dem Bild zu sehen ist, und wie die Menschen aussehen.",
        "Beskriv billedet i en sætning, og sig hvad der er at se, for en ven som ikke kan se det.",
        "Beschrijf de foto in een zin: dat is of was genoeg voor een vriend die het niet kan zien.",
        "Décris la photo en une phrase, comme à un ami qui ne voit pas bien.",
        "Legenda nu are verb.",
        "Descrierea este bună, dar nu are destule detalii.",
        "Legenda are un verb, dar nu are subiect; fotografia are un titlu, The Beatles.",
        "En and i vannet",
        "Bu it değil",
        "En kop the",
    ],
)
def test_other_texts_are_not(text: str):
    assert not is_english(text)
    assert written(text) == AS_IT_BEGINS


def around(page: str, text: str) -> str:
    """The opening tag of the block that `text` stands in."""
    return re.findall(r"<[a-z]+ [^>]*\blang=[^>]*>", page[: page.index(text)])[-1]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_guidelines_what_changed_and_feedback_have_a_language_of_their_own(client: Client):
    round = make_round(language="ar")
    annotator, project = make_annotator(round, "amal"), round.project
    manager = project.created_by
    assert manager is not None
    publish_guidelines(
        project=project,
        rating=f"## R\n\n{ENGLISH}\n",
        writing="اكتب جملة واحدة\n",
        note=f"Note: {ENGLISH}",
        examples=(),
        by=manager,
        now=NOW,
    )
    note = give_feedback(round=round, person=annotator, text=ENGLISH, by=manager, now=NOW)
    client.force_login(annotator)
    page = client.get(reverse("annotation:guidelines-show", args=[project.slug]), headers=ARABIC).content.decode()
    assert 'dir="rtl"' in page
    assert LEFT_TO_RIGHT in around(page, f"Note: {ENGLISH}")
    assert LEFT_TO_RIGHT in around(page, f"<p>{ENGLISH}")
    assert AS_IT_BEGINS in around(page, "اكتب جملة واحدة")
    for address in (reverse("annotation:feedback-list"), reverse("annotation:feedback-show", args=[note.pk])):
        assert LEFT_TO_RIGHT in around(client.get(address, headers=ARABIC).content.decode(), ENGLISH)


def test_consent_texts_and_what_a_project_says_of_itself_too(client: Client):
    project = make_project()
    project.description = ENGLISH
    project.save()
    publish(project, f"Agreed: {ENGLISH}")
    page = client.get(link_of(make_invitation(project)), headers=ARABIC).content.decode()
    assert LEFT_TO_RIGHT in around(page, ENGLISH)
    assert LEFT_TO_RIGHT in around(page, f"Agreed: {ENGLISH}")


def test_instructions_for_raters_too(client: Client):
    comparison = make_comparison()
    client.force_login(make_rater(comparison, "ria"))
    address = reverse("sxs_eval:instructions-show", args=[comparison.project.slug])
    page = client.get(address, headers=ARABIC).content.decode()
    assert LEFT_TO_RIGHT in page


def test_reasons_in_the_log_too(client: Client):
    project = make_project()
    by = project.created_by
    client.force_login(by)
    for reason in (ENGLISH, "نسخ من الويب"):
        audit_log.record(
            project=project,
            action="annotator.paused",
            about="de",
            by=by,
            person=by,
            now=NOW,
            details={"reason": reason},
        )
    page = client.get(reverse("people:log-show", args=[project.slug]), headers=ARABIC).content.decode()
    assert LEFT_TO_RIGHT in around(page, ENGLISH)
    assert AS_IT_BEGINS in around(page, "نسخ من الويب")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_notes_on_raters_too(client: Client):
    comparison = make_comparison()
    project, rater = comparison.project, make_rater(comparison, "ria")
    RaterStatus.objects.create(
        comparison=comparison,
        person=rater,
        state=RaterState.EXCLUDED,
        decided_at=NOW,
        decided_by=project.created_by,
        note=ENGLISH,
    )
    client.force_login(project.created_by)
    address = reverse("sxs_eval:rater-list", args=[project.slug, comparison.pk])
    assert LEFT_TO_RIGHT in around(client.get(address, headers=ARABIC).content.decode(), ENGLISH)
