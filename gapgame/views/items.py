"""What seasons are made of: sentences with a gap and their sets, and word vectors."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.images.permissions import imports_for
from core.languages.models import Language
from core.people.models import Role
from core.people.permissions import READERS, has_role, project_for
from core.people.requests import RefusalsShown, way_back
from crosslens_metrics.formats.word_vectors import WordVectorFileError
from gapgame import tasks
from gapgame.forms.items import FilterForm
from gapgame.models import GapItem, ItemSet
from gapgame.permissions import item_set_for
from gapgame.selectors import setup as selectors
from gapgame.services.items import is_closed, use_item
from research.inference.models import WordVectorSet
from research.inference.services.word_vectors import GLOVE, USE_MULTILINGUAL, import_packaged

ITEMS_PER_PAGE = 25
NEWEST_IMPORTS = 5


@require_safe
def item_set_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    context = {"project": project, "decides": has_role(request.user, project, Role.MANAGER)}
    context["sets"] = selectors.item_sets_of(project)
    return render(request, "gapgame/item_sets.html", context)


@require_safe
def item_set_show(request: HttpRequest, slug: str, item_set_id: int) -> HttpResponse:
    item_set = item_set_for(request.user, slug, item_set_id)
    form = FilterForm(request.GET, item_set=item_set)
    items = selectors.with_images(selectors.items_of(item_set, **form.chosen()))
    page = Paginator(items, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    context = _about(request, item_set) | {"form": form, "is_filtered": bool(form.chosen()), "page": page}
    context["imports"] = imports_for(request.user).filter(collection=item_set.collection)[:NEWEST_IMPORTS]
    context["facts"] = selectors.facts_of(item_set)
    context["corpora"] = [
        (corpus, json.dumps(corpus["configuration"], ensure_ascii=False, indent=2)) for corpus in item_set.corpora
    ]
    return render(request, "gapgame/item_set.html", context)


@require_POST
def item_change(request: HttpRequest, slug: str, item_set_id: int, item_id: int) -> HttpResponse:
    """Switch an item on or off; during a season, this affects its next batches."""
    item_set = item_set_for(request.user, slug, item_set_id, Role.MANAGER)
    item = get_object_or_404(GapItem, item_set=item_set, pk=item_id)
    use_item(item=item, is_used=request.POST.get("is_used") == "1")
    page = reverse("gapgame:item-set-show", args=[slug, item_set_id])
    back = way_back(request, request.POST.get("next", ""), otherwise=page)
    return redirect(f"{back}#item-{item_id}")


def _about(request: HttpRequest, item_set: ItemSet) -> dict[str, Any]:
    return {
        "item_set": item_set,
        "project": item_set.project,
        "decides": has_role(request.user, item_set.project, Role.MANAGER),
        "is_closed": is_closed(item_set, timezone.now()),
    }


@require_safe
def vectors_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    context: dict[str, object] = {
        "project": project,
        "sets": WordVectorSet.objects.select_related("language").order_by("language", "name"),
    }
    context |= {"glove": GLOVE, "encoder": USE_MULTILINGUAL, "encoder_languages": _encoder_languages()}
    return render(request, "gapgame/vectors.html", context)


@require_POST
def vectors_import(request: HttpRequest, slug: str) -> HttpResponse:
    """Copy a table in the background; a model needs only a row, made at once."""
    project_for(request.user, slug, *READERS)
    if request.POST.get("name") == GLOVE.name:
        tasks.ask_for_packaged_vectors(GLOVE.name)
        text = _(
            "The vectors are being imported. If they do not appear below within a minute, their package is missing."
        )
        messages.info(request, text)
        return redirect("gapgame:vectors-show", slug)
    language = get_object_or_404(_encoder_languages(), pk=request.POST.get("language", "").replace("\0", ""))
    with RefusalsShown(request, WordVectorFileError):
        made = import_packaged(name=USE_MULTILINGUAL.name, language=language, now=timezone.now())
        messages.success(request, _("You can now use “%(vectors)s” in seasons.") % {"vectors": made.vectors})
    return redirect("gapgame:vectors-show", slug)


def _encoder_languages() -> QuerySet[Language]:
    return Language.objects.filter(pk__in=USE_MULTILINGUAL.languages)
