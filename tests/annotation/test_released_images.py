"""Look through a release: who may, what the filters leave, and what a page says."""

from __future__ import annotations

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from annotation.models import Release
from core.images.models import Image
from core.jobs.models import JobState
from core.people.models import Membership, Role
from tests.annotation.sites import placed
from tests.annotation.submitting import take
from tests.factories import make_annotator, make_captioner, make_round

pytestmark = pytest.mark.django_db

PAGES = ("release-images", "release-image", "release-image-random")


@pytest.fixture(autouse=True)
def _storage(media) -> None:
    """Of its own, for each test."""


def address(name: str) -> str:
    return reverse(f"annotation:{name}", args=["harbours", 1, *([1] if name == "release-image" else [])])


def answers(client: Client) -> list[int]:
    return [client.get(address(name)).status_code for name in PAGES]


class TestWho:
    def test_who_has_such_an_image_to_describe_does_not_yet(self, client, campaign, release):
        elsewhere = make_round(collection=campaign.collection, captioners=[make_captioner(campaign.collection)])
        annotator = make_annotator(elsewhere)
        Membership.objects.create(project=campaign.project, user=annotator, role=Role.RESEARCHER)
        take(elsewhere, annotator)
        client.force_login(annotator)
        for name in PAGES:
            response = client.get(address(name), follow=True)
            assert response.redirect_chain == [(reverse("annotation:release-show", args=["harbours", 1]), 302)]
            assert "Ein Hafen" not in response.content.decode()

    def test_a_release_without_files_has_no_pages(self, client, campaign, release):
        client.force_login(campaign.manager)
        for name in ("images.jsonl", "captions.jsonl"):
            default_storage.delete(f"{release.folder}/{name}")
        default_storage.delete(f"{release.folder}.sqlite3")
        assert answers(client) == [404, 404, 404]
        Release.objects.update(state=JobState.FAILED, checksum="")
        assert answers(client) == [404, 404, 404]


class TestPages:
    @pytest.fixture(autouse=True)
    def _signed_in(self, client, campaign):
        client.force_login(campaign.manager)

    def numbers(self, client, **query: str) -> list[int]:
        listing = client.get(address("release-images"), query).context["listing"]
        return [shown["image"].number for shown in listing["images"]]

    def test_an_image_has_its_captions_in_all_languages(self, client, release):
        text = client.get(address("release-image")).content.decode()
        assert '<p class="caption" lang="ar" dir="rtl">ميناء صغير 1</p>' in text
        assert '<p class="caption" lang="de" dir="ltr">Ein Hafen 1</p>' in text
        assert "Model: harbours-blip" in text
        assert "An Author" in text

    def test_filters_leave_what_fits(self, client, release):
        placed(release)
        for query, numbers in (
            ({}, [1, 2, 3, 4]),
            ({"language": "fr"}, [1, 2]),
            ({"text": "HAFEN 3"}, [3]),
            ({"text": "قوارب", "language": "ar"}, [1, 2, 3, 4]),
            ({"text": "hafen", "language": "ar"}, []),
            ({"place": "IN-WB", "level": "region"}, [1]),
            ({"place": "continent:AS", "chosen": "de"}, [1]),
            ({"level": "country"}, []),
            ({"place": "'; DROP TABLE image"}, []),
        ):
            assert self.numbers(client, **query) == numbers, query

    def test_a_list_shows_captions_only_in_the_language_or_with_the_text(self, client, release):
        assert "Hafen" not in client.get(address("release-images")).content.decode()
        text = client.get(address("release-images"), {"text": "hafen 1"}).content.decode()
        assert "Ein Hafen 1" in text
        assert "Boote am Abend" not in text

    def test_random_leads_to_an_image_that_fits(self, client, release):
        response = client.get(address("release-image-random"), {"text": "hafen 3"})
        assert response.url.endswith("/images/3/")
        assert client.get(address("release-image-random"), {"text": "nothing"}).url == address("release-images")

    def test_a_place_is_named_where_the_release_has_one(self, client, release):
        placed(release)
        text = client.get(address("release-image")).content.decode()
        assert "West Bengal (IN-WB)" in text
        assert "India" in text
        assert "latitude" not in text

    def test_an_image_that_is_no_longer_stored_keeps_its_captions(self, client, release):
        Image.objects.filter(title="The harbour").update(sha256="0" * 64)
        text = client.get(address("release-image")).content.decode()
        assert "no longer stored" in text
        assert "Ein Hafen 1" in text

    def test_an_unknown_image_is_not_there(self, client, release):
        assert client.get(reverse("annotation:release-image", args=["harbours", 1, 99])).status_code == 404
