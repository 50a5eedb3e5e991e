"""Pages of selections: start, preview, confirm, exchange; and those who may not see them."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from research.selection import tasks
from research.selection.models import Selection
from tests.factories import make_captioner, make_project
from tests.selection.selecting import (
    FRANCE,
    SEA,
    TELANGANA,
    WEST_BENGAL,
    give_table,
    made_places,  # noqa: F401 a fixture
    make_candidates,
    make_placed_collection,
    make_selection,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("made_places")]


@pytest.fixture
def project():
    project = make_project("lions")
    give_table(project)
    return project


@pytest.fixture
def collection(project):
    return make_placed_collection({WEST_BENGAL: 6, TELANGANA: 6, FRANCE: 6, SEA: 6})


@pytest.fixture
def queue(monkeypatch) -> list[int]:
    asked: list[int] = []
    monkeypatch.setattr(tasks, "ask_for_choice", asked.append)
    return asked


def sent(collection, **changes):
    values = {"source": f"collection:{collection.slug}", "languages": ["bn", "fr"], "per_language": 2, "seed": 7}
    return values | {"levels": ["region", "country", "continent", "anywhere"], "name": "First"} | changes


def test_a_started_selection_gets_its_images_in_the_background(project, collection, manager, queue):
    answer = manager.post("/projects/lions/selections/new/", sent(collection))

    selection = Selection.objects.get()
    assert answer.url == "/projects/lions/selections/1/"
    assert queue == [selection.pk]
    assert (selection.name, selection.languages, selection.seed) == ("First", ["bn", "fr"], 7)
    page = manager.get(answer.url).content.decode()
    assert "Choosing images" in page
    assert "/projects/lions/selections/1/progress/" in page
    tasks.choose_images(selection.pk)
    assert manager.get(f"{answer.url}progress/", headers={"HX-Request": "true"})["HX-Refresh"] == "true"


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("wrong", [{"levels": [], "per_language": 0}, {"per_language": 10**10}])
def test_a_form_that_lacks_something_says_so_and_starts_nothing(project, collection, manager, queue, wrong):
    answer = manager.post("/projects/lions/selections/new/", sent(collection, **wrong))

    assert answer.status_code == 422
    assert not Selection.objects.exists()


def test_all_languages_are_meant_where_none_is_ticked(project, collection, manager, queue):
    manager.post("/projects/lions/selections/new/", sent(collection, languages=[]))

    assert len(Selection.objects.get().languages) == 36


def test_candidate_lists_of_the_project_can_be_chosen_from_and_those_of_others_cannot(project, manager, queue):
    make_candidates(project, ["a"])
    make_candidates(make_project("tigers"), ["b"]).__class__.objects.filter(project__slug="tigers").update(
        slug="theirs"
    )

    refused = manager.post("/projects/lions/selections/new/", sent(project, source="candidates:theirs"))
    taken = manager.post("/projects/lions/selections/new/", sent(project, source="candidates:found"))

    assert (refused.status_code, taken.status_code) == (422, 302)


def test_a_list_whose_import_is_not_finished_is_shown_and_cannot_be_picked(project, manager, queue):
    made = make_candidates(project, ["a"])
    made.counts = {"complete": False}
    made.save()

    page = manager.get("/projects/lions/selections/new/").content.decode()
    refused = manager.post("/projects/lions/selections/new/", sent(project, source="candidates:found"))

    assert '<option value="candidates:found" disabled>Found (import not finished)</option>' in page
    assert "of these candidates is still being read" in refused.content.decode()
    assert not Selection.objects.exists()


def test_candidates_without_files_have_a_link_with_author_licence_and_place_and_no_remote_image(project, manager):
    found = make_candidates(project, ["a", "b"])
    about = {"author": "Ada", "licence": "CC BY 4.0", "licence_url": "https://creativecommons.org/licenses/by/4.0/"}
    found.candidates.update(**about, title="Harbour")
    found.candidates.filter(key="b").update(address="folder/b.jpg")
    make_selection(project, found, languages=["fr"])

    for path in ("", "languages/fr/", "languages/fr/1/exchange/"):
        page = manager.get(f"/projects/lions/selections/1/{path}").content.decode()
        assert "Ada" in page
        assert "CC BY 4.0" in page
        assert "Paris, France" in page
        assert 'src="http' not in page
        assert "48.8" not in page
    page = manager.get("/projects/lions/selections/1/").content.decode()
    assert 'href="https://images.example.org/a.jpg" rel="noopener noreferrer nofollow"' in page
    assert ">folder/b.jpg</bdi>" in page


def test_a_replacement_that_was_taken_meanwhile_is_named(project, collection, manager):
    selection = make_selection(project, collection)
    row = selection.selected_images.get(language="fr", position=1)
    sent = {"key": row.key, "replacement": "in-wb-001", "reason": "Blurred."}
    answer = manager.post("/projects/lions/selections/1/languages/fr/1/exchange/", sent)

    assert answer.status_code == 422
    assert "“in-wb-001” is no longer free. Choose another image." in answer.content.decode()


def test_a_preview_has_pools_numbers_and_what_is_missing(project, collection, manager):
    make_selection(project, collection, per_language=7)
    page = manager.get("/projects/lions/selections/1/").content.decode()

    assert "of 12" in page, "the pool of hi in its region"
    assert "images are missing" in page
    assert "Confirm selection" in page
    assert "fr-75-" in page
    assert "world__dot--anywhere" in page, "the map"


def test_a_confirmed_selection_leads_to_rounds_with_its_images(project, collection, manager):
    selection = make_selection(project, collection)
    answer = manager.post("/projects/lions/selections/1/confirm/", follow=True)

    selection.refresh_from_db()
    page = answer.content.decode()
    assert f"/projects/lions/languages/add/?collection={selection.collection.slug}" in page
    assert "Confirm selection" not in page
    assert "Chosen by place" in manager.get(f"/collections/{selection.collection.slug}/").content.decode()


def test_collections_by_language_are_made_if_asked_for_and_lead_to_rounds(project, collection, manager):
    selection = make_selection(project, collection)
    page = manager.post("/projects/lions/selections/1/confirm/", {"by_language": "on"}, follow=True).content.decode()

    own = selection.language_collections.get(language="te").collection
    assert f"/projects/lions/languages/add/?collection={own.slug}&amp;language=te" in page
    make_captioner(own)
    form = manager.get(f"/projects/lions/languages/add/?collection={own.slug}&language=te").context["form"]
    assert form["languages"].value() == ["te"]
    assert "Set up rounds for Telugu" in page
    assert manager.get(f"/collections/{own.slug}/").status_code == 200


def test_a_draft_can_be_discarded_and_a_confirmed_one_cannot(project, collection, manager):
    make_selection(project, collection)
    second = make_selection(project, collection)
    manager.post("/projects/lions/selections/2/confirm/")

    assert manager.post("/projects/lions/selections/1/discard/").url == "/projects/lions/selections/"
    refused = manager.post("/projects/lions/selections/2/discard/", follow=True)

    assert "Only drafts can be discarded" in refused.content.decode()
    assert list(Selection.objects.all()) == [second]


def test_images_of_a_language_are_shown_by_level_and_one_is_exchanged(project, collection, manager):
    selection = make_selection(project, collection)
    old = selection.selected_images.get(language="fr", position=1)
    listed = manager.get("/projects/lions/selections/1/languages/fr/?level=region").content.decode()
    assert old.key in listed
    assert "No images." in manager.get("/projects/lions/selections/1/languages/fr/?level=anywhere").content.decode()
    address = "/projects/lions/selections/1/languages/fr/1/exchange/"
    form = manager.get(address).context["form"]
    best = form.fields["replacement"].choices[0][0]

    answer = manager.post(address, {"key": old.key, "replacement": best, "reason": "Blurred."})

    assert answer.url == "/projects/lions/selections/1/languages/fr/"
    assert selection.selected_images.get(language="fr", position=1).key == best
    assert "Blurred." in manager.get("/projects/lions/selections/1/").content.decode()
    late = manager.post(address, {"key": old.key, "replacement": "", "reason": "Blurred."})
    assert "has been exchanged already" in late.content.decode()


def run(*arguments: str) -> tuple[dict[str, Any], str]:
    out, err = StringIO(), StringIO()
    call_command("select_images", *arguments, "--json", stdout=out, stderr=err)
    return json.loads(out.getvalue()), err.getvalue()


def test_the_command_makes_a_selection_and_its_collection(project, collection):
    options = ["--project", "lions", "--languages", "bn,te,hi,fr", "--per-language", "2", "--seed", "7"]
    answer, said = run(collection.slug, *options, "--name", "From the command")

    selection = Selection.objects.get()
    assert answer["collection"] == selection.collection.slug
    assert answer["languages"]["hi"] == {"region": 2, "country": 0, "continent": 0, "anywhere": 0}
    assert [one["key"] for one in answer["images"][:2]] == ["in-wb-001", "in-wb-003"]
    assert said == ""


def test_the_command_makes_collections_by_language(project, collection):
    options = [collection.slug, "--project", "lions", "--languages", "te,fr", "--per-language", "2", "--seed", "7"]
    answer, _ = run(*options, "--by-language")

    made = Selection.objects.get().language_collections.all()
    assert answer["collections"] == {one.language_id: one.collection.slug for one in made}
    assert set(answer["collections"]) == {"te", "fr"}
    with pytest.raises(CommandError, match="--by-language"):
        run(*options, "--by-language", "--preview")


def test_a_preview_by_the_command_stays_a_draft(project):
    make_candidates(project, ["a", "b"])
    answer, said = run(
        "--candidates", "found", "--project", "lions", "--languages", "fr,mi", "--per-language", "2", "--seed", "7",
        "--preview",
    )  # fmt: skip

    assert answer["collection"] is None
    assert Selection.objects.get().confirmed_at is None
    assert "no place for mi" in said
    assert "fr: 2 of 2 images are missing" in said, "mi, without a region, chose first"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["x", "--seed", "1"], "Give --table"),
        (["--project", "lions", "--seed", "1"], "Name a collection"),
        (["--project", "lions", "--candidates", "x", "--seed", "1"], "no candidate list x"),
        (["--project", "lions", "--seed", "1", "--levels", "town"], "--levels takes"),
    ],
)
def test_a_command_that_cannot_be_followed_says_why(project, arguments, why):
    with pytest.raises(CommandError, match=why):
        run(*arguments)
