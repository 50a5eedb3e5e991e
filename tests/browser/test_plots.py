"""Plots in a browser: a value is read by pointer, keys or touch, and each plot is saved as SVG, PNG and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import Rating, Round
from tests.annotation.submitting import submit_captions
from tests.browser.annotator import barriers_at
from tests.browser.conftest import Visit
from tests.factories import make_annotator, make_project, make_round

pytestmark = pytest.mark.django_db(transaction=True)

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def round() -> Round:
    made = make_round(project=make_project("lions"), images=4, replication=2, batch_size=2, language="de")
    submit_captions(made, make_annotator(made, "ann"), now=timezone.now())
    return made


@pytest.fixture
def page(visit: Visit, round: Round, live_server: Any) -> Iterator[Page]:
    page = visit(round.project.created_by, viewport={"width": 1366, "height": 768}, locale="en-GB", has_touch=True)
    page.set_default_timeout(8_000)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.goto(live_server.url + reverse("annotation:plots-show", args=["lions"]))
    yield page
    assert said == []


def saved(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_value_is_read_by_pointer_touch_and_keys(page: Page) -> None:
    tip = page.locator(".plot-tip")
    ratings = page.locator("svg.plot", has=page.locator("#ratings-title"))
    ratings.locator("[data-value]").first.hover()
    expect(tip).to_have_text("German · Main, Good: 100.0%")
    page.get_by_role("heading", level=1).hover()
    expect(tip).to_be_hidden()
    ratings.locator("[data-value]").first.tap()
    expect(tip).to_be_visible()

    days = page.locator("svg.plot", has=page.locator("#days-title"))
    days.focus()
    page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text(": 2")
    expect(page.locator("#status")).to_contain_text(": 2")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_one_day_is_no_giant_bar_and_the_legend_is_beside_or_beneath(page: Page) -> None:
    days = page.locator("svg.plot", has=page.locator("#days-title"))
    column, plot = days.locator("[data-value]").bounding_box(), days.bounding_box()
    assert column is not None
    assert plot is not None
    assert column["width"] < plot["width"] / 14
    ratings = page.locator("svg.plot", has=page.locator("#ratings-title"))
    for width, along, length in ((1366, "x", "width"), (390, "y", "height")):
        assert barriers_at(page, width) == []
        bar: Any = ratings.bounding_box()
        legend: Any = page.locator(".plot-legend").first.bounding_box()
        assert legend[along] >= bar[along] + bar[length]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_plot_is_saved_as_svg_png_and_csv(page: Page, tmp_path: Path) -> None:
    title = "Ratings of English captions, by round"
    drawn = saved(page, f"SVG: {title}", tmp_path)
    assert drawn.name == f"lions-ratings-{timezone.now():%Y-%m-%d}.svg"
    root = ElementTree.parse(drawn).getroot()  # noqa: S314
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == title
    assert "Excellent" in texts
    assert "/projects/lions/plots/" in texts[-1]
    pieces = [one for one in root.iter("{http://www.w3.org/2000/svg}rect") if one.get("fill", "").startswith("rgb")]
    assert len(pieces) >= 6
    assert "class" not in {name for one in root.iter() for name in one.attrib}

    pixels = saved(page, f"PNG: {title}", tmp_path).read_bytes()
    assert pixels.startswith(PNG)
    assert int.from_bytes(pixels[16:20]) == 2 * int(float(root.attrib["width"]))

    with saved(page, f"CSV: {title}", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.reader(file)) == [
            ["Round", *(f"{level} (%)" for level in Rating.labels), "Ratings"],
            ["German · Main", "0.0", "100.0", "0.0", "0.0", "0.0", "2"],
        ]
    with saved(page, "CSV: Captions per day", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.reader(file)) == [["Day", "Captions"], [f"{timezone.now():%Y-%m-%d}", "2"]]
    with saved(page, "CSV: Length of captions", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        assert next(csv.reader(file))[:3] == ["Language", "Captions", "0–9 (%)"]
