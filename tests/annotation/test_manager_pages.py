"""The manager's pages: who sees them, what they show, and what can be done there."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from annotation import tasks
from annotation.models import Round
from core.allocation.models import Pool
from core.images.models import CollectionImage
from core.people.models import Project
from research.inference.models import ModelCaption
from tests.annotation.submitting import submit_captions
from tests.clients import client_of
from tests.factories import make_annotator, make_captioner, make_collection, make_project, make_round, make_user
from tests.kept import kept

pytestmark = pytest.mark.django_db


@kept
def project() -> Project:
    return make_round(project=make_project("lions"), images=2, language="de").project


def path_of(name: str, project: Project) -> str:
    if name in ("project-list", "project-create"):
        return reverse(f"annotation:{name}")
    args: dict[str, list[Any]] = {
        "round-settings": [project.slug, project.rounds.get().pk],
    }
    return reverse(f"annotation:{name}", args=args.get(name, [project.slug]))


class TestWhoSeesThePages:
    def test_who_may_start_projects_comes_to_the_form(self):
        starter = make_user(is_staff=True)
        starter.user_permissions.add(Permission.objects.get(codename="add_project"))
        assert client_of(starter).get(reverse("annotation:project-create")).status_code == 200

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
            "lease_h": "1.5",
            "languages": ["de", "bn"],
            "replication": "2",
            "replication-bn": "1",
            "replication-fr": "3",
        }

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_is_chosen_is_set_up_and_filled_at_once(
        self, manager, path, answers, monkeypatch, django_capture_on_commit_callbacks
    ):
        nudged: list[int] = []
        monkeypatch.setattr(tasks.fill_round, "delay", nudged.append)
        with django_capture_on_commit_callbacks(execute=True):
            response = manager.post(path, answers)
        project = Project.objects.get(name="Tigers")
        assert response["Location"] == reverse("annotation:project-show", args=[project.slug])
        mains = project.rounds.filter(kind="main", state="planned")
        assert set(mains.values_list("language", "pool__replication", "pool__batch_size", "pool__lease_s")) == {
            ("de", 2, 5, 5400),
            ("bn", 1, 5, 5400),
        }
        pilots = project.rounds.filter(kind="pilot", state="open", sample_size=150)
        assert sorted(nudged) == sorted(pilots.values_list("pk", flat=True))
        assert len(nudged) == 2

    def test_a_pilot_is_left_out_for_a_reason_only(self, manager, path, answers):
        refused = manager.post(path, answers | {"begin": "main"})
        assert refused.status_code == 422
        assert "Enter why these languages need no pilot." in refused.content.decode()
        manager.post(path, answers | {"begin": "main", "why_no_pilot": "The same people wrote last year."})
        project = Project.objects.get(name="Tigers")
        assert project.rounds.filter(kind="main", state="open").count() == 2
        skipped = project.rounds.filter(kind="pilot", state="skipped", reason="The same people wrote last year.")
        assert skipped.count() == 2

    def test_the_pilot_is_as_large_as_was_asked_for_and_no_larger_than_the_collection(self, manager, path, answers):
        assert 'name="pilot_images" value="3"' in manager.get(path).content.decode()
        refused = manager.post(path, answers | {"begin": "pilot", "pilot_images": "10000"})
        assert refused.status_code == 422
        assert "Only 3 images of the collection have an English caption." in refused.content.decode()
        assert not Project.objects.filter(name="Tigers").exists()
        manager.post(path, answers | {"begin": "pilot", "pilot_images": "2"})
        assert Round.objects.filter(kind="pilot", sample_size=2).count() == 2

    def test_models_are_offered_with_how_many_images_they_described(self, manager, path, collection, answers):
        ModelCaption.objects.filter(image=collection.entries.first().image).delete()
        page = manager.get(path).content.decode()
        assert "blip: 2 of 3 images" in page
        assert "1 of them has no English caption" in page

    def test_images_left_out_are_said_afterwards(self, manager, path, collection, answers):
        make_captioner(collection, "other")
        ModelCaption.objects.filter(image=collection.entries.first().image, model__name="blip").delete()
        page = manager.post(path, answers, follow=True).content.decode()
        assert "1 image has no English caption by the chosen models" in page

    def test_without_images_or_captions_it_says_what_to_do_first(self, manager, path, collection):
        assert "has an English caption, so there is nothing to rate" in manager.get(path).content.decode()
        CollectionImage.objects.all().delete()
        Round.objects.all().delete()
        collection.__class__.objects.all().delete()
        page = manager.get(reverse("annotation:project-create")).content.decode()
        assert reverse("annotation:project-create-empty") in page

    def test_a_mistake_is_explained_and_nothing_is_made(self, manager, path, answers):
        projects_before = Project.objects.count()
        for changes, error in (
            ({"name": ""}, "This field is required"),
            ({"captioners": []}, "Choose at least one model"),
            ({"languages": []}, "Choose at least one language"),
            ({"people": "0"}, "greater than or equal to 1"),
            ({"rate": "12"}, "Enter the currency of this rate."),
            ({"rate": "12", "currency": "euro"}, "Enter three capital letters"),
            ({"replication-de": "0"}, "greater than or equal to 1"),
            ({"batch_size": "0"}, "greater than or equal to 1"),
            ({"lease_h": "0"}, "greater than or equal to 0.25"),
            ({"lease_h": "99999"}, "less than or equal to"),
            ({"captioners": ["999999"]}, "not one of the available choices"),
        ):
            response = manager.post(path, answers | changes)
            assert response.status_code == 422, changes
            assert error in response.content.decode(), changes
        assert Project.objects.count() == projects_before

    def test_a_collection_that_is_not_there_is_said(self, manager):
        response = manager.get(reverse("annotation:project-create"), {"collection": "none"})
        assert "There is no such collection in this project" in response.content.decode()

    def test_languages_are_added_to_a_project_that_is_there(self, manager, project, collection, answers):
        path = f"{reverse('annotation:language-add', args=['lions'])}?collection={collection.slug}"
        page = manager.get(path).content.decode()
        assert 'name="languages" value="bn"' in page
        assert 'name="languages" value="de"' not in page
        response = manager.post(path, answers | {"languages": ["bn"]})
        assert response.status_code == 302
        assert set(project.rounds.values_list("language", flat=True)) == {"de", "bn"}


class TestTheProjectPage:
    def test_it_shows_the_numbers_and_keeps_them_up_to_date(self, manager, project):
        round = project.rounds.get()
        submit_captions(round, make_annotator(round))
        page = manager.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        assert "2 of 4 captions" in page
        assert f'hx-get="{reverse("annotation:project-progress", args=["lions"])}?seen=' in page
        part = manager.get(reverse("annotation:project-progress", args=["lions"])).content.decode()
        assert "2 of 4 captions" in part
        assert "<html" not in part

    def test_it_links_to_all_that_a_manager_does_without_inline_script_or_style(self, manager, project):
        page = manager.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        for name in ("people:invitation-create", "people:member-list", "dashboard:project-settings"):
            assert reverse(name, args=["lions"]) in page
        assert f'{reverse("exports:export-show", args=["lions"])}?what=captions"' in page
        assert " style=" not in page
        assert " onclick=" not in page

    def test_missing_tasks_are_asked_for(self, manager, project):
        manager.post(reverse("annotation:tasks-add", args=["lions"]))
        assert project.rounds.get().awaits_tasks

    def test_settings_are_saved(self, manager, project):
        path = path_of("round-settings", project)
        response = manager.post(path, {"replication": "3", "batch_size": "7", "lease_h": "2"})
        assert response.status_code == 302
        round = project.rounds.get()
        assert (round.replication, round.pool.batch_size, round.pool.lease_s) == (3, 7, 7200)
        assert not round.pool.is_open

    def test_a_lease_left_alone_stays_to_the_second(self, manager, project):
        round = project.rounds.get()
        Pool.objects.filter(pk=round.pool_id).update(lease_s=1234)
        shown = manager.get(path_of("round-settings", project)).context["form"].initial
        manager.post(path_of("round-settings", project), {**shown, "is_open": "on", "batch_size": "3"})
        round = project.rounds.get()
        assert (round.pool.lease_s, round.pool.batch_size) == (1234, 3)

    def test_lowering_the_replication_says_how_many_stay_above(self, manager, project):
        round = project.rounds.get()
        for _ in range(2):
            submit_captions(round, make_annotator(round))
        page = manager.post(
            path_of("round-settings", project), {"replication": "1", "batch_size": "7", "lease_h": "2"}, follow=True
        )
        assert "German: 2 images keep more places" in page.content.decode()
