"""The practice that a new project begins with: in the language that is worked in, reviewed and published like texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.rules.text_checks import soft_warnings
from annotation.services.projects import create_empty_project
from core.languages.models import Language
from core.languages.rules.registry import LANGUAGES
from core.people.defaults import default_text
from core.people.models import LanguageSkill, Project, Role, TextKind, User
from core.people.rules.consent_parts import PartsError
from core.people.rules.review_links import link_token
from core.people.selectors.qualification import WorkKind, missing_requirements_of
from core.people.selectors.texts import MACHINE, TranslationState, originals_of, translation_rows
from core.people.services.texts import save_translation
from office.dashboard.formats.campaign_file import write_campaign
from office.dashboard.selectors.campaign_file import campaign_of
from office.dashboard.services.projects import duplicate_project
from office.practice.models import PracticeAttempt, PracticeKind, PracticeSet
from office.practice.rules.grading import unmentioned_words
from office.practice.rules.texts import read_text
from office.practice.selectors.managing import data_export
from office.practice.selectors.practising import items_of, practice_states
from office.practice.selectors.texts import TEXT_KINDS
from office.practice.services.attempts import answer_item, start_attempt
from office.practice.services.sets import publish_practice, switch_practice
from tests.clients import client_of
from tests.dashboard.test_campaign_file import problems_of
from tests.factories import NOW, join_project, make_language, make_user
from tests.practice.making import new_item
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
TELUGU = "te"
RATING, WRITING, COMPARING = PracticeKind.RATING, PracticeKind.WRITING, PracticeKind.COMPARING


@pytest.fixture
def project() -> Project:
    return create_empty_project(creator=make_user("maria"), name="Birds", now=NOW)


def member(project: Project, name: str, role: Role = Role.ANNOTATOR) -> User:
    user = make_user(name, reads_english=True)
    LanguageSkill.objects.create(user=user, language=make_language(TELUGU), level="native")
    return join_project(project, user, role)


@pytest.fixture
def asha(project) -> User:
    return member(project, "asha")


def begin(person: User, project: Project, kind: str, language: str = TELUGU) -> PracticeAttempt:
    return start_attempt(person=person, project=project, kind=kind, language=language, now=NOW)


def words(kind: str, tag: str = TELUGU) -> list[Any]:
    return read_text(default_text(TEXT_KINDS[kind], tag))


def publish(project: Project, kind: str, body: str, **about: Any) -> None:
    language = make_language(TELUGU)
    about = {"publishes": True, "by": project.created_by, "now": NOW, "version": 1, **about}
    save_translation(project=project, kind=TEXT_KINDS[kind], language=language, body=body, **about)


def work_of(project: Project) -> WorkKind:
    return WorkKind(project.pk, Role.ANNOTATOR, make_language(TELUGU), needs_english=True, tasks=("rating", "writing"))


def test_what_is_called_a_good_caption_is_one_in_every_language():
    for tag, language in Language.objects.in_bulk([one.tag for one in LANGUAGES]).items():
        about = {"language": tag, "spaced": language.spaced}
        everything = {caption for kind in PracticeKind for example in words(kind, tag) for caption in example.captions}
        for example in words(WRITING, tag):
            assert soft_warnings(example.captions[0], language=language, others=()) == [], tag
            assert example.mentions
            assert unmentioned_words(example.captions[0], example.mentions, **about) == [], tag
            for other in everything - set(example.captions):
                assert unmentioned_words(other, example.mentions, **about), (tag, other)
        assert all(len(set(example.captions)) == 2 for example in words(COMPARING, tag)), tag


@pytest.mark.parametrize(
    ("tag", "what", "mentioned", "not_mentioned"),
    [
        ("ar", 0, ["القطة تنام", "هرّ أسود", "وقطتان", "بالقط", "للقطة"], ["ظهرت امرأة", "شهر"]),
        ("cs", 0, ["Kočku vidím", "s kočkami", "černý kocour"], ["Dětský kočár"]),
        ("da", 0, ["Katten", "kattene", "en huskat"], ["En mission", "En kasse"]),
        ("de", 1, ["mit einem Regenschirm", "Sonnenschirme"], ["Ein Bildschirm"]),
        ("en", 0, ["Two cats", "A cat."], ["A category", "A bobcat"]),
        ("he", 0, ["החתול ישן", "והחתולה"], ["כלב"]),
        ("ko", 0, ["고양이가 앉아 있다", "검은고양이 한 마리"], ["강아지가 앉아 있다"]),
        ("ko", 1, ["우산을 쓴 여자"], ["비를 맞는 여자"]),
        ("quz", 0, ["Yana misikunapaq"], ["Huk allqo"]),
        ("ru", 0, ["Чёрный кот сидит", "с кошками", "Котёнок", "кошечка"], ["дом, который", "скот"]),
        ("uk", 0, ["Чорного кота", "два коти", "кіт"], ["дім, котрий стоїть", "скот"]),
        ("vi", 1, ["Một chiếc ô", "cầm dù"], ["Một cô gái không đi", "Ông đi dưới mưa", "cái đùi"]),
        ("th", 0, ["มีแมวสองตัว"], ["มีหมาสองตัว"]),
    ],
)
def test_inflected_words_are_found_and_other_words_are_not(tag, what, mentioned, not_mentioned):
    mentions, about = words(WRITING, tag)[what].mentions, {"language": tag, "spaced": make_language(tag).spaced}
    assert [text for text in mentioned if unmentioned_words(text, mentions, **about)] == []
    assert [text for text in not_mentioned if not unmentioned_words(text, mentions, **about)] == []


def test_writers_practise_in_their_language_but_rate_the_english_captions_of_screen_1(project, asha):
    rated = begin(asha, project, RATING)
    assert (rated.language_id, rated.working_language_id) == ("en", TELUGU)
    [shown, *_more] = items_of(rated)
    assert (shown.caption, shown.why) == (words(RATING, "en")[0].captions[0], words(RATING)[0].why)
    written = begin(asha, project, WRITING)
    [cat, umbrella] = items_of(written)
    assert (cat.language_id, cat.caption, cat.why) == (TELUGU, words(WRITING)[0].captions[0], words(WRITING)[0].why)
    assert not answer_item(attempt=written, position=1, answer=umbrella.caption, now=NOW).is_right
    assert answer_item(attempt=written, position=2, answer=umbrella.caption, now=NOW).is_right


def test_raters_and_reviewers_practise_on_captions_of_their_language(project):
    rater = member(project, "ravi", Role.RATER)
    for kind in (RATING, COMPARING):
        attempt = begin(rater, project, kind)
        assert attempt.language_id == TELUGU
        assert [item.caption for item in items_of(attempt)] == [one.captions[0] for one in words(kind)]
    assert [item.other_caption for item in items_of(attempt)] == [one.captions[1] for one in words(COMPARING)]


def test_pages_show_drawings_and_reasons_in_the_language(project, asha):
    client = client_of(asha)
    show = client.get(reverse("practice:practice-show", args=[project.slug])).content.decode()
    assert "Right answers needed to pass: 2 of 3" in show
    start = reverse("practice:practice-start", args=[project.slug])
    address = client.post(start, {"kind": "rating", "language": TELUGU})["Location"]
    page = client.get(address).content.decode()
    assert "img/practice/house" in page
    assert 'lang="en"' in page
    told = client.post(address, {"position": 1, "answer": "EXCELLENT"}, follow=True).content.decode()
    assert f'<div class="prose" lang="te" dir="ltr"><p>{words(RATING)[0].why}</p>' in told
    attempt = PracticeAttempt.objects.get()
    manager = client_of(project.created_by)
    review = manager.get(reverse("practice:attempt-review", args=[project.slug, attempt.pk])).content.decode()
    assert "by machine, not reviewed" in review
    [part] = data_export(asha)
    [row] = part.rows
    assert (row["captions_in"], row["translation_revision"], row["version"]) == ("en", 0, 1)


def test_a_manager_switches_it_off_and_on_and_translations_stay(project, asha):
    publish(project, WRITING, default_text(TextKind.PRACTICE_WRITING, TELUGU).replace("*", "_"))
    assert [one.code for one in missing_requirements_of(asha, [work_of(project)])[0]] == ["practice"]
    manager = client_of(project.created_by)
    for kind in (RATING, WRITING):
        switch = reverse("practice:practice-switch", args=[project.slug, kind])
        for _twice in range(2):
            assert manager.post(switch, {"on": "0"}).status_code == 302
    assert missing_requirements_of(asha, [work_of(project)]) == [[]]
    page = manager.get(reverse("practice:practice-list", args=[project.slug])).content.decode()
    assert (page.count("Switch on"), page.count("Switch off")) == (2, 1)
    newest = PracticeSet.objects.get(kind=RATING, version=2)
    assert [item.drawing for item in newest.items.all()] == ["house", "boat", "ball"]
    [state] = practice_states(asha, [(project.pk, WRITING, TELUGU)])
    assert (state.translation.version, state.translation.reviewer) == (2, "maria")
    manager.post(switch, {"on": "1"})
    assert [one.code for one in missing_requirements_of(asha, [work_of(project)])[0]] == ["practice"]
    assert manager.post(reverse("practice:practice-switch", args=[project.slug, "x"])).status_code == 404


def test_twenty_kinds_of_work_ask_the_database_no_more_than_one(project, asha):
    tags = [one.tag for one in LANGUAGES if one.tag != "en"][:20]
    for tag in tags:
        LanguageSkill.objects.update_or_create(user=asha, language=make_language(tag), defaults={"level": "native"})
    works = [replace(work_of(project), language=make_language(tag)) for tag in tags]
    one, twenty = (queries_of(lambda: missing_requirements_of(asha, some)) for some in (works[:1], works))  # noqa: B023
    assert len(twenty) == len(one) <= 11
    for practice in project.practice_sets.all():
        switch_practice(practice=practice, is_required=False, by=project.created_by, now=NOW)
    assert len(queries_of(lambda: missing_requirements_of(asha, works))) == 6


def test_a_manager_edits_the_examples_that_we_bring(project):
    manager = client_of(project.created_by)
    address = reverse("practice:practice-edit", args=[project.slug, RATING])
    page = manager.get(address)
    assert "img/practice/boat" in page.content.decode()
    sent = {"pass_percent": 60, "tries": 3, "after": 1, "do": "publish"}
    for form, _image in page.context["examples"]:
        fields = {field.html_name: field.value() for field in form if field.value()}
        sent |= fields | {form.add_prefix("image"): ""}
    assert manager.post(address, sent | {"example-0-caption": "A house and a tree."}).status_code == 302
    house, *_more = PracticeSet.objects.get(kind=RATING, version=2).items.all()
    assert (house.drawing, house.caption, house.answer) == ("house", "A house and a tree.", "EXCELLENT")


def test_an_example_without_an_image_and_a_drawing_is_refused(project):
    manager = client_of(project.created_by)
    example = {"image": "", "language": "en", "caption": "A dog", "answer": "GOOD", "why": "It says so."}
    sent = {f"example-0-{name}": value for name, value in example.items()}
    sent |= {"pass_percent": "60", "tries": "3", "after": "1", "do": "publish"}
    answer = manager.post(reverse("practice:practice-edit", args=[project.slug, "rating"]), sent)
    assert answer.status_code == 422
    assert "Choose an image first." in answer.content.decode()


class TestTranslations:
    def states(self, project: Project) -> dict[TextKind, TranslationState]:
        [(_language, cells)] = translation_rows(project, originals_of(project), [make_language(TELUGU)])
        return {cell.kind: cell.state for cell in cells}

    def test_a_reviewer_publishes_it_by_their_link_and_later_tries_read_it(self, project, asha):
        assert self.states(project)[TextKind.PRACTICE_WRITING] == TranslationState.MACHINE
        before = begin(asha, project, WRITING)
        assert (before.translation.drafted_by, before.translation.revision) == (MACHINE, 0)
        address = reverse("people:review-text", args=[link_token(project.pk, TELUGU), "practice-writing"])
        page = Client().get(address).content.decode()
        assert "Lines with &gt; are captions" in page
        better = default_text(TextKind.PRACTICE_WRITING, TELUGU).replace(words(WRITING)[0].why, "కొత్త కారణం")
        said = {"version": "1", "body": better, "reviewed_by": "Padma", "do": "publish"}
        lacking = better.partition("## 2")[0]
        refused = Client().post(address, said | {"body": lacking})
        assert "as many lines with ## and with &gt; as in the original" in refused.content.decode()
        assert Client().post(address, said).status_code == 302
        assert self.states(project)[TextKind.PRACTICE_WRITING] == TranslationState.REVIEWED
        assert items_of(before)[0].why == words(WRITING)[0].why, "the open try keeps what it began with"
        later = begin(member(project, "usha"), project, WRITING)
        assert (later.translation.reviewer, items_of(later)[0].why) == ("Padma", "కొత్త కారణం")

    def test_a_draft_is_read_by_nobody(self, project, asha):
        publish(project, WRITING, "కొత్త", publishes=False)
        assert begin(asha, project, WRITING).translation.drafted_by == MACHINE

    def test_the_service_refuses_what_lacks_a_caption(self, project):
        body = default_text(TextKind.PRACTICE_COMPARING, TELUGU)
        with pytest.raises(PartsError):
            publish(project, COMPARING, body.replace(f"> {words(COMPARING)[0].captions[1]}\n", "", 1))

    def test_examples_of_a_manager_are_in_english_with_that_mark_until_somebody_translates_them(self, project, asha):
        item = new_item(WRITING)
        publish_practice(project=project, kind=WRITING, items=[item], by=project.created_by, now=NOW)
        assert self.states(project)[TextKind.PRACTICE_WRITING] == TranslationState.NONE
        attempt = begin(asha, project, WRITING)
        assert (attempt.language_id, attempt.translation, items_of(attempt)[0].why) == ("en", None, "Reason 1.")
        client = client_of(asha)
        address = reverse("practice:attempt-show", args=[attempt.pk])
        told = client.post(address, {"position": 1, "answer": "A dog in the snow"}, follow=True).content.decode()
        assert '<span class="tag">English</span>' in told
        body = "## 1\n\n> మంచులో ఒక కుక్క పరుగెత్తుతోంది.\n\n= కుక్క\n\nకారణం."
        publish(project, WRITING, body, version=2)
        usha = member(project, "usha")
        [shown] = items_of(begin(usha, project, WRITING))
        assert (shown.language_id, shown.mentions, shown.why) == (TELUGU, "కుక్క", "కారణం.")

    def test_who_passed_in_english_need_not_practise_again_in_a_translation_that_comes_later(self, project, asha):
        publish_practice(project=project, kind=WRITING, items=[new_item(WRITING)], by=project.created_by, now=NOW)
        attempt = begin(asha, project, WRITING)
        LanguageSkill.objects.create(user=asha, language=make_language("hi"), level="native")
        answer_item(attempt=attempt, position=1, answer="మంచులో ఒక కుక్క పరుగెత్తుతోంది", now=NOW)
        publish(project, WRITING, "## 1\n\n> మంచులో ఒక కుక్క.\n\nకారణం.", version=2)
        [telugu, hindi] = practice_states(asha, [(project.pk, WRITING, TELUGU), (project.pk, WRITING, "hi")])
        assert telugu.has_passed
        assert hindi.has_passed


def test_passing_in_one_language_is_not_passing_in_another_whose_captions_differ(project, asha):
    attempt = begin(asha, project, WRITING)
    for item in items_of(attempt):
        answer_item(attempt=attempt, position=item.position, answer=item.caption, now=NOW)
    [telugu, hindi] = practice_states(asha, [(project.pk, WRITING, TELUGU), (project.pk, WRITING, "hi")])
    assert (telugu.has_passed, hindi.has_passed, hindi.language_id) == (True, False, "hi")


def test_a_copy_of_a_project_has_its_practice_with_published_translations(project):
    publish(project, WRITING, default_text(TextKind.PRACTICE_WRITING, TELUGU), drafted_by="x")
    made = duplicate_project(project=project, name="Copy", languages=[], seed=1, by=project.created_by, now=NOW)
    assert made.practice_sets.count() == 3
    assert made.text_translations.get().kind == TextKind.PRACTICE_WRITING


def test_the_file_of_a_campaign_names_the_drawings(project):
    examples = campaign_of(project)["practice"]["rating"]["examples"]
    assert [one["drawing"] for one in examples] == ["house", "boat", "ball"]
    assert "image" not in examples[0]
    text = write_campaign(campaign_of(project)).replace('drawing = "house"', 'drawing = "house"\nimage = "a.png"', 1)
    assert "practice.rating.examples[0].drawing: 'house' is not allowed beside an image." in problems_of(text)


def test_a_reason_of_several_paragraphs_and_its_list_stay_in_the_text():
    text = "## 1\n\n> A dog.\n\n= dog\n= snow\n\nReason:\n\n- one\n\n> two\n"
    [one] = read_text(text)
    assert (one.captions, one.mentions, one.why) == (("A dog.",), "dog\nsnow", "Reason:\n\n- one\n\n> two")
