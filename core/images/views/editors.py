"""The editor of the next version of a text with examples, which are images with something about each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.images.forms import ChosenImages
from core.images.models import CollectionImage, Image
from core.images.selectors import ServedImage, images_by_id, images_to_choose
from core.people.requests import user_of


class ExamplesEditor:
    """The page of the editor for one request; subclasses say of which forms, and of what it is the next version."""

    template: str
    form: Any
    examples: type[ChosenImages[Any]]

    def __init__(
        self, request: HttpRequest, entries: QuerySet[CollectionImage], *, about: dict[str, Any], **context: Any
    ) -> None:
        """`about` is what the form takes besides what was sent."""
        self.request, self.entries, self.about, self.context = request, entries, about, context
        self.images = Image.objects.filter(pk__in=entries.values("image"))

    def forms(self, stored: Callable[[], list[dict[str, Any]]]) -> dict[str, Any]:
        """Return the forms as they begin, with one example more or less, or as they were sent to be published."""
        sent = self.request.POST
        do = sent.get("do", "publish")
        if self.request.method != "POST":
            examples = self.examples(None, images=self.images, stored=stored())
            return {"form": self.form(**self.about), "examples": examples}
        if do == "publish":
            return {"form": self.form(sent, **self.about), "examples": self.examples(sent, images=self.images)}
        examples = self.examples.as_typed(sent, images=self.images)
        if problem := examples.do(do, image=sent.get("image", "")):
            messages.error(self.request, problem)
        return {"form": self.form.as_typed(sent, **self.about), "examples": examples}

    @staticmethod
    def can_be_published(forms: dict[str, Any]) -> bool:
        return bool(forms["form"].is_bound and forms["form"].is_valid() & forms["examples"].are_valid())

    def shown_images(self, examples: Sequence[Any]) -> list[ServedImage | None]:
        return images_by_id(self.images, [form["image"].value() for form in examples], user_of(self.request))

    def page(self, forms: dict[str, Any], *, status: int | None = None) -> HttpResponse:
        sent, examples = self.request.POST, list(forms["examples"])
        find, after = sent.get("find", ""), sent.get("after_key", "") if sent.get("do") == "more" else ""
        shown = list(zip(examples, self.shown_images(examples), strict=True))
        context = forms | self.context | {"find": find, "examples": shown}
        context["chooser"] = images_to_choose(self.entries, find=find, after=after)
        return render(self.request, self.template, context, status=status or (422 if forms["form"].is_bound else 200))
