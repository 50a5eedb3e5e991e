"""`draft_texts`: machines draft translations of a project's texts, and nobody sees them before a person publishes."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.services.projects import publish_guidelines
from core.people.models import TextKind, TextTranslation
from core.people.services.consent import publish_consent_text
from core.people.services.texts import save_translation
from tests.clients import client_of
from tests.factories import NOW, make_language, make_round

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]


@pytest.fixture
def round():
    return make_round(language="de")


def draft(project, *to: str) -> None:
    call_command("draft_texts", project.slug, backend="fake", source="x", to=to)


def test_machines_draft_and_people_publish(round):
    by = round.project.created_by
    publish_guidelines(project=round.project, rating="## Look\n\n- One thing\n", writing="Write.\n", by=by, now=NOW)
    publish_consent_text(project=round.project, body="{FOR player}\n- Guesses\n{END}\n", by=by, now=NOW)
    draft(round.project, "de")
    drafts = TextTranslation.objects.filter(published_at=None, drafted_by="x", language="de")
    assert set(drafts.values_list("kind", flat=True)) == {"consent", "rating", "writing"}
    assert drafts.get(kind="rating").body == "## de of Look\n\n- de of One thing\n", "headings and lists stay"
    assert drafts.get(kind="consent").body == "{FOR player}\n- de of Guesses\n{END}\n", "for whom a part is, too"
    page = client_of(round.project.created_by).get(
        reverse("people:text-translate", args=[round.project.slug, "rating", "de"])
    )
    assert "Translated by a machine (x)" in page.content.decode()


def test_what_is_there_is_left_alone(round):
    save_translation(
        project=round.project, kind=TextKind.RATING, language=make_language("de"), version=1, body="x",
        by=round.project.created_by, now=NOW,
    )  # fmt: skip
    draft(round.project, "de")
    assert not TextTranslation.objects.filter(kind="rating", drafted_by="x").exists()


def test_unknown_projects_are_refused():
    with pytest.raises(CommandError, match="There is no project"):
        call_command("draft_texts", "nowhere", backend="fake", source="x", to=["de"])
