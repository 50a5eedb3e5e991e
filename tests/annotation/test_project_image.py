"""The page of one image with its captions in all languages: what it says, and to whom."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Caption
from core.images.models import CollectionImage, Image
from core.people.models import Membership, Role
from research.inference.models import ModelCaption
from research.selection.models import ImagePlace, PlaceLevelChoice
from tests.annotation.released import Campaign
from tests.annotation.submitting import take
from tests.clients import client_of
from tests.factories import make_annotator, make_collection, make_project, make_round
from tests.selection.placing import choose

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(media, made_once) -> Campaign:
    return made_once(Campaign)


@pytest.fixture
def entry(campaign) -> CollectionImage:
    caption = Caption.objects.counted().filter(round=campaign.rounds["ar"]).order_by("pk").first()
    return campaign.collection.entries.select_related("image").get(image=caption.image)


def address(campaign: Campaign, image: Image) -> str:
    return reverse("annotation:image-show", args=[campaign.slug, image.public_id])


def test_an_image_is_shown_with_its_captions_in_all_languages_and_no_names(campaign, entry) -> None:
    text = client_of(campaign.manager).get(address(campaign, entry.image)).content.decode()
    captions = Caption.objects.counted().filter(image=entry.image)
    assert captions.count() > 2
    for caption in captions:
        assert f'lang="{caption.round.language_id}" dir="{caption.round.language.direction}">{caption.text}' in text
    assert f"a {entry.key} in the sun" in text
    assert f"Model: {campaign.model.name}" in text
    for person in campaign.people.values():
        assert person.username not in text


def test_its_place_is_said_in_words_and_never_as_coordinates(campaign, entry) -> None:
    Image.objects.filter(pk=entry.image_id).update(latitude=22.57264, longitude=88.36389)
    ImagePlace.objects.create(
        image=entry.image, countries="IN", regions="IN-WB", continent="AS", latitude=22.57264, longitude=88.36389
    )
    choose(campaign.project, "ar", {entry.image: PlaceLevelChoice.COUNTRY})
    text = client_of(campaign.manager).get(address(campaign, entry.image)).content.decode()
    assert "<dd>Arabic</dd>" in text
    assert "<dd>Country</dd>" in text
    assert "West Bengal (IN-WB), India, Asia" in text
    assert "22.57" not in text
    assert "88.36" not in text


def test_an_image_of_a_collection_that_the_project_does_not_use_is_not_found(campaign) -> None:
    image = make_collection(1).entries.get().image
    assert client_of(campaign.manager).get(address(campaign, image)).status_code == 404


def test_whoever_writes_about_the_image_right_now_does_not_read_what_others_wrote(campaign, entry) -> None:
    round = make_round(project=make_project("other"), collection=campaign.collection, language="cs")
    writer = make_annotator(round, "wil")
    Membership.objects.create(project=campaign.project, user=writer, role=Role.MANAGER)
    take(round, writer)
    response = client_of(writer).get(address(campaign, entry.image), follow=True)
    assert "Submit that batch first." in response.content.decode()
    assert "in the sun" not in response.content.decode()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_more_captions_do_not_ask_the_database_more_often(campaign, entry) -> None:
    client = client_of(campaign.manager)
    client.get(address(campaign, entry.image))
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(address(campaign, entry.image))
    for tag in ("hi", "ja", "te", "fi"):
        ModelCaption.objects.create(model=campaign.model, image=entry.image, language_id=tag, text=f"in {tag}")
    with CaptureQueriesContext(connection) as many:
        text = client.get(address(campaign, entry.image)).content.decode()
    assert len(many) == len(few)
    assert 'lang="hi" dir="ltr">in hi' in text
