"""Scores over some of the images: the same numbers as a scoring that has only those images."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from core.images.models import Collection, CollectionImage
from core.jobs.models import JobState
from crosslens_metrics.paired import paired_difference
from crosslens_metrics.signatures import Signature
from research.scoring.models import Scoring
from research.scoring.selectors.images import per_image
from research.scoring.selectors.restricting import by_level, restricted_figures, restriction, with_intervals
from research.scoring.selectors.scores import current_pass, score_cells
from research.scoring.selectors.significance import paired_result
from research.scoring.selectors.some_figures import MIN_IMAGES, ComputingBudget, keeps_frequencies
from research.scoring.services.references import put_references
from research.selection.models import PlaceLevelChoice, SelectedImage, Selection, Subset
from research.selection.rules.image_filters import ImageFilterError, parse
from tests.clients import client_of
from tests.commands import output_of
from tests.exported import export_address
from tests.factories import NOW, make_captioner, make_collection, make_project
from tests.kept import kept
from tests.metrics.reference_tool import reference_cider_d
from tests.scoring.scored import make_references, make_scoring, run

pytestmark = pytest.mark.django_db

METRICS = ["bleu-1", "bleu-4", "rouge-l", "cider-d"]


@kept
def scoring() -> Scoring:
    """Six images: a model that is right about every second one."""
    collection = make_collection(6)
    references = make_references(project=make_project("lions"), collection=collection)
    model = make_captioner(collection, "Half", text="test caption", language="de")
    for number, caption in enumerate(model.captions.filter(language="de").order_by("pk")):
        if number % 2:
            type(caption).objects.filter(pk=caption.pk).update(text=f"something else of {number}")
    made = make_scoring(references, model=model)
    run(made)
    return made


@pytest.fixture
def subset(scoring: Scoring) -> Subset:
    """The first, second and fifth image."""
    made = Subset.objects.create(project=scoring.project, slug="xm3", name="XM3", created_at=NOW)
    made.images.set([entry.image for entry in scoring.references.collection.entries.order_by("position")][:5:2])
    made.images.add(scoring.references.collection.entries.order_by("position")[1].image)
    return made


def alone(scoring: Scoring, subset: Subset) -> Scoring:
    """The same captions and references in a collection of only those images."""
    collection = Collection.objects.create(slug="only", name="Only", is_shared=True)
    for entry in scoring.references.collection.entries.filter(image__in=subset.images.all()):
        CollectionImage.objects.create(
            collection=collection, image=entry.image, key=entry.key, position=entry.position, file_name=entry.file_name
        )
    references = make_references(project=scoring.project, collection=collection, name="Only")
    made = make_scoring(references, model=scoring.model)
    run(made)
    return made


def figures(cells):
    return {cell.metric: cell.value for cell in cells}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_figures_over_a_subset_are_those_of_a_collection_with_only_its_images(scoring, subset) -> None:
    only = figures(score_cells(scoring.project, scorings=[alone(scoring, subset).pk]))
    cells = score_cells(scoring.project, scorings=[scoring.pk])
    over = restricted_figures(cells, project=scoring.project, filter=parse("subset:xm3"))
    assert {cell.images for cell in over} == {4}
    assert {cell.left_out for cell in over} == {0}
    for metric in METRICS:
        assert figures(over)[metric] == only[metric]
        assert figures(over)[metric] != figures(cells)[metric]


def cider_d_by_hand(captions: list[str], references: list[list[str]]) -> float:
    """CIDEr-D as pycocoevalcap computes it on exactly these images, word by word from its paper."""

    def grams(text: str) -> Counter[tuple[str, ...]]:
        words = text.split()
        return Counter(tuple(words[at : at + n]) for n in (1, 2, 3, 4) for at in range(len(words) - n + 1))

    documents = Counter(gram for several in references for gram in {gram for text in several for gram in grams(text)})

    def weight(gram: tuple[str, ...], count: int) -> float:
        return count * (math.log(len(references)) - math.log(max(1, documents[gram])))

    def similarity(candidate: str, reference: str, n: int) -> float:
        ours, theirs = (
            {gram: weight(gram, count) for gram, count in grams(text).items() if len(gram) == n}
            for text in (candidate, reference)
        )
        norms = [math.sqrt(sum(one**2 for one in side.values())) for side in (ours, theirs)]
        product = sum(min(one, theirs.get(gram, 0)) * theirs.get(gram, 0) for gram, one in ours.items())
        apart = len(candidate.split()) - len(reference.split())
        return product / math.prod(norms) * math.exp(-(apart**2) / 72) if all(norms) else 0.0

    scores = [
        10 * sum(similarity(caption, text, n) for text in several for n in (1, 2, 3, 4)) / 4 / len(several)
        for caption, several in zip(captions, references, strict=True)
    ]
    return sum(scores) / len(scores)


def texts_of(scoring: Scoring, subset: Subset) -> tuple[list[str], list[list[str]]]:
    """Normalised as the scoring's whitespace tokeniser does: these texts have no capital and no punctuation."""
    images = list(subset.images.order_by("pk"))
    captions = dict(scoring.model.captions.filter(language="de").values_list("image", "text"))
    references = [
        list(scoring.references.references.filter(image=one).values_list("text", flat=True)) for one in images
    ]
    return [captions[one.pk].replace("-", "") for one in images], [[t.replace("-", "") for t in r] for r in references]


def test_cider_over_a_subset_is_what_the_public_tool_computes_from_its_images_alone(scoring, subset) -> None:
    cells = score_cells(scoring.project)
    over = {one.metric: one for one in restricted_figures(cells, project=scoring.project, filter=parse("subset:xm3"))}
    assert over["cider-d"].value == pytest.approx(cider_d_by_hand(*texts_of(scoring, subset)), rel=1e-12)
    assert over["cider-d"].value == pytest.approx(reference_cider_d(*texts_of(scoring, subset))[0], rel=1e-12)
    assert "|df:references|" in over["cider-d"].signature
    assert over["cider-d"].value != figures(cells)["cider-d"]


def test_cider_keeps_its_frequencies_and_says_so_where_computing_it_costs_too_much(scoring, subset) -> None:
    cells, few = score_cells(scoring.project), ComputingBudget(3, programs=False)
    over = restricted_figures(cells, project=scoring.project, filter=parse("subset:xm3"), budget=few)
    cider = next(one for one in over if one.metric == "cider-d")
    kept = per_image(current_pass(scoring), "cider-d")
    mask = np.isin(kept.images, list(subset.images.values_list("pk", flat=True)))
    assert cider.value == kept.values[mask].mean()
    assert keeps_frequencies(cider.signature)
    assert [one.metric for one in over if keeps_frequencies(one.signature)] == ["cider-d"]


def test_cider_of_texts_that_have_changed_since_the_pass_keeps_its_frequencies(scoring, subset) -> None:
    put_references(
        reference_set=scoring.references,
        captions={scoring.references.collection.entries.get(position=1).image_id: ["quite another text"]},
        now=NOW,
    )
    over = restricted_figures(score_cells(scoring.project), project=scoring.project, filter=parse("subset:xm3"))
    assert keeps_frequencies(next(one for one in over if one.metric == "cider-d").signature)


def test_a_signature_says_over_which_images_so_that_other_images_are_never_compared(scoring, subset) -> None:
    cells = score_cells(scoring.project)
    over = restricted_figures(cells, project=scoring.project, filter=parse("subset:xm3"))
    says = Signature.parse(over[0].signature).get("images")
    assert says.startswith("subset:xm3;n=4;")
    assert Signature.parse(cells[0].signature).get("images") is None
    subset.images.remove(subset.images.first())
    again = restricted_figures(cells, project=scoring.project, filter=parse("subset:xm3"))
    assert Signature.parse(again[0].signature).get("images") != says


def test_no_image_is_said_and_not_divided_by(scoring, subset) -> None:
    subset.images.clear()
    over = restricted_figures(score_cells(scoring.project), project=scoring.project, filter=parse("subset:xm3"))
    assert {(cell.value, cell.why) for cell in over} == {(None, "None of these images was scored.")}


def test_significance_over_a_subset_is_that_of_its_images(scoring, subset) -> None:
    other = make_scoring(scoring.references, model=make_captioner(scoring.references.collection, "B", language="de"))
    run(other)
    only = restriction(parse("subset:xm3"), project=scoring.project)
    result = paired_result(test=scoring, base=other, metric="rouge-l", method="bootstrap", resamples=200, only=only)
    ours, theirs = (per_image(current_pass(one), "rouge-l") for one in (scoring, other))
    mask = np.isin(ours.images, list(subset.images.values_list("pk", flat=True)))
    expected = paired_difference(
        ours.values[mask], theirs.values[mask], method="bootstrap", resamples=200, rng=np.random.default_rng(20_200)
    )
    assert result.images == 4
    assert result.difference == expected
    assert result.test.value == ours.values[mask].mean()


def test_figures_by_level_are_over_the_images_chosen_from_it(scoring) -> None:
    assert by_level(score_cells(scoring.project), project=scoring.project) == []
    entries = list(scoring.references.collection.entries.order_by("position"))
    selection = Selection.objects.create(
        project=scoring.project, number=1, name="S", source=scoring.references.collection, languages=["de"],
        levels=PlaceLevelChoice.values, per_language=6, seed=1, areas={}, table="t", state=JobState.DONE,
        created_at=NOW, confirmed_at=NOW, collection=Collection.objects.create(slug="chosen", name="Chosen"),
    )  # fmt: skip
    for position, entry in enumerate(entries, start=1):
        SelectedImage.objects.create(
            selection=selection, language_id="de",
            level=PlaceLevelChoice.REGION if position < 3 else PlaceLevelChoice.COUNTRY,
            position=position, key=entry.key, image=entry.image,
        )  # fmt: skip
    rows = by_level(score_cells(scoring.project), project=scoring.project)
    assert [(row.label, row.images) for row in rows] == [("Region", 2), ("Country", 4)]
    assert {cell.interval for row in rows for cell in row.cells} == {None}
    page = client_of(scoring.project.created_by).get(
        reverse("scoring:scoring-show", args=[scoring.project.slug, scoring.pk])
    )
    assert "By how near to the language the images were taken" in page.content.decode()
    assert page.content.decode().count("too few for intervals") == 2


def test_a_figure_has_the_interval_of_resampled_images_and_the_same_whenever_it_is_asked_for() -> None:
    made = make_scoring(make_references(collection=make_collection(MIN_IMAGES)))
    for number, caption in enumerate(made.model.captions.filter(language="de").order_by("pk")):
        said = f"test caption of {number % 3}" if number % 4 else "something else"
        type(caption).objects.filter(pk=caption.pk).update(text=said)
    run(made)
    cells = score_cells(made.project)
    with_them = {cell.metric: cell for cell in with_intervals(cells, project=made.project)}
    values = per_image(current_pass(made), "rouge-l").values
    rng = np.random.default_rng(1)
    means = values[rng.integers(0, len(values), size=(20_000, len(values)))].mean(axis=1)
    interval = with_them["rouge-l"].interval
    assert (interval.low, interval.high) == pytest.approx(
        tuple(np.quantile(means, (0.025, 0.975))), abs=0.04
    )  # by a step: means of so few images are of a few values
    assert [replace(cell, interval=None, why_no_interval="") for cell in with_them.values()] == cells
    assert with_them["bleu-1"].interval.holds(with_them["bleu-1"].value)
    assert list(with_them.values()) == with_intervals(cells, project=made.project)
    page = client_of(made.project.created_by).get(reverse("scoring:scoring-show", args=[made.project.slug, made.pk]))
    assert with_them["rouge-l"].interval_text in page.content.decode()


def test_a_command_writes_figures_over_a_subset_without_a_limit(scoring, subset, tmp_path) -> None:
    path = tmp_path / "scores.csv"
    command = ("export", "lions", "--format", "csv", "--images", "subset:xm3", "--output", str(path), "--what")
    output_of(*command, "scores")
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
    over = figures(
        restricted_figures(score_cells(scoring.project), project=scoring.project, filter=parse("subset:xm3"))
    )
    assert {row["metric"]: float(row["value"]) for row in rows} == over
    output_of(*command, "image-scores")
    of_images = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
    assert np.mean([float(row["cider-d"]) for row in of_images]) == pytest.approx(over["cider-d"], rel=1e-12)
    with pytest.raises(CommandError, match="no subset"):
        output_of("export", "lions", "--what", "scores", "--format", "csv", "--images", "subset:no")


def test_pages_and_files_take_the_filter_and_refuse_what_it_is_not(scoring, subset) -> None:
    client, slug = client_of(scoring.project.created_by), scoring.project.slug
    page = client.get(reverse("scoring:score-list", args=[slug]), {"images": "subset:xm3"})
    assert page.context["page"]["groups"][0]["lines"][0]["images"] == 4
    wrong = client.get(reverse("scoring:score-list", args=[slug]), {"images": "subset:no"})
    assert wrong.status_code == 422
    assert "This project has no subset “no”." in wrong.content.decode()
    file = client.get(export_address(slug, "image-scores", images="subset:xm3"))
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode("utf-8-sig"))))
    assert len(rows) == 4
    assert "lions-image-scores-subset-xm3-" in file["Content-Disposition"]
    refused = client.get(export_address(slug, "scores", images="nowhere"))
    assert refused.status_code == 422
    with pytest.raises(ImageFilterError):
        restricted_figures(score_cells(scoring.project), project=scoring.project, filter=parse("subset:no"))
