"""A campaign as a file: written out from a project, planned, and applied as a whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse
from jsonschema import Draft7Validator

from annotation.models import GuidelineExample, Guidelines, Rating, Round, RoundKind
from annotation.services.campaign import LanguageBeginning
from core.people.models import AuditEntry, OnWithdrawal, Project, Role
from core.people.services.invitations import invite
from office.dashboard.formats.campaign_file import CampaignFileError, read_campaign, write_campaign
from office.dashboard.selectors.campaign_file import campaign_of
from office.dashboard.services.campaign.applying import apply_campaign
from office.recruitment.models import HourlyRate
from sxs_eval.models import Comparison, Instructions
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.services.comparisons import create_comparison
from tests.annotation.submitting import begin_language
from tests.api.seeded import Program
from tests.clients import client_of
from tests.commands import output_of
from tests.factories import NOW, images_of, make_captioner, make_collection, make_language, make_project
from tests.kept import kept
from tests.practice.making import make_practice
from tests.recruitment.panel import make_study

pytestmark = pytest.mark.django_db


@kept
def project() -> Project:
    """With a newer version of each text, two languages, practice, comparisons, invitations, a study and a rate."""
    project = make_project("herons")
    collection = make_collection(4)
    project.consent_texts.create(version=2, body="I agree.\r\nAgain.", on_withdrawal=OnWithdrawal.REMOVE)
    guidelines = Guidelines.objects.create(project=project, version=2, rating="Rate.", writing="Write.")
    GuidelineExample.objects.create(
        guidelines=guidelines,
        position=1,
        image_id=images_of(collection)[0],
        language=make_language("en"),
        caption='A "heron".',
        level=Rating.GOOD,
    )
    Instructions.objects.create(project=project, version=3, body="Compare.")
    HourlyRate.objects.create(project=project, rate="14.50", currency="EUR")
    make_practice(project, is_required=False)
    begin_language(project, collection, batch_size=2, lease_s=1800, beginning=LanguageBeginning(pilot_images=2))
    begin_language(project, collection, "cs", beginning=LanguageBeginning(why_no_pilot="Known people."))
    make_study(project)
    test, base = make_captioner(collection, language="de"), make_captioner(collection, language="de")
    setting = ComparisonSetting(seed=5, subset=2, lease_s=1800)
    for language in (make_language("de"), make_language("cs")):
        create_comparison(
            project=project, language=language, base=base, test=test, collection=collection, setting=setting, by=None
        )
    by = project.created_by
    invite(project=project, role=Role.RATER, email="a@example.org", expires_at=NOW, created_by=by, now=NOW)
    return project


def file_of(project: Project, **changes: Any) -> dict[str, Any]:
    return read_campaign(write_campaign(campaign_of(project) | changes).encode())


def applied(file: dict[str, Any], project: Project | None, **how: Any) -> Any:
    by = Project.objects.get().created_by if project is None else project.created_by
    return apply_campaign(file, project=project, by=by, now=NOW, **how)


def test_what_was_written_out_changes_nothing(project):
    assert applied(file_of(project), project).steps == []


def test_it_makes_an_equal_project_and_then_changes_nothing(project):
    file = file_of(project)
    made = applied(file, None, slug="egrets").project
    first, second = campaign_of(project), campaign_of(made)
    assert (made.slug, second["project"].pop("slug")) == ("egrets", "egrets")
    first["project"].pop("slug")
    assert second == first
    assert applied(file, made).steps == []


def test_that_a_metric_chose_the_models_goes_along_and_is_not_taken_back(project):
    Comparison.objects.filter(language="cs").update(chosen_by="cider-d")
    file = file_of(project)
    marks = {tuple(one["languages"]): one.get("chosen_by") for one in file["comparisons"]}
    assert marks == {("de",): None, ("cs",): "cider-d"}
    made = applied(file, None, slug="egrets").project
    assert campaign_of(made)["comparisons"] == campaign_of(project)["comparisons"]
    entry = AuditEntry.objects.get(project=made, action="comparison.added", about__endswith=", cs")
    assert entry.details["chosen_by"] == "cider-d"

    for comparison in file["comparisons"]:
        comparison["chosen_by"] = "*"
    paths = {f"comparisons[{number}] ({tag}).chosen_by" for number, tag in enumerate(("de", "cs"))}
    refused = applied(file, made).refused
    assert {step.path for step in refused} == paths
    assert all(": this cannot be changed later. Take the key out of the file" in step.text for step in refused)
    for comparison in file["comparisons"]:
        del comparison["chosen_by"]
    assert applied(file, made).steps == []


def test_a_plan_stores_nothing(project):
    file = file_of(project, rates=[{"rate": 20, "currency": "EUR"}])
    before = campaign_of(project), AuditEntry.objects.count()
    planned = applied(file, project, is_plan=True)
    assert [(step.kind, step.path) for step in planned.steps] == [("changed", "rates")]
    assert (campaign_of(project), AuditEntry.objects.count()) == before
    assert applied(file, None, is_plan=True).steps
    assert Project.objects.count() == 1


def test_settings_languages_and_texts_are_changed_and_what_the_file_lacks_stays(project):
    said = campaign_of(project)
    _czech, german = said["languages"]
    german["main"]["lease_h"] = 0.75
    german["verification"] |= {"captions": 2, "replication": 2}
    swahili = {**german, "tag": "sw", "pilot": {**german["pilot"], "images": 3}}
    comparison = said["comparisons"][0]
    file = file_of(
        project,
        languages=[german, swahili],
        consent={"text": "Yes.", "on_withdrawal": "keep"},
        comparisons=[comparison | {"batch_size": 5, "languages": ["cs", "sw"]}],
        invitations=[{"role": "annotator", "languages": ["sw"], "places": 9}],
    )
    change = applied(file, project)
    assert [(step.kind, step.path) for step in change.steps] == [
        ("changed", "consent"),
        ("added", "languages[1]"),
        ("changed", "languages[0].main.lease_h"),
        ("changed", "languages[0].verification.replication"),
        ("changed", "languages[0].verification.captions"),
        ("added", "comparisons[0]"),
        ("changed", "comparisons[0] (cs).batch_size"),
        ("added", "invitations[0]"),
    ]
    assert {one["tag"] for one in campaign_of(project)["languages"]} == {"cs", "de", "sw"}
    assert Round.objects.get(project=project, language="sw", kind=RoundKind.PILOT).sample_size == 3
    assert applied(file, project).steps == []


def test_what_cannot_be_changed_is_named_and_nothing_is_done(project):
    said = campaign_of(project)
    said["languages"][1]["pilot"]["images"] = 1
    said["languages"][1]["seed"] = 99
    said["studies"][0]["role"] = "rater"
    del said["project"]
    change = applied(file_of(project, **said | {"rates": [{"rate": 20, "currency": "EUR"}]}), project)
    paths = {"languages[1].seed", "languages[1].pilot.images", "studies[0].role"}
    assert {step.path for step in change.refused} == paths
    assert not change.is_applied
    assert HourlyRate.objects.get().rate == 14.5


def problems_of(text: str) -> list[str]:
    with pytest.raises(CampaignFileError) as refused:
        applied(read_campaign(text.encode()), None)
    return refused.value.problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[project", "This is not TOML"),
        ('[project]\nname = "x"\nslgu = "x"', "project.slgu: there is no such key; one of slug, name, description."),
        ("[project]", "project.name is missing."),
        (
            '[project]\nname="x"\n[[invitations]]\nrole="expert"',
            "invitations[0].role: 'expert' is not a role; one of manager, annotator, rater, player, researcher.",
        ),
        ('[project]\nname="x"\n[rounds]\nreplication="2"', "rounds.replication: '2' is not a whole number."),
        ('[project]\nname="x"\n[rounds]\nreplication=99', "rounds.replication: 99; at most 20."),
        ('[project]\nname="x"\n[consent]\ntext="{FOR judge}"', "consent.text: Line 1: “judge” is not a role"),
        ('[project]\nname="x"\n[[languages]]\ntag="de"', "languages[0].collection is missing (or rounds.collection)."),
    ],
)
def test_what_is_wrong_is_named_with_its_path_and_what_would_be_right(project, text, said):
    assert any(one.startswith(said) for one in problems_of(text)), problems_of(text)


def test_a_name_alone_makes_a_project_that_images_can_be_imported_into(project):
    change = apply_campaign(
        read_campaign(b'[project]\nname = "Harbours"'), project=None, slug="harbours", by=project.created_by, now=NOW
    )
    assert (change.project.slug, change.project.rounds.count()) == ("harbours", 0)
    assert [(step.path, step.text) for step in change.steps] == [("project", "Harbours")]


def test_names_that_stand_for_nothing_are_all_named(project):
    text = write_campaign(campaign_of(project)).replace("collection-", "kollektion-").replace('"cs"', '"xx"')
    said = problems_of(text)
    assert any(one.startswith("languages[0].tag: 'xx' is not a language; one of ar, bn,") for one in said)
    assert any(one.startswith("languages[1].collection: 'kollektion-") for one in said)
    assert any(one.startswith("guidelines.examples[0].collection") for one in said)
    assert Project.objects.count() == 1


def test_the_page_shows_the_plan_and_then_applies_what_was_looked_at(project):
    client, page = client_of(project.created_by), reverse("dashboard:campaign-show", args=["herons"])
    download = client.get(reverse("dashboard:campaign-download", args=["herons"]))
    text = download.content.decode().replace("rate = 14.5", "rate = 15")
    planned = client.post(page, {"file": SimpleUploadedFile("herons.toml", text.encode())})
    assert planned.status_code == 200
    assert HourlyRate.objects.get().rate == 14.5
    client.post(page, {"text": planned.context["form"].initial["text"], "apply": "1"})
    assert HourlyRate.objects.get().rate == 15
    assert "there is no such key" in client.post(page, {"text": text + "\n[surprise]"}).content.decode()
    file = text.replace('slug = "herons"', "")
    made = client.post(reverse("dashboard:campaign-create"), {"text": file, "apply": "1"})
    assert made["Location"] == reverse("annotation:project-show", args=["herons-2"])


def test_the_api_plans_applies_and_makes_projects(project):
    program, address = Program(project.created_by), "/api/v1/projects/herons/campaign/"
    text = program.get(address).content.decode()

    def put(text: str, to: str = address) -> Any:
        return program.client.put(to, text, content_type="application/toml", headers=program.headers)

    file = text.replace("rate = 14.5", "rate = 15")
    step = {"kind": "changed", "path": "rates", "text": "other languages: 15 EUR"}
    assert put(file, f"{address}?plan=1").json() == {"project": "herons", "is_applied": False, "steps": [step]}
    assert put(file).json()["is_applied"]
    assert put(file).json()["steps"] == []
    assert put(file, "/api/v1/projects/egrets/campaign/").status_code == 201
    refused = put(text.replace("seed = 5", "seed = 5\nsead = 6"))
    assert refused.status_code == 422
    assert refused.json()["errors"]["campaign"][0].startswith("comparisons[0].sead: there is no such key")
    impossible = put(text.replace("batches = 1", "batches = 2"))
    assert (impossible.status_code, list(impossible.json()["errors"])) == (409, ["studies[0].batches"])


def test_the_command_writes_plans_applies_and_validates(project, tmp_path):
    file = tmp_path / "campaign.toml"
    call_command("campaign", "write", "herons", "--output", str(file))
    assert "is valid" in output_of("campaign", "validate", file)
    assert output_of("campaign", "plan", file).strip() == "Nothing to change."
    file.write_text(file.read_text().replace("rate = 14.5", "rate = 15"))
    assert "Changed: rates: other languages: 15 EUR" in output_of("campaign", "apply", file)
    with pytest.raises(CommandError, match="--by USER"):
        call_command("campaign", "plan", str(file), "--project", "egrets")
    file.write_text("[project]\nname = 3")
    with pytest.raises(CommandError, match=r"project.name: 3 is not a text in quotes"):
        call_command("campaign", "validate", str(file))


def test_the_schema_for_editors_is_a_schema(client, tmp_path):
    schema = client.get(reverse("dashboard:campaign-schema")).json()
    Draft7Validator.check_schema(schema)
    call_command("campaign", "schema", "--output", str(tmp_path / "schema.json"))
    assert schema == json.loads((tmp_path / "schema.json").read_text())
