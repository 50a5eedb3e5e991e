"""Pages behind the figures: single images, and comparisons of two models."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.people.permissions import READERS, project_for
from core.people.requests import user_of
from research.scoring.forms import CompareForm
from research.scoring.pages.comparing import compare_page, labels_of
from research.scoring.pages.images import ScoredImagesShown, images_page
from research.scoring.permissions import has_assigned_images, scoring_for
from research.scoring.selectors.scores import scoring_rows
from research.selection.pages.image_filters import asked_images, with_reason
from research.selection.rules.image_filters import ImageFilterError


@require_safe
def scoring_images(request: HttpRequest, slug: str, scoring_id: int) -> HttpResponse:
    scoring = scoring_for(request.user, slug, scoring_id)
    if has_assigned_images(user_of(request), [scoring.references]):
        messages.error(request, images_are_closed())
        return redirect("scoring:scoring-show", slug, scoring_id)
    asked = {name: request.GET.get(name, "") for name in ("metric", "show", "against")}
    page = images_page(scoring, user_of(request), **asked, number=request.GET.get("page", "1"))
    if page is None:
        return redirect("scoring:scoring-show", slug, scoring_id)
    context = {
        "project": scoring.project,
        "scoring": scoring,
        "listing": page,
        "page": page.page,
        "shows": ScoredImagesShown,
    }
    return render(request, "scoring/images.html", context)


@require_safe
def score_compare(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    rows = scoring_rows(project)
    labels = labels_of(rows)
    is_asked = {"test", "base"} & request.GET.keys()
    form = CompareForm(request.GET if is_asked else None, project=project, labels=labels)
    images = asked_images(request.GET, project, collections={row.scoring.references.collection_id for row in rows})
    context = {"project": project, "form": form, "labels": labels}
    if form.is_valid() and not images.error:
        test, base, method = (form.cleaned_data[name] for name in ("test", "base", "method"))
        is_closed = has_assigned_images(user_of(request), [test.references])
        viewer = None if is_closed else user_of(request)
        metric = request.GET.get("metric", "")
        try:
            page = compare_page(test, base, viewer, method=method, metric=metric, filter=images.filter)
        except ImageFilterError as refused:
            images = with_reason(images, refused)
        else:
            context |= {"comparison": page, "test": test, "base": base, "method": method, "is_closed": is_closed}
    return render(request, "scoring/compare.html", context | {"images": images}, status=images.status)


def images_are_closed() -> str:
    return _(
        "You have an unfinished batch with images of this project, and this file says what was written about "
        "them. Submit that batch first, or ask somebody else."
    )
