"""The walk finds what is planted: one that finds nothing would prove nothing."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import path
from PIL import Image as Pillow

from annotation.models import CaptionItem, Rating
from config.urls import urlpatterns
from core.people.models import User
from core.people.requests import user_of
from tests.leaks.addresses import Unfillable, serving
from tests.leaks.annotators import MODEL_WORD, World, in_screen_2, words_of

# What is sent does not depend on the database, and each walk is some thousand requests: once is enough.
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def _item(request: HttpRequest) -> CaptionItem:
    return CaptionItem.objects.filter(batch__stage="write", batch__lease__person=request.user.pk, position=2).get()


def leak_in_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"<p>{_item(request).english.text.upper()}</p>".replace("X", "&#88;"))


def leak_in_header(request: HttpRequest) -> HttpResponse:
    return HttpResponse("", headers={"X-Made-By": _item(request).english.model.name.encode().hex(), "X-By": MODEL_WORD})


def leak_in_redirect(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect("/work/?" + "".join(f"%{byte:02x}" for byte in _item(request).english.text.encode()))


def leak_in_json(request: HttpRequest) -> HttpResponse:
    escaped = "".join(f"\\u{ord(character):04x}" for character in _item(request).english.text)
    return HttpResponse(f'{{"english": "{escaped}"}}', content_type="application/json")


def leak_in_cookie(request: HttpRequest) -> HttpResponse:
    response = HttpResponse("")
    response.set_cookie("seen", b64encode(_item(request).english.text.encode()).decode())
    return response


def leak_of_rating(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"n": Rating.values.index(_item(request).rating)})


def leak_in_answer(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_item(request).rating[:1] if request.method == "POST" else "")


def leak_in_archive(request: HttpRequest) -> HttpResponse:
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        packed.writestr("captions.json", _item(request).english.text)
    return HttpResponse(archive.getvalue(), content_type="application/zip")


def leak_in_image(request: HttpRequest) -> HttpResponse:
    image, exif = io.BytesIO(), Pillow.Exif()
    exif[0x010E] = words_of(_number(_item(request)))[0]
    Pillow.new("RGB", (8, 8)).save(image, "PNG", exif=exif)
    return HttpResponse(image.getvalue(), content_type="image/png")


def leak_behind_links(request: HttpRequest) -> HttpResponse:
    if request.GET.get("page") == "2":
        return HttpResponse(_item(request).english.text)
    return HttpResponse('<div data-more="?page=2" data-next="/leak/?page=2">')


def leak_once_changed(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        User.objects.filter(pk=request.user.pk).update(first_name="Curious")
        return HttpResponseRedirect("/leak/")
    return HttpResponse(_item(request).english.text if user_of(request).first_name == "Curious" else "")


def _number(item: CaptionItem) -> int:
    return item.image.entries.get().position


LEAKS = [
    leak_in_page, leak_in_header, leak_in_redirect, leak_in_json, leak_in_cookie, leak_of_rating, leak_in_answer,
    leak_in_image, leak_in_archive, leak_behind_links, leak_once_changed,
]  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_the_walk_finds_a(leak: Callable[[HttpRequest], HttpResponse], world: World) -> None:
    in_screen_2(world)
    world.walk().check_finds(leak)


def test_a_new_address_that_the_walk_cannot_fill_says_what_to_add(world: World) -> None:
    in_screen_2(world)
    walk = world.walk()
    extra = path("verdicts/<int:verdict_id>/", leak_in_page, name="verdict-show")
    with serving(*urlpatterns, extra), pytest.raises(Unfillable, match=r"<verdict_id>.*World\.known"):
        walk.run()
