"""The gallery: captions of several models side by side, page after page; nothing of what the viewer has in hand."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.urls import reverse

from core.images.models import Collection, CollectionImage
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.selectors import gallery as selectors
from tests.annotation.submitting import take
from tests.factories import make_captioner, make_collection
from tests.inference.watched import make_busy_researcher
from tests.queries import queries_of
from tests.tiers import some

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("researcher")]

ODD = ["\0", "9" * 30, "é" * 4000, "-1", "'\"<script>", "99999999999.1", "1.5", "../x"]


@pytest.fixture
def collection():
    return make_collection(images=5)


@pytest.fixture
def models(collection):
    return [make_captioner(collection, name, text=f"{name} says") for name in ("Alpha", "Beta")]


def say(model, entry, language, text, stabiliser=""):
    about = {"model": model, "image": entry.image, "language_id": language}
    return ModelCaption.objects.create(**about, text=text, stabiliser=stabiliser)


def look(client, asked=None, **more):
    response = client.get(reverse("inference:gallery"), (asked or {}) | more)
    assert response.status_code == 200
    return response


def text_of(response):
    return unescape(response.text)


def keys_in(response):
    return re.findall(r'gallery__key"><bdi>([^<]+)', text_of(response))


def keys(collection):
    return list(collection.entries.order_by("position").values_list("key", flat=True))


def show_at_once(monkeypatch, images):
    for name in ("MAX_IMAGES", "MIN_IMAGES"):
        monkeypatch.setattr(selectors, name, images)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_of_the_models_stand_side_by_side_each_in_its_language(client, collection, models):
    entry = collection.entries.first()
    say(models[0], entry, "ar", "قطة على أريكة", stabiliser="a cat on a sofa")
    say(models[1], entry, "ja", "ソファの上の猫")
    text = text_of(
        look(client, collection=collection.slug, model=[one.pk for one in models], language=["ar", "ja", "en"])
    )
    assert re.search(r'<dd[^>]* lang="ar" dir="rtl">قطة على أريكة</dd>', text)
    assert re.search(r'<dd[^>]* lang="ja" dir="ltr">ソファの上の猫</dd>', text)
    assert re.search(r'<summary>Stabiliser</summary><p lang="en" dir="ltr">a cat on a sofa</p>', text)
    assert f"Alpha says of {entry.key}" in text
    assert text.count("no caption") == 2 * 2 * 5 - 2


def test_of_an_image_assigned_neither_image_nor_captions_are_sent(client, collection, models):
    person, round = make_busy_researcher(collection, captioners=models[:1], batch_size=2)
    taken = {item.image_id for item in take(round, person).items.all()}
    asked = {"collection": collection.slug, "model": [one.pk for one in models], "language": "en"}
    mine = {entry.key for entry in CollectionImage.objects.filter(collection=collection, image__in=taken)}

    def told(response):
        text = text_of(response)
        entries = collection.entries.select_related("image")
        shown = {entry.key for entry in entries if entry.image.public_id.hex in text.replace("-", "")}
        return shown, {entry.key for entry in entries if re.search(rf"says of {entry.key}\b", text)}

    everything = set(keys(collection))
    assert told(look(client, asked)) == (everything, everything)
    client.force_login(person)
    response = look(client, asked)
    assert told(response) == (everything - mine, everything - mine)
    assert text_of(response).count("in a batch assigned to you") == len(mine) == 2


@pytest.mark.long(reason="at least three others run each of its lines")
def test_pages_lead_on_and_back_without_a_gap_or_an_image_twice(client, collection, models, monkeypatch):
    show_at_once(monkeypatch, 2)
    CollectionImage.objects.filter(collection=collection).update(position=7)
    asked = {"collection": collection.slug, "model": models[0].pk, "language": "en"}
    in_order = list(collection.entries.order_by("pk").values_list("key", flat=True))
    seen, pages, response = [], [], look(client, asked)
    while True:
        seen += keys_in(response)
        pages.append(keys_in(response))
        after = response.context["page"]["after"]
        if not after:
            break
        response = look(client, asked, after=after)
    assert seen == in_order
    assert [len(page) for page in pages] == [2, 2, 1]
    back = look(client, asked, before=response.context["page"]["before"])
    assert keys_in(back) == pages[1]
    first = look(client, asked, before=back.context["page"]["before"])
    assert (keys_in(first), first.context["page"]["before"]) == (pages[0], "")
    assert keys_in(look(client, asked, after=first.context["page"]["after"])) == pages[1]


def test_only_images_that_any_or_all_of_the_models_describe(client, collection, models):
    one, two, three, *_rest = collection.entries.order_by("position")
    say(models[0], one, "sw", "paka")
    say(models[0], two, "sw", "mbwa")
    say(models[1], two, "te", "కుక్క")
    say(models[1], three, "hi", "बिल्ली")
    asked = {"collection": collection.slug, "model": [model.pk for model in models], "language": ["sw", "te"]}
    assert keys_in(look(client, asked)) == keys(collection)
    assert keys_in(look(client, asked, show="any")) == [one.key, two.key]
    assert keys_in(look(client, asked, show="all")) == [two.key]
    assert keys_in(look(client, asked | {"language": "ko"}, show="any")) == []


def test_where_few_images_are_described_it_is_offered_to_look_on(client, collection, models, monkeypatch):
    monkeypatch.setattr(selectors, "LOOK_UPS", 2)
    show_at_once(monkeypatch, 1)
    last = collection.entries.order_by("position").last()
    say(models[0], last, "sw", "paka")
    asked = {"collection": collection.slug, "model": models[0].pk, "language": "sw", "show": "any"}
    response, looks = look(client, asked), 1
    assert "2 images searched" in text_of(response)
    while not keys_in(response):
        response, looks = look(client, asked, after=response.context["page"]["after"]), looks + 1
    assert (keys_in(response), looks, response.context["page"]["after"]) == ([last.key], 3, "")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_images_are_found_by_a_part_of_their_key(client, collection, models):
    wanted = keys(collection)[3]
    asked = {"collection": collection.slug, "model": models[0].pk, "language": "en"}
    assert keys_in(look(client, asked, key=wanted[-5:].upper())) == [wanted]
    assert keys_in(look(client, asked, key="no such%")) == []


def test_without_a_choice_it_shows_what_there_is_and_says_it_in_its_links(client, collection, models, monkeypatch):
    show_at_once(monkeypatch, 2)
    make_collection()
    page = look(client)
    assert keys_in(page) == keys(collection)[:2]
    said = f"collection={collection.slug}&model={models[0].pk}&model={models[1].pk}&language=en&after="
    assert said in text_of(page)


def test_the_script_is_sent_only_the_images_that_follow(client, collection, models):
    response = client.get(reverse("inference:gallery"), headers={"HX-Request": "true"})
    assert "<html" not in text_of(response)
    assert keys_in(response) == keys(collection)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_page_takes_as_many_queries_for_many_images_models_and_languages_as_for_one(client, collection, models):
    def queries(**asked):
        queries = queries_of(lambda: look(client, {"collection": collection.slug} | asked))
        assert not [query for query in queries if "COUNT(" in query]
        return len(queries)

    wide = {"model": [model.pk for model in models], "language": ["en", "ar", "ja"]}
    one = {"model": models[0].pk, "language": "en", "key": keys(collection)[0]}
    assert queries(**wide) == queries(**one)


def test_with_nothing_there_it_says_how_to_get_something(client):
    assert "No images to show yet" in text_of(look(client))


@pytest.mark.parametrize("shift", some(range(len(ODD)), short=1, reason="each odd value for each name"))
def test_whatever_is_asked_for_a_page_comes(client, collection, models, shift):
    for number, name in enumerate(("collection", "model", "language", "show", "key", "after", "before"), shift):
        odd = {name: ODD[number % len(ODD)]}
        asked = {"collection": collection.slug, "model": models[0].pk, "language": "en"} | odd
        assert "<script>" not in look(client, asked).content.decode().split("<main", 1)[1]


def test_what_is_shown_first_is_the_collection_that_was_described_last(client, collection, models):
    made_of_it = make_collection(images=1)
    CollectionImage.objects.create(
        collection=made_of_it, image=collection.entries.last().image, key="again", position=99
    )

    assert selectors.usual_collection(Collection.objects.all(), CaptioningModel.objects.all()) == collection


def test_the_numbers_on_a_models_page_lead_to_its_captions(client, models):
    others = make_collection(images=2)
    make_captioner(others, "Newest")
    page = text_of(client.get(reverse("inference:model-show", args=[models[0].pk])))
    (address,) = re.findall(rf'href="([^"]+)">\s*{models[0].captions.count()}</a>', page)
    shown = text_of(client.get(address))
    assert "Alpha says of" in shown
    assert "Beta says of" not in shown
