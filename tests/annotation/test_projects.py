"""Setting up projects, changing their rounds, and what the manager's pages show of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from allocation.models import AssignmentState, Task
from allocation.services import lapse_overdue
from annotation import overview, tasks
from annotation.models import Caption, Round
from annotation.services import batches, projects, rounds
from annotation.services.projects import NewRound, RoundSettings
from corpus.models import CollectionImage
from inference.models import ModelCaption
from people.models import Invitation, LanguageSkill, Level, Membership, Project, Role
from tests.annotation.handing_in import hand_in, take, write
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_image,
    make_language,
    make_project,
    make_round,
    make_user,
)

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def set_up(**fields) -> Project:
    collection = fields.pop("collection", None) or make_collection(3)
    captioners = fields.pop("captioners", None) or [make_captioner(collection)]
    values: dict[str, Any] = {
        "creator": fields.pop("creator", None) or make_user(),
        "name": "Lions and Birds",
        "languages": [NewRound(make_language("de"), 2), NewRound(make_language("bn"), 1)],
        "batch_size": 15,
        "hold_s": 3600,
        "seed": 1,
    }
    return projects.create_project(collection=collection, captioners=captioners, **(values | fields))


def fill(project: Project) -> None:
    for round in project.rounds.all():
        rounds.fill_round(round_id=round.pk)


def settings_of(round: Round, **fields) -> RoundSettings:
    values = {
        "replication": round.replication,
        "batch_size": round.pool.batch_size,
        "hold_s": round.pool.hold_s,
        "is_open": round.pool.is_open,
    }
    return RoundSettings(**(values | fields))


def progress_of(round: Round, now=NOW) -> overview.RoundProgress:
    (found,) = [row for row in overview.project_progress(round.project, now=now).rounds if row.round == round]
    return found


class TestSettingUp:
    def test_a_project_gets_a_manager_guidelines_consent_and_a_round_per_language(self):
        boss = make_user()
        project = set_up(creator=boss)
        assert project.slug == "lions-and-birds"
        assert project.memberships.get().role == Role.MANAGER
        guidelines = project.guidelines.get()
        assert guidelines.version == 1
        assert "visually impaired friend" in guidelines.writing
        assert all(level in guidelines.rating for level in ("Excellent", "Good", "Medium", "Bad", "Not enough info"))
        assert project.consent_texts.count() == 1
        found = project.rounds.values_list("language", "replication", "pool__hold_s")
        assert set(found) == {("de", 2, 3600), ("bn", 1, 3600)}

    def test_its_tasks_are_made_in_the_background(self):
        project = set_up()
        assert Task.objects.count() == 0
        assert all(round.awaits_tasks for round in project.rounds.all())
        tasks.sweep_rounds()
        assert Task.objects.count() == 6
        assert not any(round.awaits_tasks for round in project.rounds.all())

    def test_filling_twice_makes_nothing_twice(self):
        project = set_up()
        fill(project)
        fill(project)
        assert Task.objects.count() == 6

    def test_filling_goes_on_where_it_stopped(self, monkeypatch):
        monkeypatch.setattr(rounds, "TASKS_PER_INSERT", 2)
        project = set_up(collection=make_collection(5))
        rounds.add_missing_tasks(project.rounds.get(language="de"), at_most=1)
        assert Task.objects.count() == 1
        fill(project)
        assert Task.objects.count() == 10

    def test_tasks_are_the_same_whether_made_at_once_or_bit_by_bit(self, monkeypatch):
        collection = make_collection(5)
        captioners = [make_captioner(collection), make_captioner(collection)]
        whole = make_round(collection=collection, captioners=captioners, seed=7)
        monkeypatch.setattr(rounds, "TASKS_PER_INSERT", 2)
        project = set_up(collection=collection, captioners=captioners, seed=7)
        fill(project)
        made = [
            set(round.tasks.values_list("image", "english", "task__shuffle_key"))
            for round in (whole, project.rounds.get(language="de"))
        ]
        assert made[0] == made[1]

    def test_a_project_called_new_does_not_hide_behind_the_page_of_that_name(self):
        assert set_up(name="New").slug == "new-project"

    def test_a_language_is_added_once(self):
        project = set_up()
        more: dict[str, Any] = {
            "collection": project.rounds.first().collection,
            "captioners": list(project.rounds.first().captioners.all()),
            "batch_size": 15,
            "hold_s": 60,
            "seed": 1,
        }
        projects.add_languages(project=project, languages=[NewRound(make_language("sw"), 2)], **more)
        assert project.rounds.count() == 3
        with pytest.raises(projects.LanguageThere, match="German"):
            projects.add_languages(
                project=project, languages=[NewRound(make_language(tag), 2) for tag in ("th", "de")], **more
            )
        assert project.rounds.count() == 3

    def test_images_that_got_a_caption_since_come_in_when_asked_for(self):
        project = set_up()
        fill(project)
        collection = project.rounds.first().collection
        CollectionImage.objects.create(collection=collection, image=make_image(), key="late", position=9)
        model = project.rounds.first().captioners.get()
        ModelCaption.objects.create(
            model=model, image=collection.entries.get(key="late").image, language_id="en", text="A cat."
        )
        assert set(projects.ask_for_missing_tasks(project=project)) == set(project.rounds.values_list("pk", flat=True))
        tasks.sweep_rounds()
        assert Task.objects.count() == 8


class TestChangingARound:
    def test_a_higher_replication_adds_places(self):
        round = make_round(images=2, replication=1)
        hand_in(round, make_annotator(round))
        assert projects.change_round(round=round, settings=settings_of(round, replication=3)) == 0
        assert set(Task.objects.values_list("places", "places_taken")) == {(3, 1)}

    def test_a_lower_one_takes_nothing_away_that_is_written_or_in_hand(self):
        round = make_round(images=3, replication=3)
        hand_in(round, make_annotator(round))
        projects.change_round(round=round, settings=settings_of(round, batch_size=1))
        take(round, make_annotator(round))
        above = projects.change_round(round=round, settings=settings_of(round, replication=1))
        assert above == 1
        assert sorted(Task.objects.values_list("places", "places_taken")) == [(1, 1), (1, 1), (2, 2)]

    def test_a_place_given_back_after_that_is_not_handed_out_again_once_saved(self):
        round = make_round(images=1, replication=2)
        hand_in(round, make_annotator(round))
        slow = make_annotator(round)
        batch = take(round, slow)
        projects.change_round(round=round, settings=settings_of(round, replication=1))
        batches.give_back(batch_id=batch.pk, annotator=slow, now=NOW)
        assert projects.change_round(round=round, settings=settings_of(round, replication=1)) == 0
        assert Task.objects.get().places == 1

    def test_tasks_that_come_later_have_the_new_replication(self):
        project = set_up()
        round = project.rounds.get(language="de")
        projects.change_round(round=round, settings=settings_of(round, replication=5))
        fill(project)
        assert set(Task.objects.filter(pool=round.pool).values_list("places", flat=True)) == {5}

    def test_batches_are_cut_and_held_as_the_settings_say(self):
        round = make_round(images=3)
        projects.change_round(round=round, settings=settings_of(round, batch_size=2, hold_s=60))
        batch = take(round, make_annotator(round))
        assert batch.items.count() == 2
        assert batch.batch.due_at == NOW + timedelta(seconds=60)


class TestProgress:
    def test_it_counts_captions_wanted_done_in_hand_lapsed_and_late(self):
        round = make_round(images=4, replication=2)
        projects.change_round(round=round, settings=settings_of(round, batch_size=1))
        round.refresh_from_db()
        done, holding, lapsed, late = (make_annotator(round) for _ in range(4))
        hand_in(round, done)
        overdue = take(round, lapsed)
        late_batch = take(round, late)
        write(late_batch, late, "Ein Bild von etwas")
        lapse_overdue(now=NOW + DAY * 2)
        batches.submit_batch(batch_id=late_batch.pk, annotator=late, now=NOW + DAY * 2)
        take(round, holding, now=NOW + DAY * 2)
        row = progress_of(round, NOW + DAY * 2)
        assert overdue.batch.assignments.get().state == AssignmentState.LAPSED
        assert (row.images, row.wanted, row.done, row.held, row.lapsed, row.late) == (4, 8, 1, 1, 1, 1)
        assert row.open == 6
        assert row.done == Caption.objects.filter(is_late=False).count()

    def test_what_is_overdue_counts_as_lapsed_before_it_is_swept(self):
        round = make_round(images=2)
        take(round, make_annotator(round))
        assert progress_of(round).held == 2
        row = progress_of(round, NOW + DAY * 2)
        assert (row.held, row.lapsed, row.done) == (0, 2, 0)

    def test_a_round_is_finished_when_every_place_has_its_caption(self):
        round = make_round(images=2, replication=1)
        assert not progress_of(round).is_finished
        hand_in(round, make_annotator(round))
        assert progress_of(round).is_finished

    def test_only_those_who_may_write_in_a_language_are_counted_as_able_to(self):
        round = make_round(language="de")
        make_annotator(round)
        both = make_annotator(round, level=Level.FLUENT)
        LanguageSkill.objects.create(user=both, language_id="fr", level=Level.ADVANCED)
        make_annotator(round, level=Level.ADVANCED)
        no_english = make_annotator(round)
        no_english.reads_english = False
        no_english.save()
        make_annotator(make_round(language="de"))
        french = make_round(project=round.project, language="fr")
        assert progress_of(round).qualified == 2
        assert progress_of(french).qualified == 0

    def test_only_open_invitations_are_counted(self):
        round = make_round(language="de")

        def invite(tag="de", **fields):
            values: dict[str, Any] = {"places": 3, "places_taken": 1, "role": Role.ANNOTATOR, "expires_at": NOW + DAY}
            made = Invitation.objects.create(
                project=round.project,
                token=f"t{Invitation.objects.count()}",
                created_by=round.project.created_by,
                **(values | fields),
            )
            made.languages.set([make_language(tag), make_language("sw")])

        invite()
        invite(places=2)
        invite(expires_at=NOW)
        invite(revoked_at=NOW)
        invite(role=Role.RATER)
        invite(places_taken=3)
        invite(tag="fr")
        assert progress_of(round).invited == 3

    def test_images_without_an_english_caption_are_counted_as_left_out(self):
        round = make_round(images=2)
        CollectionImage.objects.create(collection=round.collection, image=make_image(), key="x", position=9)
        assert progress_of(round).left_out == 1

    def test_it_takes_as_many_queries_for_many_languages_as_for_one(self):
        project = make_project()
        counts = []
        for tags in (["de"], ["fr", "ar", "ja", "sw"]):
            for tag in tags:
                round = make_round(project=project, language=tag)
                hand_in(round, make_annotator(round))
            with CaptureQueriesContext(connection) as queries:
                overview.project_progress(project, now=NOW)
            counts.append(len(queries))
        assert counts[0] == counts[1] <= 6


@pytest.fixture
def project() -> Project:
    return make_round(project=make_project("lions"), images=2, language="de").project


@pytest.fixture
def manager(project) -> Client:
    return client_of(project.created_by)


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def path_of(name: str, project: Project) -> str:
    if name in ("project-list", "project-create"):
        return reverse(f"annotation:{name}")
    args: dict[str, list[Any]] = {
        "round-settings": [project.slug, project.rounds.get().pk],
        "captions-export": [project.slug, "jsonl"],
    }
    return reverse(f"annotation:{name}", args=args.get(name, [project.slug]))


OF_ONE_PROJECT = ("project-show", "project-progress", "language-add", "round-settings", "captions-export")
OF_ANY_MANAGER = ("project-list", "project-create")


class TestWhoSeesThePages:
    @pytest.mark.parametrize("name", [*OF_ONE_PROJECT, *OF_ANY_MANAGER])
    def test_a_manager_does(self, manager, project, name):
        assert manager.get(path_of(name, project)).status_code == 200

    @pytest.mark.parametrize("name", [*OF_ONE_PROJECT, "tasks-add", *OF_ANY_MANAGER])
    def test_who_is_not_signed_in_is_asked_to(self, client, project, name):
        response = client.post(path_of(name, project)) if name == "tasks-add" else client.get(path_of(name, project))
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("account_login"))

    @pytest.mark.parametrize("name", [*OF_ONE_PROJECT, "tasks-add"])
    def test_a_manager_of_another_project_is_not_told_that_they_exist(self, project, name):
        outsider = client_of(make_project().created_by)
        assert outsider.get(path_of(name, project)).status_code in (404, 405)
        assert outsider.post(path_of(name, project)).status_code in (404, 405)

    @pytest.mark.parametrize("name", [*OF_ONE_PROJECT, "tasks-add"])
    @pytest.mark.parametrize("role", [role for role in Role if role != Role.MANAGER])
    def test_no_other_role_of_the_project_does(self, project, name, role):
        member = make_user()
        Membership.objects.create(project=project, user=member, role=role)
        assert client_of(member).get(path_of(name, project)).status_code in (404, 405)
        assert client_of(member).post(path_of(name, project)).status_code in (404, 405)
        assert not Round.objects.filter(awaits_tasks=True).exists()

    @pytest.mark.parametrize("name", OF_ANY_MANAGER)
    def test_pages_above_the_projects_are_for_managers(self, project, name):
        annotator = client_of(make_annotator(project.rounds.get()))
        assert annotator.get(path_of(name, project)).status_code == 403
        assert annotator.post(path_of(name, project)).status_code in (403, 405)

    def test_who_may_start_projects_comes_to_the_form(self):
        starter = make_user(is_staff=True)
        starter.user_permissions.add(Permission.objects.get(codename="add_project"))
        assert client_of(starter).get(reverse("annotation:project-create")).status_code == 200

    def test_a_round_of_another_project_has_no_settings_here(self, manager, project):
        other = make_round()
        path = reverse("annotation:round-settings", args=[project.slug, other.pk])
        assert manager.get(path).status_code == 404
        assert manager.post(path, {"replication": 9}).status_code == 404

    def test_managers_see_their_own_projects_only(self, manager, project):
        make_project("zebras")
        page = manager.get(reverse("annotation:project-list")).content.decode()
        assert "Lions" in page
        assert "Zebras" not in page


class TestCreatingInTheBrowser:
    @pytest.fixture
    def collection(self):
        return make_collection(3)

    @pytest.fixture
    def path(self, collection):
        return f"{reverse('annotation:project-create')}?collection={collection.slug}"

    @pytest.fixture
    def answers(self, collection):
        return {
            "name": "Tigers",
            "captioners": [make_captioner(collection, "blip").pk],
            "batch_size": "5",
            "hold_h": "1.5",
            "language-de": "on",
            "replication-de": "2",
            "language-bn": "on",
            "replication-bn": "1",
            "replication-fr": "2",
        }

    def test_what_is_chosen_is_set_up_and_filled_at_once(
        self, manager, path, answers, monkeypatch, django_capture_on_commit_callbacks
    ):
        nudged: list[int] = []
        monkeypatch.setattr(tasks.fill_round, "delay", nudged.append)
        with django_capture_on_commit_callbacks(execute=True):
            response = manager.post(path, answers)
        project = Project.objects.get(name="Tigers")
        assert response["Location"] == reverse("annotation:project-show", args=[project.slug])
        assert set(project.rounds.values_list("language", "replication", "pool__batch_size", "pool__hold_s")) == {
            ("de", 2, 5, 5400),
            ("bn", 1, 5, 5400),
        }
        assert sorted(nudged) == sorted(project.rounds.values_list("pk", flat=True))

    def test_models_are_offered_with_how_many_images_they_described(self, manager, path, collection, answers):
        ModelCaption.objects.filter(image=collection.entries.first().image).delete()
        page = manager.get(path).content.decode()
        assert "blip: 2 of 3 images" in page
        assert "1 of them has no English caption" in page

    def test_images_left_out_are_said_afterwards(self, manager, path, collection, answers):
        make_captioner(collection, "other")
        ModelCaption.objects.filter(image=collection.entries.first().image, model__name="blip").delete()
        page = manager.post(path, answers, follow=True).content.decode()
        assert "1 image has no English caption by the models chosen" in page

    def test_without_images_or_captions_it_says_what_to_do_first(self, manager, path, collection):
        assert "has an English caption, so there is nothing to rate" in manager.get(path).content.decode()
        CollectionImage.objects.all().delete()
        Round.objects.all().delete()
        collection.__class__.objects.all().delete()
        page = manager.get(reverse("annotation:project-create")).content.decode()
        assert "Import some into a collection first" in page

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"name": ""}, "This field is required"),
            ({"captioners": []}, "Choose at least one model"),
            ({"language-de": "", "language-bn": ""}, "Choose at least one language"),
            ({"replication-de": ""}, "Say how many captions"),
            ({"replication-de": "0"}, "greater than or equal to 1"),
            ({"batch_size": "0"}, "greater than or equal to 1"),
            ({"hold_h": "0"}, "greater than or equal to 0.25"),
            ({"hold_h": "99999"}, "less than or equal to"),
            ({"captioners": ["999999"]}, "not one of the available choices"),
        ],
    )
    def test_a_mistake_is_explained_and_nothing_is_made(self, manager, path, answers, changes, error):
        projects_before = Project.objects.count()
        response = manager.post(path, answers | changes)
        assert response.status_code == 422
        assert error in response.content.decode()
        assert Project.objects.count() == projects_before

    def test_a_collection_that_is_not_there_is_said(self, manager):
        response = manager.get(reverse("annotation:project-create"), {"collection": "none"})
        assert "There is no such collection any more" in response.content.decode()

    def test_languages_are_added_to_a_project_that_is_there(self, manager, project, collection, answers):
        path = f"{reverse('annotation:language-add', args=['lions'])}?collection={collection.slug}"
        page = manager.get(path).content.decode()
        assert 'name="language-bn"' in page
        assert 'name="language-de"' not in page
        response = manager.post(path, {name: answers[name] for name in answers if "-de" not in name and name != "name"})
        assert response.status_code == 302
        assert set(project.rounds.values_list("language", flat=True)) == {"de", "bn"}


class TestTheProjectPage:
    def test_it_shows_the_numbers_and_keeps_them_up_to_date(self, manager, project):
        round = project.rounds.get()
        hand_in(round, make_annotator(round))
        page = manager.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        assert "2 of 4 captions" in page
        assert f'hx-get="{reverse("annotation:project-progress", args=["lions"])}"' in page
        part = manager.get(reverse("annotation:project-progress", args=["lions"])).content.decode()
        assert "2 of 4 captions" in part
        assert "<html" not in part

    def test_it_links_to_all_that_a_manager_does(self, manager, project):
        page = manager.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        for name in ("people:invitation-create", "people:member-list", "people:consent-publish"):
            assert reverse(name, args=["lions"]) in page
        for layout in ("xm3600", "jsonl", "csv"):
            assert reverse("annotation:captions-export", args=["lions", layout]) in page

    def test_it_has_no_inline_script_or_style(self, manager, project):
        page = manager.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        assert " style=" not in page
        assert " onclick=" not in page

    def test_it_costs_the_same_whatever_was_handed_in(self, manager, project):
        round = project.rounds.get()
        counts = []
        for _ in range(2):
            with CaptureQueriesContext(connection) as queries:
                manager.get(reverse("annotation:project-progress", args=["lions"]))
            counts.append(len(queries))
            hand_in(round, make_annotator(round))
        assert counts[0] == counts[1] <= 10

    def test_missing_tasks_are_asked_for(self, manager, project):
        manager.post(reverse("annotation:tasks-add", args=["lions"]))
        assert project.rounds.get().awaits_tasks

    def test_settings_are_saved(self, manager, project):
        path = path_of("round-settings", project)
        response = manager.post(path, {"replication": "3", "batch_size": "7", "hold_h": "2"})
        assert response.status_code == 302
        round = project.rounds.get()
        assert (round.replication, round.pool.batch_size, round.pool.hold_s) == (3, 7, 7200)
        assert not round.pool.is_open

    def test_a_lease_left_alone_stays_to_the_second(self, manager, project):
        round = project.rounds.get()
        projects.change_round(round=round, settings=settings_of(round, hold_s=1234))
        shown = manager.get(path_of("round-settings", project)).context["form"].initial
        manager.post(path_of("round-settings", project), {**shown, "is_open": "on", "batch_size": "3"})
        round = project.rounds.get()
        assert (round.pool.hold_s, round.pool.batch_size) == (1234, 3)

    def test_lowering_the_replication_says_how_many_stay_above(self, manager, project):
        round = project.rounds.get()
        for _ in range(2):
            hand_in(round, make_annotator(round))
        page = manager.post(
            path_of("round-settings", project), {"replication": "1", "batch_size": "7", "hold_h": "2"}, follow=True
        )
        assert "German: 2 images keep more places" in page.content.decode()


class TestTheDownload:
    @pytest.mark.parametrize("layout", ["xm3600", "jsonl", "csv"])
    def test_it_is_a_file_that_is_streamed_and_not_kept(self, manager, project, layout):
        round = project.rounds.get()
        hand_in(round, make_annotator(round), now=timezone.now())
        response = manager.get(reverse("annotation:captions-export", args=["lions", layout]))
        assert response.streaming
        assert f'filename="lions-{layout}-' in response["Content-Disposition"]
        assert "no-store" in response["Cache-Control"]
        assert "Ein Bild von etwas" in b"".join(response).decode()

    def test_an_unknown_format_is_not_found(self, manager, project):
        response = manager.get(reverse("annotation:captions-export", args=["lions", "docx"]))
        assert response.status_code == 404


class TestAdmin:
    @pytest.mark.parametrize("name", ["guidelines", "round", "captiontask", "captionbatch", "item", "caption"])
    def test_rows_are_looked_up_and_not_changed(self, project, name):
        round = project.rounds.get()
        hand_in(round, make_annotator(round))
        installer = client_of(make_user(is_staff=True, is_superuser=True))
        assert installer.get(reverse(f"admin:annotation_{name}_changelist")).status_code == 200
        assert installer.get(reverse(f"admin:annotation_{name}_add")).status_code == 403
