"""Figures over some of the images: the same as those of a project that has only these."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.formats.quality import as_json, fresh_table
from annotation.models import Caption, Rating, Round
from annotation.selectors.statistics import project_statistics
from core.images.models import Image
from research.selection.models import PlaceLevelChoice
from research.selection.rules.image_filters import parse
from tests.annotation.submitting import make_captions
from tests.annotation.test_quality_table import rate_by_text
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification
from tests.clients import client_of
from tests.commands import output_of
from tests.exported import export_address, exported_text
from tests.factories import MINUTE, make_project, make_round
from tests.selection.placing import TABLE, choose, make_subset, place, say_where_spoken

pytestmark = pytest.mark.django_db

TEXTS = {
    0: ["eins zwei", "drei"],
    1: ["vier fünf sechs"],
    2: ["sieben"],
    3: ["acht neun zehn elf", "zwölf", "dreizehn"],
}


def placed_round(slug: str = "lions") -> tuple[Round, list[Image]]:
    """Four images: one in the region, two in a country of the language, one on another continent."""
    round = make_round(project=make_project(slug), images=4, language="bn")
    images = [task.image for task in round.tasks.order_by("pk").select_related("image")]
    make_captions(round, {image.pk: TEXTS[number] for number, image in enumerate(images)})
    for image, codes in zip(images, (["IN", "IN-WB"], ["IN", "IN-KA"], ["BD"], ["FR"]), strict=True):
        place(image, *codes, continent="EU" if codes == ["FR"] else "AS")
    say_where_spoken(round.project, {"bn": TABLE})
    choose(round.project, "bn", {images[0]: PlaceLevelChoice.REGION, images[1]: PlaceLevelChoice.COUNTRY})
    make_subset(round.project, "xm2", [images[1], images[3]])
    return round, images


CASES = [
    ("region", [0, 2]),
    ("country", [0, 1, 2]),
    ("continent", [0, 1, 2]),
    ("in:IN", [0, 1]),
    ("in:IN-WB", [0]),
    ("on:EU", [3]),
    ("chosen", [0, 1]),
    ("chosen:bn", [0, 1]),
    ("chosen:hi", []),
    ("level:country", [1]),
    ("subset:xm2", [1, 3]),
    ("subset:xm2,country", [1]),
    ("", [0, 1, 2, 3]),
]


@pytest.mark.parametrize(("spec", "left"), [CASES[2], CASES[-2]])
def test_statistics_are_those_of_a_project_that_has_only_these_images(spec, left):
    round, _images = placed_round()
    alone = make_round(project=make_project("alone"), images=4, language="bn")
    tasks = list(alone.tasks.order_by("pk"))
    if left:
        make_captions(alone, {tasks[number].image_id: TEXTS[number] for number in left})

    assert dict(project_statistics(round.project, parse(spec))) == dict(project_statistics(alone.project))


def test_downloads_have_only_these_images():
    round, images = placed_round()
    until = Caption.objects.latest("submitted_at").submitted_at + MINUTE
    keys = dict(round.collection.entries.values_list("key", "image"))
    for spec, left in CASES:
        data = exported_text(round.project, "captions", until=until, images=parse(spec))
        found = {keys[json.loads(line)["image"]] for line in data.splitlines()}
        assert found == {images[number].pk for number in left}, spec


def test_quality_is_that_of_a_round_that_has_only_these_images():
    ratings = [Rating.EXCELLENT, Rating.BAD, Rating.GOOD, Rating.MEDIUM]

    def rated(slug: str, number: int) -> Round:
        verified, _ = make_captioned_round(images=number, captions=1, project=make_project(slug))
        round = make_verification(verified, places=1)
        texts = Caption.objects.filter(round=verified).order_by("image").values_list("text", flat=True)
        rate_by_text(round, make_reviewer(round), dict(zip(texts, ratings, strict=False)))
        return verified

    whole, alone = rated("whole", 4), rated("alone", 2)
    images = Image.objects.filter(captions__round=whole).order_by("pk").distinct()[:2]
    make_subset(whole.project, "first", images)

    def figures(round: Round, spec: str) -> list[dict[str, Any]]:
        rows = as_json(fresh_table(round.project, parse(spec)), name_of=lambda person: "rater")
        return [{name: value for name, value in row.items() if name not in ("seed", "sample_size")} for row in rows]

    assert figures(whole, "subset:first") == figures(alone, "")
    (row,) = figures(whole, "in:FR")
    assert (row["sampled"], row["good"]["share"]) == (0, None)


@pytest.mark.parametrize("command", ["caption_stats", "export", "quality_table"])
def test_a_command_whose_filter_leaves_no_image_says_so_instead_of_printing_zeros(command):
    verified, _ = make_captioned_round(images=2, captions=1, project=make_project("lions"))
    make_verification(verified, places=1)
    options = ["--what", "captions", "--format", "csv"] if command == "export" else []
    with pytest.raises(CommandError, match=r"^No image is left by --images in:PL\."):
        output_of(command, "lions", "--images", "in:PL", *options)
    place(verified.tasks.first().image, "PL")
    output_of(command, "lions", "--images", "in:PL", *options)


def test_a_later_selection_counts_instead_of_an_earlier_one():
    round, images = placed_round()
    choose(round.project, "hi", {images[0]: PlaceLevelChoice.ANYWHERE})
    captions = {spec: dict(project_statistics(round.project, parse(spec))) for spec in ("chosen", "level:anywhere")}
    assert [one.captions for one in captions["chosen"].values()] == [1]
    assert [one.captions for one in captions["level:anywhere"].values()] == [2]


class TestCommands:
    def test_caption_stats_and_exports_take_the_filter(self, tmp_path):
        placed_round()
        (row,) = json.loads(output_of("caption_stats", "lions", "--images", "in:IN", "--json"))
        assert (row["captions"], row["images_with_1"], row["images_with_2"]) == (3, 1, 1)
        path = tmp_path / "some.csv"
        output_of(
            "export", "lions", "--what", "captions", "--format", "csv", "--images", "subset:xm2", "--output", str(path)
        )
        assert path.read_bytes().count(b"\r\n") == 5

    def test_a_filter_that_cannot_be_applied_is_refused(self):
        placed_round()
        for spec, said in (
            ("village", "is not a term"),
            ("in:QX-1", "no country or region QX-1"),
            ("subset:xm9", "Available subsets: xm2"),
            ("chosen:xx", "no language xx"),
        ):
            with pytest.raises(CommandError, match=said):
                output_of("caption_stats", "lions", "--images", spec)

    def test_a_file_has_no_places(self, tmp_path):
        path = tmp_path / "captions.jsonl"
        path.write_text('{"image/key": "a", "de": {"caption": ["eins"]}}\n')
        with pytest.raises(CommandError, match="--images needs a project"):
            output_of("caption_stats", str(path), "--images", "in:IN")

    def test_a_language_that_the_table_lacks_is_named(self):
        round, _ = placed_round()
        say_where_spoken(round.project, {"hi": TABLE})
        with pytest.raises(CommandError, match=r"says nothing about Bengali \(bn\)"):
            output_of("caption_stats", "lions", "--images", "region")


class TestPages:
    def test_statistics_say_which_images_they_are_about_and_how_many(self):
        round, _ = placed_round()
        client = client_of(round.project.created_by)
        page = client.get("/projects/lions/statistics/?images=in:IN").content.decode()
        assert "Only these images: Taken in IN." in page
        assert "hx-get" not in page.partition('id="statistics"')[2].partition(">")[0]
        assert "No image with a caption" in client.get("/projects/lions/statistics/?images=in:PL").content.decode()

    @pytest.mark.parametrize("page", ["statistics", "quality"])
    def test_a_wrong_filter_is_explained(self, page):
        round, _ = placed_round()
        answer = client_of(round.project.created_by).get(f"/projects/lions/{page}/?images=subset:xm9")
        assert answer.status_code == 422
        assert "Available subsets: xm2" in answer.content.decode()

    def test_progress_is_counted_over_the_images_of_each_language(self):
        round, _ = placed_round()
        client = client_of(round.project.created_by)
        page = client.get("/projects/lions/?images=region&rounds=all")
        assert [(row.images, row.wanted, row.done) for row in page.context["over"]] == [(2, 2 * round.replication, 3)]
        assert "Only these images: Taken where the language is spoken (region)." in page.content.decode()
        assert "/export/?images=region&amp;rounds=all&amp;what=captions" in page.content.decode()
        assert client.get("/projects/lions/?images=village").status_code == 422
        assert 'hx-get="/projects/lions/progress/' in client.get("/projects/lions/").content.decode()

    def test_quality_and_a_round_of_it_say_how_many_images_they_are_about(self):
        verified, _ = make_captioned_round(images=3, captions=1, project=make_project("lions"))
        round = make_verification(verified, places=1)
        texts = list(Caption.objects.filter(round=verified).order_by("image").values_list("text", flat=True))
        rate_by_text(round, make_reviewer(round), dict.fromkeys(texts, Rating.GOOD))
        make_subset(round.project, "two", Image.objects.filter(captions__round=verified).order_by("pk").distinct()[:2])
        client = client_of(round.project.created_by)
        page = client.get("/projects/lions/quality/?images=subset:two").content.decode()
        assert f"/quality/rounds/{round.pk}/?images=subset%3Atwo" in page
        one = client.get(f"/projects/lions/quality/rounds/{round.pk}/?images=subset:two")
        assert (one.context["row"].images, one.context["row"].verified) == (2, 2)
        assert "2 images have sampled captions." in one.content.decode()
        whole = client.get(f"/projects/lions/quality/rounds/{round.pk}/")
        assert "have sampled captions" not in whole.content.decode()
        assert client.get(f"/projects/lions/quality/rounds/{round.pk}/?images=village").status_code == 302
        file = client.get("/projects/lions/quality/download/csv/?images=subset:two")
        assert "lions-quality-subset-two-" in file["Content-Disposition"]

    def test_files_are_of_these_images(self):
        round, _ = placed_round()
        client = client_of(round.project.created_by)
        answer = client.get(export_address("lions", "captions", images="subset:xm2"))
        assert answer.getvalue().count(b"\r\n") == 5
        assert "lions-captions-subset-xm2-" in answer["Content-Disposition"]
        assert client.get(export_address("lions", "captions", images="village")).status_code == 422
        assert client.get("/projects/lions/quality/download/csv/?images=village").status_code == 302
        assert client.get("/projects/lions/quality/download/csv/?images=subset:xm2").status_code == 200

    def test_the_api_refuses_a_wrong_filter(self):
        round, _ = placed_round()
        client = client_of(round.project.created_by)
        for path in ("export/?what=captions&format=csv&", "statistics/?", "quality/?"):
            for spec in ("village", "subset:xm9", "in:QX-1", "chosen:xx"):
                refused = client.get(f"/api/v1/projects/lions/{path}images={spec}")
                assert (refused.status_code, refused.json()["code"]) == (409, "images-refused"), (path, spec)
            assert client.get(f"/api/v1/projects/lions/{path}images={'x' * 401}").status_code == 422
        answer = client.get("/api/v1/projects/lions/export/?what=captions&format=csv&images=subset:xm2")
        assert answer.getvalue().count(b"\r\n") == 5

    def test_the_api_has_statistics_of_these_images(self):
        round, _ = placed_round()
        client = client_of(round.project.created_by)
        answer = client.get("/api/v1/projects/lions/statistics/?images=%20in:in").json()
        assert answer["images"] == "in:IN"
        (row,) = answer["results"]
        assert (row["language"], row["captions"], row["images_with_1"], row["images_with_2"]) == ("bn", 3, 1, 1)
        assert row["computed_at"]
        (whole,) = client.get("/api/v1/projects/lions/statistics/").json()["results"]
        assert whole["language"] == "bn"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_api_has_the_quality_of_these_images(self):
        verified, _ = make_captioned_round(images=3, captions=1, project=make_project("lions"))
        round = make_verification(verified, places=1)
        texts = Caption.objects.filter(round=verified).order_by("image").values_list("text", flat=True)
        rate_by_text(round, make_reviewer(round), dict.fromkeys(texts, Rating.GOOD))
        make_subset(round.project, "two", Image.objects.filter(captions__round=verified).order_by("pk").distinct()[:2])
        client = client_of(round.project.created_by)
        (row,) = client.get("/api/v1/projects/lions/quality/?images=subset:two").json()["results"]
        assert (row["images"], row["sampled"], row["good"]["count"], row["good"]["share"]) == (2, 2, 2, 1.0)
        (whole,) = client.get("/api/v1/projects/lions/quality/").json()["results"]
        assert (whole["images"], whole["raters"][0]["ratings"]) == (3, 3)
