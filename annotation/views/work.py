"""The pages of those who write and rate captions: work to take, batches to rate, feedback, captions returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random, SystemRandom
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import tasks
from annotation.models import Caption, CaptionState, Feedback, Rating, Stage, VerificationBatch
from annotation.permissions import (
    batch_for,
    caption_to_correct,
    ratings_for,
    readable_feedback,
    round_for,
    round_to_rate,
)
from annotation.rules import text_checks
from annotation.selectors.caption_summaries import own_captions, summary_of
from annotation.selectors.feedback import (
    caption_to_rewrite,
    note_to,
    notes_to,
    to_read,
    to_rewrite,
    unread,
    warnings_for,
)
from annotation.selectors.guidelines import shown_part
from annotation.selectors.verification import rating_work_of, ratings_page, to_rate
from annotation.selectors.work import batch_head, batches_of, times_of_rating, times_of_writing, work_of
from annotation.services import batches as services
from annotation.services import corrections
from annotation.services import verification as rating_services
from annotation.services.batches import InvalidCaptionError
from annotation.services.feedback import acknowledge, reply_to_feedback
from annotation.views.shared import number_sent
from core.allocation.refusals import AllocationRefusal, RefusedError
from core.allocation.selectors import end_of, with_outlooks
from core.allocation.views import WorkAddresses, active_ms_of, explains_refusals, resume_view, save_view, says_where
from core.conversation.services import MessageRefusedError
from core.images.selectors import served_image
from core.people.models import Role, TextKind
from core.people.requests import RefusalsShown, user_of

CAPTIONS = WorkAddresses(work="annotation:work-show", batch="annotation:batch-show")
RATINGS = WorkAddresses(work="annotation:work-show", batch="annotation:verification-show")


def ratings_sent(request: HttpRequest, positions: Iterable[int]) -> dict[int, Rating]:
    """Read the ratings of a form, by position; anything else is ignored."""
    sent = {position: request.POST.get(f"rating-{position}", "") for position in positions}
    return {position: Rating(value) for position, value in sent.items() if value in Rating.values}


def save_rating(request: HttpRequest, save: Callable[..., object], batch_id: UUID, position: int) -> HttpResponse:
    """Save the one rating that a script sends, by a service; an empty one was undone.

    Raises core.allocation.refusals.RefusedError.
    """
    rating = request.POST.get("rating", "none")
    if rating and rating not in Rating.values:
        said = _("%(rating)s is not a level. Choose one of %(levels)s.")
        levels = ", ".join(Rating.values)
        raise RefusedError(AllocationRefusal(422, "unknown-rating", said % {"rating": rating, "levels": levels}))
    about = {"batch_id": batch_id, "person": user_of(request), "position": position, "now": timezone.now()}
    save(rating=Rating(rating) if rating else None, active_ms=active_ms_of(request), **about)
    return JsonResponse({"state": "saved"})


BATCHES_PER_PAGE = 30
CAPTIONS_PER_PAGE = 30
RNG: Random = SystemRandom()


@require_safe
def work_show(request: HttpRequest) -> HttpResponse:
    person = user_of(request)
    now = timezone.now()
    context: dict[str, Any] = {"unread": unread(person), "to_rewrite": to_rewrite(person), "to_read": to_read(person)}
    rounds = with_outlooks(person, work_of(person, now), times_of_writing, now)
    ratings = with_outlooks(person, rating_work_of(person, now), times_of_rating, now)
    context |= {"rounds": rounds, "ratings": ratings}
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
    context = {"page": page, "batches": heads, "summary": summary_of(user_of(request))}
    return render(request, "annotation/history.html", context)


@require_safe
def captions_show(request: HttpRequest) -> HttpResponse:
    """Say of each own caption what happened to it."""
    person = user_of(request)
    mine = own_captions(person).select_related("image", "item", "round__project", "round__language")
    page = Paginator(mine.order_by("-submitted_at", "-pk"), CAPTIONS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [(caption, served_image(caption.image, person)) for caption in page]
    return render(request, "annotation/own_captions.html", {"page": page, "rows": rows})


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


@require_safe
def feedback_list(request: HttpRequest) -> HttpResponse:
    return render(request, "annotation/feedback_list.html", {"notes": notes_to(user_of(request))})


@require_safe
def feedback_show(request: HttpRequest, feedback_id: int) -> HttpResponse:
    note = note_to(user_of(request), feedback_id)
    if note is None:
        raise Http404(_("You have no such feedback, or it is about an image that is assigned to you now."))
    return render(request, "annotation/feedback.html", {"note": note, "language": note.language})


@require_POST
def feedback_acknowledge(request: HttpRequest, feedback_id: int) -> HttpResponse:
    person = user_of(request)
    try:
        acknowledge(feedback_id=feedback_id, person=person, now=timezone.now())
    except Feedback.DoesNotExist as gone:
        raise Http404(_("You have no such feedback, or it is about an image that is assigned to you now.")) from gone
    return redirect("annotation:feedback-list" if unread(person) else "annotation:work-show")


@require_POST
def feedback_reply(request: HttpRequest, feedback_id: int) -> HttpResponse:
    feedback = get_object_or_404(readable_feedback(user_of(request)), pk=feedback_id)
    with RefusalsShown(request, MessageRefusedError):
        reply_to_feedback(feedback=feedback, text=request.POST.get("text", ""), now=timezone.now())
        messages.success(request, _("Sent. You will find the reply on your list of work."))
    return redirect("annotation:feedback-show", feedback_id)


@require_http_methods(["GET", "HEAD", "POST"])
def caption_rewrite(request: HttpRequest, caption_id: int) -> HttpResponse:
    caption = caption_to_correct(request.user, caption_id)
    return _submit(request, caption) if request.method == "POST" else _page(request, caption)


def _submit(request: HttpRequest, caption: Caption) -> HttpResponse:
    text, author = request.POST.get("text", ""), user_of(request)
    if caption_to_rewrite(caption, author).image is None:
        return _page(request, caption, 409, typed=text)
    warnings = [] if text_checks.hard_error(text) else warnings_for(caption, text)
    seen = set(request.POST.getlist("seen"))
    if caption.state == CaptionState.RETURNED and any(warning.code not in seen for warning in warnings):
        return _page(request, caption, typed=text, warnings=warnings)
    try:
        corrections.rewrite(caption_id=caption.pk, author=author, text=text, now=timezone.now())
    except InvalidCaptionError as refused:
        return _page(request, caption, 422, typed=text, problem=refused.problem.message)
    except corrections.RewriteRefusedError as refused:
        return _page(request, caption, 409, typed=text, problem=str(refused))
    except corrections.AlreadyRewrittenError:
        return _page(request, caption_to_correct(author, caption.pk), 409, typed=text)
    messages.success(request, _("Your new caption was submitted. Thank you!"))
    return redirect("annotation:work-show")


def _page(request: HttpRequest, caption: Caption, status: int = 200, **more: Any) -> HttpResponse:
    page = caption_to_rewrite(caption, user_of(request))
    context = {
        "page": page,
        "language": page.language,
        "writing": shown_part(caption.round.guidelines, TextKind.WRITING, roles=[Role.ANNOTATOR]),
        **more,
    }
    return render(request, "annotation/rewrite.html", context, status=status)


@require_POST
@explains_refusals(RATINGS)
def verification_take(request: HttpRequest, round_id: int) -> HttpResponse:
    round = round_to_rate(request.user, round_id)
    batch = rating_services.take_batch(round=round, person=user_of(request), now=timezone.now(), rng=RNG)
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
    if page["batch"].is_open:
        return render(request, "annotation/rate_captions.html", page)
    resume_url = reverse("annotation:verification-resume", args=[batch_id])
    return render(request, "annotation/away.html", {"batch": page["batch"], "resume_url": resume_url})


def _keep(request: HttpRequest, batch: VerificationBatch) -> HttpResponse:
    who = {"batch_id": batch.pk, "person": user_of(request), "now": timezone.now()}
    ratings = ratings_sent(request, batch.verdicts.values_list("position", flat=True))
    rating_services.save_verdicts(ratings=ratings, **who)
    if position := number_sent(request.POST.get("report")):
        return redirect("conversation:report-send", "ratings", batch.pk, position)
    if request.POST.get("open"):
        rating_services.submit_batch(**who)
        tasks.nudge_figures(batch.round_id)
    return redirect(RATINGS.batch, batch.pk)


@require_POST
@save_view(RATINGS, stays=False)
def verdict_save(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    return save_rating(request, rating_services.save_verdict, batch_id, position)


@require_safe
def verification_done(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    """Confirm the submission without showing captions: the reviewer may write about the images in a later round."""
    batch = ratings_for(request.user, batch_id)
    if not batch.submitted_at:
        return redirect("annotation:verification-show", batch_id)
    now = timezone.now()
    head = batch_head(batch, size=to_rate(batch).count(), now=now)
    end = end_of(batch.lease, rating_work_of(user_of(request), now), times_of_rating, now)
    return render(request, "annotation/rated_captions.html", {"batch": head, "end": end})


def verification_return(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = ratings_for(request.user, batch_id)
    if request.method == "POST":
        rating_services.return_batch(batch_id=batch_id, person=user_of(request), now=timezone.now())
        messages.success(request, _("The batch was returned. Other people can rate its captions now."))
        return redirect("annotation:work-show")
    if batch.submitted_at:
        return redirect("annotation:verification-done", batch_id)
    head = batch_head(batch, size=to_rate(batch).count(), now=timezone.now())
    keep_url = reverse("annotation:verification-show", args=[batch_id])
    return render(request, "annotation/return.html", {"batch": head, "keep_url": keep_url})


verification_resume = resume_view(RATINGS, ratings_for, rating_services.resume_batch)
