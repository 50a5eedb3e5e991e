"""A project's own table of where languages are spoken: versions, its pages and its command."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from django.db import IntegrityError, transaction
from django.urls import reverse

from core.people.models import AuditEntry, Role
from research.selection.models import LanguageTable
from research.selection.rules.tables import shipped_table
from research.selection.selectors.tables import checked_table, table_of
from research.selection.services.tables import TableChangedError, replace_table
from tests.clients import client_of
from tests.commands import output_of
from tests.factories import NOW, join_project, make_project, make_user

pytestmark = pytest.mark.django_db
BENGALI = {"region": ["BD"], "country": ["BD", "IN"], "continent": ["AS"]}


@pytest.fixture
def manager():
    return make_user("mia")


@pytest.fixture
def project(manager):
    return make_project("lions", manager=manager)


def address(name, *arguments):
    return reverse(f"corpora:{name}", args=["lions", *arguments])


def replaced(project, data, *, note="", expected="", by=None):
    table = checked_table(data)
    return replace_table(project=project, table=table, note=note, by=by, now=NOW, expected=expected)


def upload(client, data):
    file = SimpleUploadedFile("t.json", data if isinstance(data, bytes) else json.dumps(data).encode())
    return client.post(address("table-upload"), {"file": file})


def test_a_project_without_versions_uses_the_shipped_table(project):
    assert table_of(project) is shipped_table()


def test_the_newest_version_counts_in_its_project_alone(project, manager):
    replaced(project, {"bn": BENGALI}, by=manager)
    second = replaced(project, {"bn": BENGALI | {"region": ["BD", "IN-WB"]}}, note="West Bengal, too", by=manager)
    assert second.number == 2
    assert table_of(project).areas["bn"].region == {"BD", "IN-WB"}
    assert table_of(make_project("tigers", manager=manager)) is shipped_table()


def test_each_version_is_in_the_audit_log_with_its_languages_and_reason(project, manager):
    replaced(project, {"bn": BENGALI}, note="Only Bengali", by=manager)
    entry = AuditEntry.objects.get(project=project, action="language-table.replaced")
    assert (entry.about, entry.by) == ("1", manager)
    assert entry.details["reason"] == "Only Bengali"
    assert len(entry.details["languages"]) == 36
    assert entry.details["version"] == table_of(project).version


def test_of_two_managers_who_edit_one_language_the_second_is_told_and_keeps_what_they_wrote(project, manager):
    client = client_of(manager)
    form = client.get(address("areas-edit", "bn")).context["form"]
    mine = dict(form.initial) | {"country": "BD IN PK"}
    replaced(project, shipped_table().as_entries() | {"bn": BENGALI})

    told = client.post(address("areas-edit", "bn"), mine)
    page = told.content.decode()
    assert told.status_code == 422
    assert "Somebody else changed the places of this language meanwhile. They are now: BD | BD IN | AS." in page
    assert "BD IN PK" in page

    mine["seen"] = told.context["form"].data["seen"]
    assert client.post(address("areas-edit", "bn"), mine).status_code == 200


def test_a_manager_who_only_edits_another_language_is_not_disturbed(project, manager):
    client = client_of(manager)
    mine = dict(client.get(address("areas-edit", "te")).context["form"].initial)
    replaced(project, shipped_table().as_entries() | {"bn": BENGALI})

    preview = client.post(address("areas-edit", "te"), mine | {"country": "IN LK"})
    assert [change["tag"] for change in preview.context["changes"]] == ["te"]


def test_a_table_that_was_replaced_meanwhile_is_previewed_anew_with_the_reason_kept(project, manager):
    client = client_of(manager)
    preview = upload(client, shipped_table().as_entries() | {"te": {"region": ["IN-AP"]}})
    sent = dict(preview.context["form"].initial) | {"note": "Andhra Pradesh alone"}
    replaced(project, shipped_table().as_entries() | {"bn": BENGALI})

    told = client.post(address("table-replace"), sent)
    page = told.content.decode()
    assert told.status_code == 409
    assert "Somebody else changed the table meanwhile." in page
    assert "Andhra Pradesh alone" in page
    assert {change["tag"] for change in told.context["changes"]} == {"bn", "te"}, "it would take back bn"
    assert LanguageTable.objects.count() == 1

    sent["expected"] = told.context["form"].data["expected"]
    assert client.post(address("table-replace"), sent).status_code == 302


def test_the_same_table_again_makes_no_version(project):
    assert replaced(project, shipped_table().as_entries()) is None
    assert not LanguageTable.objects.exists()


def test_a_change_based_on_an_older_version_is_refused(project):
    seen = table_of(project).version
    replaced(project, {"bn": BENGALI}, expected=seen)
    with pytest.raises(TableChangedError, match="Somebody else"):
        replaced(project, {"te": {"region": ["IN-AP"]}}, expected=seen)
    assert table_of(project).areas.keys() == {"bn"}


@pytest.mark.postgres
def test_a_number_is_given_once(project):
    replaced(project, {"bn": BENGALI})
    with pytest.raises(IntegrityError), transaction.atomic():
        LanguageTable.objects.create(project=project, number=1, areas={}, created_at=NOW)


def test_the_page_names_places_reasons_and_the_map(project, manager):
    page = client_of(manager).get(address("table-show"), {"language": "te"}).content.decode()
    for said in (
        "West Bengal",
        "Andhra Pradesh",
        "Official in Andhra Pradesh and Telangana.",
        "world__country--country",
    ):
        assert said in page
    assert "comes with the platform" in page


def test_a_change_of_one_language_is_shown_before_it_is_made(project, manager):
    client = client_of(manager)
    sent = {"region": "BD, IN-WB\nIN-AS", "country": "BD IN", "continent": "AS"}
    preview = client.post(address("areas-edit", "bn"), sent)
    assert preview.status_code == 200
    assert not LanguageTable.objects.exists()
    said = preview.content.decode()
    assert "Assam" in said
    assert "Tripura" in said
    form = preview.context["form"]
    done = client.post(address("table-replace"), form.initial | {"note": "Assam, for Barak Valley"})
    assert done.status_code == 302
    assert table_of(project).areas["bn"].region == {"BD", "IN-AS", "IN-WB"}
    assert table_of(project).areas["bn"].reasons == shipped_table().areas["bn"].reasons
    assert table_of(project).areas["hi"] == shipped_table().areas["hi"]
    assert "Assam, for Barak Valley" in client.get(address("table-show")).content.decode()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"region": "IN-XX"}, "no region has the code IN-XX"),
        ({"country": "IN-WB"}, "no country has the code IN-WB"),
        ({"region": " , "}, "the language has no place"),
    ],
)
def test_places_that_are_not_there_are_refused(project, manager, sent, said):
    refused = client_of(manager).post(address("areas-edit", "bn"), sent)
    assert refused.status_code == 422
    assert said in refused.content.decode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff", "not a JSON file"),
        (b"[" * 100_000, "not a JSON file"),
        ([], "A table is an object"),
        ({"xx": BENGALI, "de": {}}, "there is no language with this tag"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_reason(project, manager, data, said):
    refused = upload(client_of(manager), data)
    assert refused.status_code == 422
    assert said in refused.content.decode()


def test_what_is_exported_can_be_uploaded_and_the_shipped_one_brought_back(project, manager):
    client = client_of(manager)
    form = upload(client, {"bn": BENGALI}).context["form"]
    client.post(address("table-replace"), form.initial)
    assert json.loads(client.get(address("table-export")).content) == {"bn": BENGALI}
    assert json.loads(client.get(address("version-export", 1)).content) == {"bn": BENGALI}
    assert "table of its own" in client.get(address("table-show")).content.decode()
    form = client.post(address("table-reset")).context["form"]
    client.post(address("table-replace"), form.initial)
    assert table_of(project).as_entries() == shipped_table().as_entries()
    assert project.language_tables.count() == 2


def test_what_somebody_else_changed_since_the_preview_is_kept(project, manager):
    client = client_of(manager)
    form = upload(client, {"te": {"region": ["IN-AP"]}}).context["form"]
    replaced(project, {"bn": BENGALI})
    told = client.post(address("table-replace"), form.initial, follow=True).content.decode()
    assert "Somebody else changed the table" in told
    assert table_of(project).areas.keys() == {"bn"}


def test_a_preview_that_was_tampered_with_changes_nothing(project, manager):
    refused = client_of(manager).post(address("table-replace"), {"areas": "{", "expected": "x"})
    assert refused.status_code == 422
    assert not LanguageTable.objects.exists()


def test_the_command_prints_replaces_and_resets_the_table(project, manager, tmp_path):
    assert json.loads(output_of("language_table", "lions")) == shipped_table().as_entries()
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"bn": BENGALI}))
    said = output_of("language_table", "lions", "--replace", file, "--note", "Bengali alone", "--by", "mia")
    assert said == "Version 1 of the table counts now.\n"
    version = project.language_tables.get()
    assert (version.note, version.created_by) == ("Bengali alone", manager)
    assert output_of("language_table", "lions", "--replace", file) == "Nothing has changed.\n"
    output_of("language_table", "lions", "--reset")
    assert table_of(project).version == shipped_table().version


def test_the_command_says_all_that_is_wrong_with_a_file(project, tmp_path):
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"bn": {}, "de": {"region": ["DE-XX"]}}))
    with pytest.raises(CommandError, match=r"bn: the language has no place[\s\S]*DE-XX"):
        output_of("language_table", "lions", "--replace", file)
    file.write_text("{")
    with pytest.raises(CommandError, match="is not a JSON file"):
        output_of("language_table", "lions", "--replace", file)
    with pytest.raises(CommandError, match="cannot be read"):
        output_of("language_table", "lions", "--replace", tmp_path / "none.json")


def test_programs_read_and_replace_the_table(project, manager):
    client, where = client_of(manager), reverse("api:language-table", args=["lions"])
    read = client.get(where).json()
    assert read == {"version": shipped_table().version, "areas": shipped_table().as_entries()}
    sent = {"areas": {"bn": BENGALI}, "note": "By a program", "expected": read["version"]}
    answer = client.put(where, sent, content_type="application/json")
    assert (answer.status_code, answer.json()["areas"]) == (200, {"bn": BENGALI})
    assert project.language_tables.get().note == "By a program"
    late = client.put(where, sent | {"areas": {"te": BENGALI}}, content_type="application/json")
    assert (late.status_code, late.json()["code"]) == (409, "language-table-changed")
    wrong = client.put(where, {"areas": {"bn": {}, "de": []}}, content_type="application/json")
    assert (wrong.status_code, wrong.json()["code"]) == (409, "language-table-invalid")
    assert len(wrong.json()["errors"]["areas"]) == 2
    assert client.delete(where).status_code == 204
    assert client.get(where).json() == read


@pytest.mark.parametrize(("role", "statuses"), [(Role.RESEARCHER, (200, 403)), (Role.ANNOTATOR, (404, 404))])
def test_only_managers_replace_it_by_program(project, role, statuses):
    client = client_of(join_project(project, make_user("ann"), role))
    where = reverse("api:language-table", args=["lions"])
    put = client.put(where, {"areas": {"bn": BENGALI}}, content_type="application/json")
    assert (client.get(where).status_code, put.status_code) == statuses
    assert not LanguageTable.objects.exists()
