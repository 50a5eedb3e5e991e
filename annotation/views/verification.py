"""Rating captions that others wrote: take a batch, save, submit, return."""

from __future__ import annotations

from random import Random, SystemRandom
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import tasks
from annotation.models import VerificationBatch
from annotation.permissions import ratings_for, round_to_rate
from annotation.selectors.verification import ratings_page, to_rate
from annotation.selectors.work import batch_head
from annotation.services import verification as services
from annotation.views.work import RATINGS, ratings_sent, save_rating
from core.allocation.views import explains_refusals, resume_view, save_view, says_where
from core.people.requests import user_of

RNG: Random = SystemRandom()


@require_POST
@explains_refusals(RATINGS)
def verification_take(request: HttpRequest, round_id: int) -> HttpResponse:
    round = round_to_rate(request.user, round_id)
    batch = services.take_batch(round=round, person=user_of(request), now=timezone.now(), rng=RNG)
    if batch:
        return redirect(RATINGS.batch, batch.pk)
    messages.info(request, _("There is nothing left for you in this round: all other captions have enough reviewers."))
    return redirect(RATINGS.work)


@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
@says_where
@login_required
@explains_refusals(RATINGS)
def verification_show(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = ratings_for(request.user, batch_id)
    if batch.submitted_at:
        return redirect("annotation:verification-done", batch_id)
    if request.method == "POST":
        return _keep(request, batch)
    page = ratings_page(batch, user_of(request), timezone.now())
    if page.batch.is_open:
        return render(request, "annotation/rate_captions.html", vars(page))
    resume_url = reverse("annotation:verification-resume", args=[batch_id])
    return render(request, "annotation/away.html", {"batch": page.batch, "resume_url": resume_url})


def _keep(request: HttpRequest, batch: VerificationBatch) -> HttpResponse:
    who = {"batch_id": batch.pk, "person": user_of(request), "now": timezone.now()}
    ratings = ratings_sent(request, to_rate(batch).values_list("position", flat=True))
    services.save_verdicts(ratings=ratings, **who)
    if request.POST.get("open"):
        services.submit_batch(**who)
        tasks.nudge_figures(batch.round_id)
    return redirect(RATINGS.batch, batch.pk)


@require_POST
@save_view(RATINGS, stays=False)
def verdict_save(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    return save_rating(request, services.save_verdict, batch_id, position)


@require_safe
def verification_done(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    """Confirm the submission without showing captions: the reviewer may write about the images in a later round."""
    batch = ratings_for(request.user, batch_id)
    if not batch.submitted_at:
        return redirect("annotation:verification-show", batch_id)
    head = batch_head(batch, size=to_rate(batch).count(), now=timezone.now())
    return render(request, "annotation/rated_captions.html", {"batch": head})


def verification_return(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = ratings_for(request.user, batch_id)
    if request.method == "POST":
        services.return_batch(batch_id=batch_id, person=user_of(request), now=timezone.now())
        messages.success(request, _("The batch was returned. Other people can rate its captions now."))
        return redirect("annotation:work-show")
    if batch.submitted_at:
        return redirect("annotation:verification-done", batch_id)
    head = batch_head(batch, size=to_rate(batch).count(), now=timezone.now())
    keep_url = reverse("annotation:verification-show", args=[batch_id])
    return render(request, "annotation/return.html", {"batch": head, "keep_url": keep_url})


verification_resume = resume_view(RATINGS, ratings_for, services.resume_batch)
