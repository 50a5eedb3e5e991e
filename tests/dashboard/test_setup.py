"""The setup of a project: what is done, what is missing, and where it is done."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from annotation.models import Guidelines, Release, Round, RoundKind, RoundState
from annotation.services import figures
from annotation.services.campaign import LanguageBeginning
from annotation.services.projects import create_empty_project
from annotation.services.rounds import fill_round
from core.images.models import Image
from core.jobs.models import JobState
from core.people.defaults import default_text
from core.people.models import Project
from core.people.services import members
from office.dashboard.rules.setup import (
    LanguageFacts,
    ProjectFacts,
    ProjectStep,
    StepState,
    languages_named,
    next_step,
    setup_steps,
)
from office.dashboard.selectors.setup import setup_of
from research.inference.models import ModelCaption
from tests.annotation.submitting import begin_language
from tests.clients import client_of
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_project,
    make_user,
)
from tests.kept import kept
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

THAI, TELUGU = LanguageFacts("th", "Thai", needed=2), LanguageFacts("te", "Telugu", needed=2)
READY = replace(THAI, able=2)
ALL = ProjectFacts(has_collection=True, images=150, languages=[READY])


def states(facts: ProjectFacts) -> dict[str, StepState]:
    return {one.step: one.state for one in setup_steps(facts)}


def what(facts: ProjectFacts, step: ProjectStep) -> str:
    return next(one.what for one in setup_steps(facts) if one.step == step)


class TestRules:
    def test_images_without_licence_come_before_everything(self):
        facts = replace(ALL, unlicensed=12)
        assert what(facts, ProjectStep.IMAGES) == "12 of 150 images have no licence. A release would refuse them."
        assert next_step(setup_steps(facts)).step == ProjectStep.IMAGES
        assert "1 of 150 images has no author" in what(replace(ALL, unauthored=1), ProjectStep.IMAGES)

    def test_texts(self):
        assert states(replace(ALL, has_consent_gaps=True))["consent"] == StepState.TO_DO
        assert states(replace(ALL, has_default_guidelines=True))["guidelines"] == StepState.ADVISED
        assert states(ALL)["consent"] == states(ALL)["guidelines"] == StepState.DONE

    def test_it_names_languages_in_which_nobody_can_write(self):
        facts = replace(ALL, languages=[TELUGU, READY, replace(THAI, able=1)])
        assert what(facts, ProjectStep.PEOPLE) == "Not enough people can write in Telugu, Thai. Invite some."
        invited = replace(ALL, languages=[replace(TELUGU, invited=2), READY])
        assert what(invited, ProjectStep.PEOPLE) == "People were invited, but not enough have joined: Telugu."
        assert states(invited)["people"] == StepState.ADVISED

    def test_many_languages_are_counted(self):
        assert languages_named([THAI] * 7) == "Thai, Thai, Thai, Thai, Thai and 2 others"
        assert languages_named([THAI] * 6).endswith("and 1 other")
        assert languages_named([THAI] * 5).count("Thai") == 5

    @pytest.mark.parametrize(
        ("language", "following"),
        [
            (READY, ProjectStep.PILOT),
            (replace(READY, is_pilot_written=True), ProjectStep.ACCEPT),
            (replace(READY, is_pilot_written=True, is_pilot_decided=True), ProjectStep.MAIN),
            (
                replace(READY, is_pilot_written=True, is_pilot_decided=True, is_main_closed=True),
                ProjectStep.VERIFICATION,
            ),
        ],
    )
    def test_a_language_goes_from_pilot_to_verification(self, language, following):
        steps = setup_steps(replace(ALL, languages=[language]))
        assert next_step(steps).step == following
        later = [one.state for one in steps[[one.step for one in steps].index(following) + 1 :]]
        assert all(state != StepState.DONE for state in later)

    def test_a_round_that_is_open_is_not_to_be_opened(self):
        decided = replace(READY, is_pilot_written=True, is_pilot_decided=True)
        closed = replace(decided, is_main_closed=True)
        for step, before, begun in (
            (ProjectStep.PILOT, READY, replace(READY, is_pilot_open=True)),
            (ProjectStep.MAIN, decided, replace(decided, is_main_open=True)),
            (ProjectStep.VERIFICATION, closed, replace(closed, is_verification_open=True)),
        ):
            both = replace(ALL, languages=[before, replace(begun, tag="te", name="Telugu")])
            first, second = what(both, step).split(". ")
            assert ("Thai" in first, "Telugu" in first, first.startswith(("Open", "Have"))) == (True, False, True)
            assert ("Thai" in second, "Telugu" in second, second.startswith("Close")) == (False, True, True)

    def test_languages_are_at_different_steps_at_the_same_time(self):
        facts = replace(ALL, languages=[READY, replace(TELUGU, able=2, is_pilot_written=True)])
        steps = {one.step: one for one in setup_steps(facts)}
        assert [one.name for one in steps[ProjectStep.PILOT].languages] == ["Thai"]
        assert [one.name for one in steps[ProjectStep.ACCEPT].languages] == ["Telugu"]

    def test_the_end_is_a_release(self):
        done = replace(READY, is_pilot_written=True, is_pilot_decided=True, is_main_closed=True, is_verified=True)
        facts = replace(ALL, languages=[done])
        assert next_step(setup_steps(facts)).step == ProjectStep.RELEASE
        assert states(replace(facts, unlicensed=1))["release"] == StepState.WAITS
        assert next_step(setup_steps(replace(facts, is_released=True))) is None


@kept
def project() -> Project:
    """As somebody has just made it: default texts, one language, nobody in it."""
    project = make_project()
    project.consent_texts.all().delete()
    made = members.create_project(name="Template", manager=make_user())
    text = made.consent_texts.get()
    project.consent_texts.create(version=1, body=text.body)
    collection = make_collection(4)
    Image.objects.filter(pk=collection.entries.first().image_id).update(licence="")
    begin_language(project, collection, beginning=LanguageBeginning(pilot_images=2))
    return project


def found(project: Project) -> dict[str, StepState]:
    return {one.step.step: one.step.state for one in setup_of(project, released=False, now=NOW).steps}


class TestOfAProject:
    def test_a_new_one(self, project):
        assert found(project) == {
            "images": StepState.TO_DO,
            "english": StepState.DONE,
            "consent": StepState.TO_DO,
            "guidelines": StepState.DONE,
            "languages": StepState.DONE,
            "people": StepState.TO_DO,
            "pilot": StepState.WAITS,
            "accept": StepState.WAITS,
            "main": StepState.WAITS,
            "verification": StepState.WAITS,
            "release": StepState.WAITS,
        }

    def test_default_guidelines_are_noticed(self, project):
        texts = {part: default_text(part) for part in ("rating", "writing")}
        Guidelines.objects.create(project=project, version=2, **texts)
        assert found(project)["guidelines"] == StepState.ADVISED

    def test_while_the_tasks_of_a_main_round_are_made_no_image_is_said_to_lack_a_caption(self, project):
        main = project.rounds.filter(kind=RoundKind.MAIN)
        main.update(awaits_tasks=True, state=RoundState.OPEN)
        assert found(project)["english"] == StepState.DONE
        main.update(awaits_tasks=False)
        assert found(project)["english"] == StepState.TO_DO, "no task was made"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_follows_the_campaign(self, project):
        Image.objects.update(licence="CC BY 4.0")
        project.consent_texts.create(version=2, body="I agree.")
        pilot = project.rounds.get(kind=RoundKind.PILOT)
        main = project.rounds.get(kind=RoundKind.MAIN)
        make_annotator(pilot)
        assert found(project)["pilot"] == StepState.TO_DO
        for round, state, following in (
            (pilot, RoundState.CLOSED, "accept"),
            (pilot, RoundState.REJECTED, "pilot"),
            (pilot, RoundState.ACCEPTED, "main"),
        ):
            Round.objects.filter(pk=round.pk).update(state=state, decided_at=NOW)
            setup = setup_of(project, released=False, now=NOW)
            assert setup.next.step.step == following, state
        Round.objects.filter(pk=main.pk).update(awaits_tasks=True, state=RoundState.OPEN)
        fill_round(round_id=main.pk)
        figures.compute(round_id=main.pk, now=NOW)
        Round.objects.filter(pk=main.pk).update(state=RoundState.CLOSED)
        assert setup_of(project, released=False, now=NOW).next.step.step == ProjectStep.VERIFICATION
        Round.objects.filter(verifies=main).update(state=RoundState.ACCEPTED, decided_at=NOW)
        assert setup_of(project, released=False, now=NOW).next.step.step == ProjectStep.RELEASE

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_each_open_step_leads_to_a_page_that_opens(self, project):
        make_annotator(project.rounds.get(kind=RoundKind.PILOT))
        client = client_of(project.created_by)
        setup = setup_of(project, released=False, now=NOW)
        opened = [one for one in setup.steps if one.step.is_open]
        assert {one.step.step for one in opened} == {"images", "consent", "pilot"}
        for one in opened:
            assert client.get(one.url).status_code == 200, one.url
        assert opened[0].url.endswith("?licence=none")

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_people_are_invited_for_the_languages_that_lack_some(self, project):
        begin_language(project, project.rounds.first().collection, "th", beginning=LanguageBeginning(pilot_images=2))
        steps = {one.step.step: one for one in setup_of(project, released=False, now=NOW).steps}
        assert steps[ProjectStep.PEOPLE].url.endswith("?role=annotator&language=de&language=th")
        assert client_of(project.created_by).get(steps[ProjectStep.PEOPLE].url).status_code == 200

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_number_of_languages_does_not_change_the_queries(self, project):
        with_one = asked_for(project)
        for tag in ("cs", "fr", "th"):
            begin_language(project, project.rounds.first().collection, tag, beginning=LanguageBeginning(pilot_images=2))
        assert asked_for(project) == with_one

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_overview_says_what_is_next_until_there_is_a_release(self, project):
        client, page = client_of(project.created_by), reverse("annotation:project-show", args=[project.slug])
        text = client.get(page).content.decode()
        assert "Setup: 3 of 11 steps are done" in text
        assert "1 of 4 images has no licence" in text
        Release.objects.create(
            project=project,
            number=1,
            title="R",
            licence="CC0-1.0",
            authors="A",
            salt="s",
            until=NOW,
            created_at=NOW,
            created_by=project.created_by,
            state=JobState.DONE,
            checksum="0" * 64,
        )
        assert "steps are done" not in client.get(page).content.decode()

    def test_the_page_says_which_step_is_next(self, project):
        page = reverse("dashboard:setup-show", args=[project.slug])
        text = client_of(project.created_by).get(page).content.decode()
        assert "Consent text" in text
        assert text.count('aria-current="step"') == 1


def asked_for(project: Project) -> int:
    return len(queries_of(lambda: setup_of(project, released=False, now=NOW)))


class TestAnEmptyProject:
    def test_it_follows_what_was_imported_into_it(self):
        project = create_empty_project(creator=make_user(), name="First", now=NOW)
        images, english = setup_of(project, released=False, now=NOW).steps[:2]
        assert (images.url, english.step.state) == (reverse("imports:import-create", args=["first"]), StepState.WAITS)
        collection = make_collection(2, is_shared=False, project=project)
        steps = setup_of(project, released=False, now=NOW).steps
        assert (steps[0].step.state, steps[1].step.state) == (StepState.DONE, StepState.TO_DO)
        model = make_captioner(collection)
        ModelCaption.objects.filter(model=model, image=collection.entries.first().image).delete()
        assert "1 of 2 images has no English caption" in setup_of(project, released=False, now=NOW).steps[1].step.what

    def test_somebody_without_projects_starts_one_by_its_name(self):
        user = make_user(is_staff=True)
        user.user_permissions.add(Permission.objects.get(codename="add_project"))
        client = client_of(user)
        page = client.get(reverse("annotation:project-list")).content.decode()
        assert reverse("annotation:project-create-empty") in page
        made = client.post(reverse("annotation:project-create-empty"), {"name": "First"})
        assert made["Location"] == reverse("imports:import-create", args=["first"])
        assert client.get(reverse("annotation:project-show", args=["first"])).status_code == 200
        refused = client.post(reverse("annotation:project-create-empty"), {"name": ""})
        assert (refused.status_code, Project.objects.count()) == (422, 1)
