"""A copy of a project has its settings and texts, and none of its data."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Caption, GuidelineExample, Guidelines, Rating, Round, RoundKind, RoundState
from annotation.services.campaign import LanguageBeginning
from core.people.models import Membership, OnWithdrawal, Project, TextKind, TextTranslation
from office.dashboard.selectors.project_contents import copyable
from office.dashboard.services.projects import duplicate_project
from office.practice.models import PracticeSet
from office.recruitment.models import HourlyRate
from research.selection.models import LanguageTable
from sxs_eval.models import Instructions
from tests.annotation.submitting import begin_language, submit_captions
from tests.clients import client_of
from tests.factories import (
    NOW,
    images_of,
    make_annotator,
    make_collection,
    make_language,
    make_project,
    make_translation,
)
from tests.kept import kept
from tests.practice.making import make_practice

pytestmark = pytest.mark.django_db


@kept
def project() -> Project:
    """With a newer version of each text, two languages, and captions."""
    project = make_project("herons")
    collection = make_collection(4)
    project.consent_texts.create(version=2, body="I agree again.", on_withdrawal=OnWithdrawal.REMOVE)
    guidelines = Guidelines.objects.create(project=project, version=2, rating="Rate.", writing="Write.", note="New.")
    GuidelineExample.objects.create(
        guidelines=guidelines,
        position=1,
        image_id=images_of(collection)[0],
        language=make_language("en"),
        caption="A heron.",
        level=Rating.GOOD,
    )
    Instructions.objects.create(project=project, version=3, body="Compare.")
    LanguageTable.objects.create(project=project, number=2, areas={"de": {}}, created_at=NOW)
    about = {"project": project, "kind": TextKind.WRITING, "version": 2, "language": make_language("de")}
    TextTranslation.objects.create(**about, revision=1, body="Schreiben.", saved_at=NOW, published_at=NOW)
    TextTranslation.objects.create(**about, revision=2, body="Entwurf.", saved_at=NOW)
    make_translation(project, language="en", kind="invitation", body="Join {PROJECT}\n\n{LINK}")
    make_translation(project, language="de", kind="invitation", version=2, body="Komm zu {PROJECT}\n\n{LINK}")
    HourlyRate.objects.create(project=project, rate="14.50", currency="EUR")
    make_practice(project, is_required=False)
    german = begin_language(
        project, collection, replication=3, batch_size=2, lease_s=1800, beginning=LanguageBeginning(pilot_images=2)
    )
    begin_language(project, collection, "cs", beginning=LanguageBeginning(why_no_pilot="Known people."))
    submit_captions(german, make_annotator(german), now=timezone.now())
    return project


def copy_of(project: Project) -> Project:
    languages, _own = copyable(project)
    return duplicate_project(
        project=project, name="Egrets", languages=languages, seed=7, by=project.created_by, now=NOW
    )


@pytest.mark.long(reason="at least three others run each of its lines")
def test_it_has_the_newest_texts_as_first_versions(project):
    made = copy_of(project)
    text = made.consent_texts.get()
    assert (text.version, text.body, text.on_withdrawal) == (1, "I agree again.", OnWithdrawal.REMOVE)
    guidelines = made.guidelines.get()
    assert (guidelines.version, guidelines.rating, guidelines.note) == (1, "Rate.", "")
    assert guidelines.examples.get().caption == "A heron."
    assert made.rater_instructions.get().body == "Compare."
    assert made.language_tables.get().areas == {"de": {}}
    translation = made.text_translations.get(kind="writing")
    assert (translation.kind, translation.version, translation.body) == ("writing", 1, "Schreiben.")
    emails = made.text_translations.filter(kind="invitation")
    assert set(emails.values_list("language", "version")) == {("en", 1), ("de", 2)}
    assert str(made.hourly_rates.get().rate) == "14.50"
    for practice in PracticeSet.objects.filter(project=project):
        copy = PracticeSet.objects.get(project=made, kind=practice.kind)
        assert list(copy.items.values_list("caption")) == list(practice.items.values_list("caption"))


def test_it_has_the_languages_with_their_settings(project):
    made = copy_of(project)
    pilot = made.rounds.get(language="de", kind=RoundKind.PILOT)
    assert (pilot.state, pilot.sample_size, pilot.pool.lease_s) == (RoundState.OPEN, 2, 1800)
    assert (pilot.replication, pilot.pool.batch_size, pilot.seed) == (3, 2, 7)
    assert list(pilot.captioners.all()) == list(project.rounds.filter(language="de").first().captioners.all())
    skipped = made.rounds.get(language="cs", kind=RoundKind.PILOT)
    assert (skipped.state, skipped.reason) == (RoundState.SKIPPED, "Known people.")
    assert made.rounds.get(language="cs", kind=RoundKind.MAIN).state == RoundState.OPEN


def test_it_has_nobody_and_no_captions_and_leaves_the_other_as_it_was(project):
    before = (project.rounds.count(), project.memberships.count(), project.consent_texts.count())
    made = copy_of(project)
    assert Membership.objects.get(project=made).user == project.created_by
    assert not Caption.objects.filter(round__project=made).exists()
    assert Caption.objects.filter(round__project=project).exists()
    assert (project.rounds.count(), project.memberships.count(), project.consent_texts.count()) == before


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_is_not_shared_is_not_taken_along(project):
    main = Round.objects.get(project=project, language="cs", kind=RoundKind.MAIN)
    main.captioners.update(project=project, is_shared=False)
    languages, own = copyable(project)
    assert [round.language_id for round in languages] == ["de"]
    assert own == list(main.captioners.all())
    page = client_of(project.created_by).get(reverse("dashboard:project-duplicate", args=[project.slug]))
    assert main.captioners.get().name in page.content.decode()
    assert set(copy_of(project).rounds.values_list("language", flat=True)) == {"de"}


def test_the_page_makes_it_and_leads_there(project):
    client, address = client_of(project.created_by), reverse("dashboard:project-duplicate", args=[project.slug])
    assert "Copy of Herons" in client.get(address).content.decode()
    assert client.post(address, {"name": ""}).status_code == 422
    answer = client.post(address, {"name": "Egrets"})
    assert answer["Location"] == reverse("annotation:project-show", args=["egrets"])
