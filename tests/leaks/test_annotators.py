"""Whoever writes on screen 2 finds nothing of screen 1 anywhere: no English caption, no model's name, no rating.

The walk finds addresses by itself (walk.py). Where it stops at a new address, tell `World.known` in annotators.py what
an annotator could know or guess for its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import CaptionBatch
from annotation.services import batches
from research.inference.selectors import assigned_work
from tests.exported import export_address
from tests.leaks.addresses import routes
from tests.leaks.annotators import (
    BATCH,
    MODEL_WORD,
    STANDS,
    UNSTEADY,
    World,
    in_screen_2,
    in_screen_2_and_manager_of_another_project,
    in_screen_2_and_overdue,
    in_screen_2_of_images_that_managers_wrote_about,
    in_screen_2_with_other_rounds,
)
from tests.leaks.answers import Secrets
from tests.leaks.walk import extent_for
from tests.tiers import some

# What is sent does not depend on the database, and each walk is some thousand requests: once is enough.
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


# The installation's models are named to managers, who choose among them; beside stand no captions of images in hand.
MANAGERS_MAY_KNOW = {
    f"{app}:{name}": (MODEL_WORD,)
    for app, names in {
        "annotation": "project-create language-add image-show",
        "api": "model-list model-show comparison-list comparison-show comparison-count pairs-add "
        "metrics-show results-show score-list score-show score-again",
        "dashboard": "image-list",
        "exports": "export-show",
        "images": "collection-show collection-image-show",
        "inference": "model-list model-create model-show run-list run-show run-failures gallery model-try "
        "model-stabilisers embedding-list embedding-show embedding-create",
        "sxs_eval": "comparison-list comparison-create comparison-show comparison-settings comparison-remove "
        "comparisons-progress tables-export results-show metrics-show metrics-export plan-show",
        "scoring": "score-list score-compare scoring-create scoring-show scoring-drop",
    }.items()
    for name in names.split()
}


@pytest.mark.parametrize(
    "stand",
    some(STANDS, short=1, reason="the same pages at other moments; those of models are asked by themselves below"),
    ids=lambda stand: stand.__name__,
)
def test_nothing_of_screen_1_can_be_found_by_who_is(
    stand: Callable[[World], None], world: World, pytestconfig: pytest.Config
) -> None:
    stand(world)
    is_manager = stand is in_screen_2_and_manager_of_another_project
    extent = extent_for(pytestconfig, "annotation:")
    if is_manager:
        # Hundreds of pages and hundreds of changes: each with each would take ten minutes.
        extent = replace(extent, pages_after_a_write=12)
    walk = world.walk(extent, may_know=MANAGERS_MAY_KNOW if is_manager else {}).run()
    walk.check("/batches/", "/api/v1/work/")
    assert walk.spared == (set(MANAGERS_MAY_KNOW) if is_manager else set())
    reached = {"annotation:work-show", "annotation:guidelines-show", "images:image-show", "people:profile-show"}
    reached |= {"people:data-download", "people:account-delete"}
    if stand in (in_screen_2, in_screen_2_with_other_rounds, in_screen_2_and_overdue):
        reached |= {"annotation:caption-write", "annotation:batch-review"}
    reached |= {"api:work-show", "api:batch-show", "api:own-caption-list", "api:own-feedback-list", "api:docs"}
    if stand is in_screen_2_of_images_that_managers_wrote_about:
        reached |= {"annotation:feedback-list", "annotation:feedback-show", "annotation:caption-rewrite"}
    if is_manager:
        reached |= {"scoring:score-list", "scoring:scoring-show", "scoring:reference-show", "sxs_eval:metrics-show"}
        reached |= {"annotation:project-show", "images:collection-show", "images:import-show", "people:member-list"}
        reached |= {"inference:model-show", "inference:run-show", "inference:run-failures", "inference:worker-list"}
        reached |= {"inference:gallery", "inference:model-try", "inference:model-stabilisers"}
        reached |= {"inference:stabilisers-export", "inference:embedding-list"}
        reached |= {"inference:embedding-show", "inference:embedding-neighbours", "inference:training-show"}
        reached |= {"api:progress-show", "api:round-list", "api:image-list", "api:language-list"}
    assert reached <= walk.reached()


def test_what_is_said_to_be_unsteady_or_known_to_managers_is_there() -> None:
    """An entry that has lost its address would hide the next one of that name."""
    assert {*UNSTEADY, *MANAGERS_MAY_KNOW} <= {route.name for route in routes()}


def test_a_manager_gets_no_file_about_images_that_they_have_assigned_themselves(world: World, client: Client) -> None:
    in_screen_2_and_manager_of_another_project(world)
    client.force_login(world.annotator)
    address = export_address(world.rounds["B"].project.slug, "captions", "jsonl")
    refused = client.get(address)
    assert refused.status_code == 422
    assert b"assigned to you. Submit that batch first" in refused.content
    campaign = reverse("dashboard:campaign-download", args=["project-b"])
    assert b"assigned to you. Submit that batch first" in client.get(campaign, follow=True).content
    assert client.get(reverse("api:campaign-file", args=["project-b"])).json()["code"] == "images-assigned"
    world.write_all(CaptionBatch.objects.get(pk=world.batch.pk), world.annotator, timezone.now())
    assert client.get(address)["Content-Type"] == "application/jsonl; charset=utf-8"


def test_nor_do_they_get_what_models_wrote_about_these_images(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_screen_2_and_manager_of_another_project(world)
    client.force_login(world.annotator)
    page = export_address("project-b", "model-captions", "jsonl")
    by_program = f"/api/v1/projects/project-b/export/?{page.partition('?')[2]}"
    assert client.get(page).status_code == 422
    assert client.get(by_program).json()["code"] == "images-assigned"
    monkeypatch.setattr(assigned_work, "_kinds", {})
    assert client.get(page).status_code == 200


def test_pages_of_models_would_tell_if_nothing_were_known_to_be_assigned(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of what the walk finds nothing in."""
    in_screen_2_and_manager_of_another_project(world)
    client.force_login(world.annotator)
    secrets, known = world.secrets(), world.known()
    secrets = Secrets({word: what for word, what in secrets.words.items() if word != MODEL_WORD}, secrets.change)
    pages = [
        address
        for route in routes()
        if route.name in ("inference:gallery", "inference:run-show", "inference:embedding-neighbours")
        for address in route.addresses(known)
    ]

    def told() -> set[str]:
        return {page.split("/")[2] for page in pages if secrets.found_in(client.get(page).content.decode())}

    assert told() == set()
    monkeypatch.setattr(assigned_work, "_kinds", {})
    assert told() == {"gallery", "runs", "embeddings"}


def test_what_managers_wrote_would_tell_if_nothing_were_known_to_be_assigned(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of what the walk finds nothing in."""
    in_screen_2_of_images_that_managers_wrote_about(world)
    client.force_login(world.annotator)
    secrets, known = world.secrets(), world.known()
    names = ("annotation:feedback-list", "annotation:feedback-show", "annotation:caption-rewrite")
    pages = {route.name: route.addresses(known) for route in routes() if route.name in names}

    def told() -> set[str]:
        contents = {name: [client.get(page).content.decode() for page in texts] for name, texts in pages.items()}
        return {name for name, texts in contents.items() if any(map(secrets.found_in, texts))}

    assert told() == set()
    monkeypatch.setattr(assigned_work, "_kinds", {})
    assert told() == set(names)


def test_opening_screen_2_has_the_browser_forget_screen_1(world: World, client: Client) -> None:
    batch = batches.take_batch(round=world.rounds["A"], person=world.annotator, now=timezone.now(), rng=Random(3))
    client.force_login(world.annotator)
    ratings = {f"rating-{position}": "GOOD" for position in range(1, BATCH + 1)}
    first = client.get(reverse("annotation:batch-rate", args=[batch.pk]))
    assert "no-store" in first["Cache-Control"]
    opened = client.post(reverse("annotation:batch-rate", args=[batch.pk]), ratings | {"open": "1"})
    assert opened["Clear-Site-Data"] == '"cache"'
    again = client.post(reverse("annotation:writing-open", args=[batch.pk]))
    assert again["Clear-Site-Data"] == '"cache"'


def test_the_script_that_opens_screen_2_is_told_where_to_go_and_not_redirected(world: World, client: Client) -> None:
    """WebKit never tells a script of a redirect that has the browser forget."""
    batch = batches.take_batch(round=world.rounds["A"], person=world.annotator, now=timezone.now(), rng=Random(3))
    client.force_login(world.annotator)
    fields = {f"rating-{position}": "GOOD" for position in range(1, BATCH + 1)} | {"open": "1"}
    rating, where = (reverse(f"annotation:batch-{name}", args=[batch.pk]) for name in ("rate", "show"))
    opened = client.post(rating, fields, headers={"accept": "application/json"})
    assert (opened.status_code, opened.json()) == (200, {"location": where})
    assert opened["Clear-Site-Data"] == '"cache"'
    assert "no-store" in opened["Cache-Control"]
