"""What the demo begins with, its photographs aside, which are drawn here."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from django.test import TestCase, override_settings
from django.urls import reverse
from django.utils import timezone

from annotation.models import Caption, CaptionBatch, CaptionItem, Release, Stage
from annotation.permissions import missing_requirements
from annotation.services import batches
from core.allocation.models import BatchState, Task
from core.images.models import Collection, Image, ImportJob
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.models import ConsentText, Membership, Project, Role, User
from core.people.permissions import may_start_projects
from core.people.rules.roles import conflicting_roles
from core.people.services.consent import withdraw_consent
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from gapgame.models import GapItem, Season, SeasonAccess, Turn, TurnOutcome
from office.dashboard.formats.campaign_file import campaign_text, read_campaign
from office.dashboard.services.campaign.applying import apply_campaign
from research.inference.models import ModelCaption
from research.scoring.models import Pass
from research.scoring.services.scoring_passes import run_pass
from research.selection.models import SelectedImage, Selection
from sxs_eval.models import Comparison, GoldPair, Judgement, JudgingBatch, RaterStatus, TrialKind
from sxs_eval.rules.judging import are_equal
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.selectors.results import report_of
from sxs_eval.selectors.work import judging_page, work_of
from sxs_eval.services import judging
from tests.demo_drawings import KEYS, SENTENCES, draw
from tools.demo import content, evaluations, games, people, places
from tools.demo.texts import CAPTIONS, MODEL_NAME, MODELS, RICH, TEXTS

# The demo is kept in SQLite and nowhere else.
pytestmark = pytest.mark.sqlite


def project_people(project, role):
    return User.objects.filter(memberships__project=project, memberships__role=role)


def written_here():
    """The captions of the project that is in the middle of its campaign."""
    return Caption.objects.filter(round__project__name=content.PROJECT_NAME)


def key_of(image):
    return image.entries.get(collection__name=content.COLLECTION_NAME).key


@pytest.fixture(scope="module")
def demo(django_db_setup, django_db_blocker, tmp_path_factory):
    """A demo that is loaded once, in a transaction around the tests of this module; each undoes what it does."""
    var = tmp_path_factory.mktemp("demo")
    with django_db_blocker.unblock():
        around = TestCase._enter_atomics()  # type: ignore[attr-defined]  # durable blocks know it
        try:
            with pytest.MonkeyPatch.context() as patch, override_settings(VAR=var):
                draw(var, patch)
                people = content.load()
            yield var, people
        finally:
            TestCase._rollback_atomics(around)  # type: ignore[attr-defined]


@pytest.fixture
def loaded(demo, db, monkeypatch, settings):
    """Who can sign in to the demo."""
    settings.VAR, people = demo
    draw(settings.VAR, monkeypatch)
    return people


class TestContent:
    def test_the_photographs_are_there_with_attribution_and_every_size(self, loaded):
        collection = Collection.objects.get(name=content.COLLECTION_NAME)
        assert [entry.key for entry in collection.entries.all()] == KEYS
        assert not Image.objects.exclude(state=JobState.DONE).exists()
        assert not Image.objects.filter(author="").exists()
        assert not Image.objects.filter(licence="").exists()
        assert not Image.objects.filter(licence_url="").exists()

    def test_each_has_one_english_caption(self, loaded):
        assert ModelCaption.objects.filter(model__name=MODEL_NAME, language="en").count() == len(KEYS)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_two_annotators_of_each_language_qualify(self, loaded):
        project = Project.objects.get(name=content.PROJECT_NAME)
        for round in project.rounds.all():
            writers = project_people(project, Role.ANNOTATOR).filter(language_skills__language=round.language)
            assert [missing_requirements(writer, round) for writer in writers] == [[], []]

    @pytest.mark.parametrize(
        ("username", "page"), [("priya-hi", "annotation:work-show"), ("meera-hi", "sxs_eval:work-show")]
    )
    def test_lists_of_work_say_how_long_a_batch_takes_and_what_it_pays(self, loaded, client, username, page):
        client.force_login(User.objects.get(username=username))
        text = " ".join(client.get(reverse(page)).content.decode().split())
        assert re.search(r"about \d+ min \(median of other people, all languages\)", text)
        assert re.search(r"Pay: about €[\d.]+ \(€14.00 an hour\)", text)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_manager_and_researcher_do_not_annotate(self, loaded):
        for user in User.objects.all():
            assert conflicting_roles(set(user.memberships.values_list("role", flat=True))) is None
        roles = Membership.objects.filter(user__username=people.MANAGER).values_list("role", flat=True)
        assert {*roles} == {Role.MANAGER}
        assert may_start_projects(User.objects.get(username=people.MANAGER))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_everybody_can_sign_in_with_the_password_that_is_told(self, loaded, client):
        assert [person.username for person in loaded] == [person.username for person in people.PEOPLE]
        assert loaded == people.sign_ins()
        for person in (loaded[0], loaded[2], loaded[-1]):
            answer = client.post(reverse("account_login"), {"login": person.username, "password": person.password})
            assert answer.status_code == 302
            client.logout()

    def test_german_is_half_done_and_the_batches_are_at_every_stage(self, loaded):
        states = {
            batch.lease.person.username: (batch.stage, batch.lease.state)
            for batch in CaptionBatch.objects.select_related("lease__person")
        }
        assert states == {
            **dict.fromkeys(content.SUBMITTED, (Stage.SUBMITTED, BatchState.DONE)),
            "bernd-de": (Stage.WRITE, BatchState.OPEN),
            "lucia-es": (Stage.RATE, BatchState.OPEN),
            "neema-sw": (Stage.RATE, BatchState.EXPIRED),
        }
        assert written_here().filter(round__language="de", state="counted", warnings=[]).count() == len(KEYS)
        assert written_here().filter(state="counted").count() == len(KEYS) * len(content.SUBMITTED)
        written = CaptionItem.objects.filter(person__username="bernd-de").exclude(text="")
        assert [item.position for item in written] == list(range(1, content.WRITTEN_BY_BERND + 1))
        assert (
            CaptionItem.objects.filter(person__username="lucia-es").exclude(rating="").count() == content.RATED_BY_LUCIA
        )
        assert all(item.writing_ms and item.rating_ms for item in written)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_each_caption_is_of_its_picture(self, loaded):
        for caption in written_here():
            texts = TEXTS[key_of(caption.image)]
            language = caption.round.language_id
            assert caption.text in ([texts.german[0]] if language == "de" else texts.compared[language])

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_loaded_again_it_adds_nothing_and_touches_nothing(self, loaded):
        bernd = User.objects.get(username="bernd-de")
        batch = CaptionBatch.objects.get(lease__person=bernd)
        about: dict[str, Any] = {"position": 1, "revision": 1, "active_ms": 0, "now": timezone.now()}
        batches.save_draft(batch_id=batch.pk, person=bernd, text="Etwas ganz anderes", **about)
        User.objects.filter(username="anna-de").update(first_name="Annette")
        emil = User.objects.get(username=evaluations.IN_THE_MIDDLE)
        answered = judge_next(emil)
        models = (
            *(User, Membership, Image, ModelCaption, CaptionBatch, Caption, CaptionItem, Project, Language, ImportJob),
            *(Comparison, GoldPair, JudgingBatch, Judgement, Task, Selection, SelectedImage, Release),
        )
        judged = sorted(Judgement.objects.values_list("pk", "choice", "judged_at"))
        before = [model.objects.count() for model in models]

        content.load()

        assert [model.objects.count() for model in models] == before
        assert CaptionItem.objects.get(batch=batch, position=1).text == "Etwas ganz anderes"
        assert User.objects.get(username="anna-de").first_name == "Annette"
        assert sorted(Judgement.objects.values_list("pk", "choice", "judged_at")) == judged
        assert Judgement.objects.get(pk=answered.pk).choice == -3

    def test_its_campaign_file_is_valid_and_changes_nothing(self, loaded):
        project = Project.objects.get(name=content.PROJECT_NAME)
        file = read_campaign(campaign_text(project, site="http://demo.example").encode())
        assert apply_campaign(file, project=project, by=project.created_by, now=timezone.now()).steps == []

    def test_who_has_left_since_is_not_brought_back(self, loaded):
        project = Project.objects.get(name=content.PROJECT_NAME)
        jonas = User.objects.get(username="jonas-de")
        withdraw_consent(project=project, user=jonas, keeps_answers=True, now=timezone.now())
        Membership.objects.filter(project=project, user=jonas).delete()

        content.load()

        assert not Membership.objects.filter(project=project, user=jonas).exists()
        assert [consent.withdrawn_at is None for consent in jonas.consents.all()] == [False]

    def test_the_newest_consent_text_is_that_of_whoever_is_new(self, loaded):
        project = Project.objects.get(name=content.PROJECT_NAME)
        ConsentText.objects.create(project=project, version=2, body="New")
        User.objects.get(username="yuki-ja").delete()

        content.load()

        assert [each.text.version for each in User.objects.get(username="yuki-ja").consents.all()] == [2]


def compared(versus: evaluations.ModelPair) -> Comparison:
    return Comparison.objects.get(language=versus.language, base__name=versus.base, test__name=versus.test)


def judge_next(rater: User) -> Judgement:
    """The next answer of an assigned batch: right much better."""
    batch = JudgingBatch.objects.get(lease__person=rater, lease__state=BatchState.OPEN)
    position = judging_page(batch, rater, timezone.now()).trial.position
    return judging.judge(batch_id=batch.pk, person=rater, position=position, choice=-3, now=timezone.now())


class TestScores:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_is_to_be_scored_waits_for_the_worker_and_can_be_scored(self, loaded):
        assert all(texts.brief and len(texts.references) == 2 for texts in TEXTS.values())
        waiting = Pass.objects.filter(state=JobState.QUEUED)
        languages = waiting.values_list("scoring__references__language", flat=True)
        assert sorted(languages) == ["de", "de", "de", "en", "en"]
        for scoring_pass in waiting.order_by("pk"):
            run_pass(pass_id=scoring_pass.pk, clock=timezone.now)
            scoring_pass.refresh_from_db()
            assert (scoring_pass.state, scoring_pass.images, scoring_pass.left_out) == (JobState.DONE, len(KEYS), 0)
            assert all(score.value is not None for score in scoring_pass.scores.all())


class TestComparisons:
    def test_each_has_a_pair_of_every_photograph_and_gold_pairs(self, loaded):
        versus = (evaluations.HALF_JUDGED, *evaluations.JUDGED, *evaluations.UNTOUCHED)
        assert Comparison.objects.count() == len(versus)
        for comparison in map(compared, versus):
            assert comparison.pairs.count() == len(KEYS)
            used = set(comparison.gold_pairs.filter(is_used=True).values_list("better", flat=True))
            clock = CAPTIONS[comparison.language_id]["clock"]
            assert len(used) >= 5
            assert clock[MODELS.index(RICH)] not in used
            assert not comparison.awaits_pairs
            assert not comparison.left_out

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_their_captions_came_by_import_and_are_of_their_picture(self, loaded):
        compared = ModelCaption.objects.filter(language__in=CAPTIONS)
        captions = compared.filter(model__name__in=MODELS).select_related("model")
        assert captions.count() == len(KEYS) * (3 + 2 + 2 + 2)
        for caption in captions:
            texts = CAPTIONS[caption.language_id][key_of(caption.image)]
            assert caption.text == texts[MODELS.index(caption.model.name)]
        assert all("written by hand" in caption.model.description.lower() for caption in captions)

    def test_one_is_half_judged(self, loaded):
        comparison = compared(evaluations.HALF_JUDGED)
        images = report_of(comparison).outcome.images
        assert images.complete == comparison.pool.batch_size
        assert all(images.incomplete_by_judgements[judgements] for judgements in (0, 1, 2))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_two_are_judged_by_three_people_as_people_do(self, loaded):
        for comparison in map(compared, evaluations.JUDGED):
            report = report_of(comparison)
            assert report.outcome.images.complete == len(KEYS)
            assert len(report.raters) == 3
            assert not isinstance(report.flips.same, UndefinedComparison)
        report = report_of(compared(evaluations.JUDGED[0]))
        assert report.outcome.wins.count > 2 * report.outcome.losses.count > 0
        assert not RaterStatus.objects.exists()
        assert not Judgement.objects.filter(is_late=True).exists()
        answered = Judgement.objects.exclude(choice=None)
        assert all(2_000 < judgement.active_ms < 60_000 for judgement in answered)
        assert len({judgement.active_ms for judgement in answered}) > answered.count() / 2
        assert all(judgement.judged_at < timezone.now() for judgement in answered)
        for comparison in map(compared, (evaluations.HALF_JUDGED, *evaluations.JUDGED)):
            assert {*comparison.judgements.exclude(choice=None).values_list("kind", flat=True)} == {*TrialKind}

    def test_other_languages_are_untouched(self, loaded):
        for comparison in map(compared, evaluations.UNTOUCHED):
            assert not comparison.judgements.exists()
            assert not evidence_of([comparison])[comparison.pk].judged.score.size

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_each_rater_sees_the_comparisons_of_their_language_and_nothing_in_their_way(self, loaded):
        project = Project.objects.get(name=content.PROJECT_NAME)
        seen = {rater.username: work_of(rater, timezone.now()) for rater in project_people(project, Role.RATER)}
        german, others = ("emil-de", "greta-de", "jonas-de"), ("salma-ar", "meera-hi", "yuki-ja")
        assert {name: len(work) for name, work in seen.items()} == dict.fromkeys(german, 3) | dict.fromkeys(others, 1)
        assert not [item.missing_requirements for work in seen.values() for item in work if item.missing_requirements]
        halfway = next(item for item in seen["emil-de"] if item.open_batch)
        assert halfway.comparison == compared(evaluations.HALF_JUDGED)
        assert 0 < halfway.open_batch.answered < halfway.open_batch.size
        assert [bool(item.resumable) for item in seen["greta-de"]].count(True) == 1
        assert all(item.is_anything_left for name in ("salma-ar", "meera-hi", "yuki-ja") for item in seen[name])

    def test_equal_captions_are_there_and_shown(self, loaded):
        for versus in (evaluations.HALF_JUDGED, *evaluations.UNTOUCHED):
            pairs = compared(versus).pairs.select_related("base_caption", "test_caption")
            equal = [pair for pair in pairs if are_equal(pair.base_caption.text, pair.test_caption.text)]
            assert len(equal) == 1
            assert equal[0].task is not None


class TestPlaces:
    def test_an_image_was_chosen_for_each_language_from_its_own_places_and_some_from_every_level(self, loaded):
        selection = Selection.objects.get()
        chosen = selection.selected_images.values_list("language", "level")
        assert selection.confirmed_at is not None
        assert Counter(language for language, _level in chosen) == dict.fromkeys(places.LANGUAGES, places.PER_LANGUAGE)
        assert {level for _language, level in chosen} == {"region", "country", "continent", "anywhere"}

    def test_a_manager_finds_selection_map_release_and_one_image_by_links(self, loaded, client):
        client.force_login(User.objects.get(username=people.MANAGER))
        page = reverse("annotation:project-show", args=["photographs-by-place"])
        ways = (
            ("/guidelines/", "/selections/", "/selections/1/", "/selections/1/languages/ja/"),
            ("/settings/", "/where-spoken/"),
            ("/releases/", "/releases/1/", "/releases/1/images/", "/releases/1/images/1/"),
        )
        for way in ways:
            text = client.get(page).content.decode()
            for step in way:
                address = next((one for one in re.findall(r'href="([^"?#]+)"', text) if one.endswith(step)), None)
                assert address, step
                text = client.get(address).content.decode()
            assert ("world__map" in text) == ("releases" not in step)
        assert 'lang="hi"' in text
        assert 'dir="rtl"' in text


class TestGame:
    def test_one_season_is_on_and_one_is_over_with_its_board(self, loaded):
        on, over = Season.objects.order_by("-starts_at")
        assert on.starts_at < timezone.now() < on.ends_at
        assert (on.closed_at is None, over.closed_at is None) == (True, False)
        ranks = over.players.filter(rank__isnull=False).values_list("rank", flat=True)
        assert sorted(ranks) == list(range(1, len(games.PLAYERS) + 1))
        assert not over.players.filter(is_marked=True).exists()

    def test_every_sentence_is_in_with_its_pictures_made(self, loaded):
        items = GapItem.objects.all()
        assert items.count() == 2 * SENTENCES
        assert all(item.images.exists() for item in items)
        assert not Image.objects.exclude(state=JobState.DONE).exists()

    def test_one_player_is_in_the_middle_of_a_sentence(self, loaded):
        turn = Turn.objects.get(outcome=TurnOutcome.OPEN)
        assert (turn.player.user.username, turn.attempts_made) == (games.IN_THE_MIDDLE, 1)

    def test_loading_again_plays_nothing_again(self, loaded):
        before = list(Turn.objects.order_by("pk").values_list("pk", "outcome", "attempts_made"))
        content.load()
        assert list(Turn.objects.order_by("pk").values_list("pk", "outcome", "attempts_made")) == before

    def test_whoever_joins_can_play(self, loaded):
        season = Season.objects.get(closed_at=None)
        assert season.access == SeasonAccess.OPEN
        assert {language.language_id for language in season.languages.all()} == set(games.VECTORS)
