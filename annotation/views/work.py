"""The annotator's way into and out of a batch: available and finished work, the guidelines."""

from __future__ import annotations

from random import Random, SystemRandom
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Stage
from annotation.permissions import batch_for, round_for
from annotation.selectors.corrections import to_rewrite
from annotation.selectors.feedback import unread
from annotation.selectors.verification import rating_work_of
from annotation.selectors.work import batch_head, batches_of, work_of
from annotation.services import batches as services
from annotation.views.ratings import CAPTIONS
from core.allocation.views import explains_refusals, resume_view
from core.people.requests import user_of

BATCHES_PER_PAGE = 30
RNG: Random = SystemRandom()


@require_safe
def work_show(request: HttpRequest) -> HttpResponse:
    person = user_of(request)
    now = timezone.now()
    context = {"rounds": work_of(person, now), "unread": unread(person), "to_rewrite": to_rewrite(person)}
    context["ratings"] = rating_work_of(person, now)
    return render(request, "annotation/work.html", context)


@require_POST
@explains_refusals(CAPTIONS)
def batch_take(request: HttpRequest, round_id: int) -> HttpResponse:
    round = round_for(user_of(request), round_id)
    batch = services.take_batch(round=round, person=user_of(request), now=timezone.now(), rng=RNG)
    if batch:
        return redirect(CAPTIONS.batch, batch.pk)
    messages.info(request, _("There is nothing left for you in this round: other people have taken every image."))
    return redirect(CAPTIONS.work)


@require_safe
def history_show(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    done = batches_of(user_of(request)).filter(stage=Stage.SUBMITTED).annotate(size=Count("items__caption"))
    page = Paginator(done.order_by("-submitted_at"), BATCHES_PER_PAGE).get_page(request.GET.get("page"))
    heads = [batch_head(batch, size=batch.size, now=now) for batch in page]  # type: ignore[attr-defined]
    return render(request, "annotation/history.html", {"page": page, "batches": heads})


def batch_return(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = batch_for(user_of(request), batch_id)
    if request.method == "POST":
        services.return_batch(batch_id=batch_id, person=user_of(request), now=timezone.now())
        messages.success(request, _("The batch was returned. Other people can take its images now."))
        return redirect("annotation:work-show")
    if batch.stage == Stage.SUBMITTED:
        return redirect("annotation:batch-done", batch_id)
    head = batch_head(batch, size=batch.items.count(), now=timezone.now())
    return render(request, "annotation/return.html", {"batch": head})


batch_resume = resume_view(CAPTIONS, batch_for, services.resume_batch)
