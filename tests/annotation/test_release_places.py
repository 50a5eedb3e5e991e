"""Places and levels of the images of a release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.utils import timezone

from annotation.models import Release
from annotation.services import releases as services
from core.images.models import Image
from research.selection.models import ImagePlace, PlaceLevelChoice
from tests.annotation.released import Campaign, images_of, table, written
from tests.clients import client_of
from tests.selection.placing import choose, place

pytestmark = pytest.mark.django_db

LATITUDE, LONGITUDE = 23.4567, 88.7654


def placed(campaign: Campaign) -> list[Image]:
    """The first image is from a region and chosen for German, the second from a disputed place, the third unknown."""
    first, second, *_ = images = images_of(campaign)
    place(first, "DE", "DE-BE", continent="EU", latitude=LATITUDE, longitude=LONGITUDE)
    place(second, "IN", "PK", continent="AS", latitude=LATITUDE, longitude=LONGITUDE)
    choose(campaign.project, "de", {first: PlaceLevelChoice.REGION, second: PlaceLevelChoice.ANYWHERE})
    return images


@pytest.mark.long(reason="at least three others run each of its lines")
def test_images_have_their_places_and_levels(campaign, tmp_path):
    placed(campaign)
    written(campaign.start(), tmp_path / "release")

    first, second, third, *_ = table(tmp_path / "release" / "images.csv")
    about = ("region", "countries", "regions", "continent", "chosen_for", "level")
    assert [first[name] for name in about] == ["de", "DE", "DE-BE", "EU", "de", "region"]
    assert [second[name] for name in about] == ["", "IN PK", "", "AS", "de", "anywhere"]
    assert [third[name] for name in about] == [""] * 6
    assert table(tmp_path / "release" / "levels.csv") == [
        {"chosen_for": "de", "region": "1", "country": "0", "continent": "0", "anywhere": "1"}
    ]
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["places"] == {
        "located": 2,
        "borders": ["made-1"],
        "tables": ["made-table-1"],
        "levels": {"de": {"region": 1, "country": 0, "continent": 0, "anywhere": 1}},
        "has_coordinates": False,
    }


def test_the_documents_say_what_the_columns_are_and_how_many_came_from_which_level(campaign, tmp_path):
    placed(campaign)
    written(campaign.start(), tmp_path / "release")
    readme = (tmp_path / "release" / "README.md").read_text()
    assert "| `chosen_for` | Language for which it was chosen by place, if it was. |" in readme
    assert "| `levels.csv` | images by the language" in readme
    datasheet = (tmp_path / "release" / "DATASHEET.md").read_text()
    assert "| de | 1 | 0 | 0 | 1 |" in datasheet
    assert "2 of them were taken by the borders made-1. Their coordinates are not in it." in datasheet


@pytest.mark.long(reason="at least three others run each of its lines")
def test_pandas_groups_captions_by_level(campaign, tmp_path):
    placed(campaign)
    written(campaign.start(), tmp_path / "release")
    import pandas as pd

    captions = pd.read_parquet(tmp_path / "release" / "captions.parquet")
    images = pd.read_parquet(tmp_path / "release" / "images.parquet")
    joined = captions[captions.language == "de"].merge(images, on="image")
    assert joined.groupby("level").caption.count().to_dict() == {"anywhere": 2, "region": 2}


def has_coordinates(folder: Path) -> bool:
    """Whether any file, read as a table where it is one, has one of the coordinates."""
    import pandas as pd

    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    texts += [pd.read_parquet(path).to_csv().encode() for path in folder.glob("*.parquet")]
    return any(str(degrees).encode() in text for text in texts for degrees in (LATITUDE, LONGITUDE))


def test_coordinates_are_in_no_file_unless_a_manager_publishes_them(campaign, tmp_path):
    placed(campaign)
    release = campaign.start()
    written(release, tmp_path / "without")
    assert not has_coordinates(tmp_path / "without")
    assert str(LATITUDE) not in json.dumps(release.places)
    release.delete()
    written(campaign.start(publish_coordinates=True), tmp_path / "with")
    assert has_coordinates(tmp_path / "with")
    first, *_ = table(tmp_path / "with" / "images.csv")
    assert (float(first["latitude"]), float(first["longitude"])) == (LATITUDE, LONGITUDE)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_release_is_built_again_as_it_was_after_places_and_selections_changed(campaign, tmp_path, media):
    first, second, *_ = placed(campaign)
    built = services.build(release_id=campaign.start().pk, clock=timezone.now)
    assert built is not None
    place(first, "FR", continent="EU")
    ImagePlace.objects.filter(image=second).delete()
    choose(campaign.project, "fr", {first: PlaceLevelChoice.COUNTRY})

    (tmp_path / "again").mkdir()
    stored = Release.objects.get(pk=built.pk)
    assert services.rebuild(release=stored, folder=tmp_path / "again").checksum == built.checksum
    assert written(campaign.start(), tmp_path / "next").checksum != built.checksum


def test_a_release_of_the_first_format_has_no_places(campaign, tmp_path):
    placed(campaign)
    release = campaign.start()
    release.format = 1
    written(release, tmp_path / "release")
    assert "level" not in table(tmp_path / "release" / "images.csv")[0]
    assert not (tmp_path / "release" / "levels.csv").exists()
    assert "levels.csv" not in (tmp_path / "release" / "README.md").read_text()


def test_the_form_warns_and_asks_about_coordinates(campaign):
    client = client_of(campaign.manager)
    address = f"/projects/{campaign.project.slug}/releases/new/"
    assert "Coordinates can show where somebody lives." in client.get(address).content.decode()
    sent = {"title": "Harbours", "licence": "CC-BY-4.0", "authors": "Doe, Jo"}
    client.post(address, sent)
    release = Release.objects.get()
    assert not release.has_coordinates
    release.delete()
    client.post(address, sent | {"publish_coordinates": "on"})
    assert Release.objects.get().has_coordinates
