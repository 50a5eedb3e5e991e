"""Screen 1 (rate) and screen 2 (write), saving while typing, and submitting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from django.contrib.auth.decorators import login_not_required, login_required
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import CaptionBatch, CaptionItem, Stage
from annotation.permissions import batch_for
from annotation.rules import text_checks
from annotation.selectors.work import (
    DraftText,
    batch_head,
    first_to_write,
    items_of,
    language_of,
    own_captions,
    page_ahead,
    rate_page,
    submitted,
    texts_of,
    times_of_writing,
    warnings_of,
    work_of,
    write_page,
    written_in,
)
from annotation.services import batches as services
from annotation.views.shared import number_sent
from annotation.views.work import CAPTIONS, ratings_sent, save_rating
from core.allocation.models import BatchState
from core.allocation.selectors import end_of
from core.allocation.services.errors import TaskGoneError
from core.allocation.views import CLEAR_SITE_DATA, active_ms_of, explains_refusals, save_view, says_where
from core.people.requests import keep_typed, take_typed, user_of

UNFINISHED = "unfinished"
"""In the address of a caption: say what must be fixed before going on."""
"""In the session: a text that was not stored, until its page has shown it."""
FRAME, AHEAD = "annotation/_annotator.html", "annotation/_ahead.html"
"""What screen 2 stands in: a whole page, or what the script takes of one."""
GOES_ON = ("following", "finish")
"""The button below the text that confirms it: on the last image it leads to the review."""
MAX_KEPT_CHARACTERS = 2 * text_checks.MAX_DRAFT_CHARACTERS


def _batch_at(request: HttpRequest, batch_id: UUID, stage: Stage) -> tuple[CaptionBatch, HttpResponse | None]:
    """Return the batch, and where to go instead if it is not at `stage`."""
    batch = batch_for(user_of(request), batch_id)
    is_away = batch.lease.state == BatchState.RETURNED or (
        stage == Stage.RATE and (batch.lease.state != BatchState.OPEN or batch.lease.deadline <= timezone.now())
    )
    if batch.stage == stage and not is_away:
        return batch, None
    return batch, redirect("annotation:batch-show", batch_id)


@require_safe
def batch_show(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    """Go to the page of the batch's stage."""
    batch = batch_for(user_of(request), batch_id)
    now = timezone.now()
    if batch.stage == Stage.SUBMITTED:
        return redirect("annotation:batch-done", batch_id)
    head = batch_head(batch, size=batch.items.count(), now=now)
    if head.state == BatchState.RETURNED or (batch.stage == Stage.RATE and not head.is_open):
        return render(request, "annotation/away.html", {"batch": head})
    if batch.stage == Stage.RATE:
        return redirect("annotation:batch-rate", batch_id)
    position = first_to_write(batch)
    if position is None:
        raise Http404(_("Nothing is left of this batch."))
    return redirect("annotation:caption-write", batch_id, position)


@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page  # fifteen times five levels: 40 kB of much the same
@says_where
@login_required
@explains_refusals(CAPTIONS)
def batch_rate(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch, elsewhere = _batch_at(request, batch_id, Stage.RATE)
    if elsewhere:
        return elsewhere
    if request.method == "POST":
        return _keep_ratings(request, batch)
    return render(request, "annotation/rate.html", rate_page(batch, user_of(request), timezone.now()))


def _keep_ratings(request: HttpRequest, batch: CaptionBatch) -> HttpResponse:
    ratings = ratings_sent(request, batch.items.values_list("position", flat=True))
    services.save_ratings(batch_id=batch.pk, person=user_of(request), ratings=ratings, now=timezone.now())
    if report_url := _report_asked(request, batch.pk):
        return redirect(report_url)
    return _open_writing(request, batch.pk) if request.POST.get("open") else redirect("annotation:batch-rate", batch.pk)


def _report_asked(request: HttpRequest, batch_id: UUID) -> str:
    """Return where to go on once the form is saved, if it was sent to report an image; "" otherwise."""
    position = number_sent(request.POST.get("report"))
    return reverse("conversation:report-send", args=["captions", batch_id, position]) if position else ""


@require_POST
@save_view(CAPTIONS, stays=False)
def rating_save(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    return save_rating(request, services.save_rating, batch_id, position)


@require_POST
@explains_refusals(CAPTIONS)
def writing_open(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch_for(user_of(request), batch_id)
    return _open_writing(request, batch_id)


def _open_writing(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    services.open_writing(batch_id=batch_id, person=user_of(request), now=timezone.now())
    response = redirect("annotation:batch-show", batch_id)
    # Screen 1 must be gone from the browser too: from its cache, and from behind the back button.
    response[CLEAR_SITE_DATA] = '"cache"'
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
@explains_refusals(CAPTIONS)
def caption_write(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    if request.method == "POST":
        return _keep_caption(request, batch_id, position)
    batch, elsewhere = _batch_at(request, batch_id, Stage.WRITE)
    return elsewhere or _writing(request, batch, position)


def _writing(request: HttpRequest, batch: CaptionBatch, position: int) -> HttpResponse:
    page = write_page(batch, position, user_of(request), timezone.now())
    if page is None:
        raise Http404(_("This image is no longer assigned to you."))
    unfinished = text_checks.hard_error(page.item.text) if UNFINISHED in request.GET else None
    context = {**vars(page), "error": unfinished and unfinished.message, "frame": FRAME}
    if refused := take_typed(request):
        context |= {"error": refused["message"], "typed": refused["text"]}
    return render(request, "annotation/write.html", context)


def _keep_caption(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    text, go = request.POST.get("text", ""), request.POST.get("go", "")
    try:
        item = _save_draft(request, batch_id, position, confirms=go in GOES_ON)
    except services.InvalidCaptionError as refused:
        return _writing_again(request, batch_id, str(refused.problem.message), text)
    except services.StaleDraftError:
        message = _(
            "This caption was changed in another tab in the meantime. The saved text is below; your text is "
            "still in the box."
        )
        return _writing_again(request, batch_id, message, text)
    except TaskGoneError:
        if not text.strip():
            raise
        return _gone(request, batch_id, text)
    if report_url := _report_asked(request, batch_id):
        return redirect(report_url)
    if go == "following" and text_checks.hard_error(text):
        # With an address of its own: reloading it shows what is stored by then.
        return redirect(f"{reverse('annotation:caption-write', args=[batch_id, position])}?{UNFINISHED}")
    return _go_on(request, item.batch, position)


def _save_draft(request: HttpRequest, batch_id: UUID, position: int, *, confirms: bool) -> CaptionItem:
    return services.save_draft(
        batch_id=batch_id,
        person=user_of(request),
        position=position,
        text=request.POST.get("text", ""),
        revision=number_sent(request.POST.get("revision")),
        active_ms=active_ms_of(request),
        now=timezone.now(),
        confirms=confirms,
        pasted_characters=number_sent(request.POST.get("pasted_characters")),
        longest_absence_ms=number_sent(request.POST.get("longest_absence_ms")),
    )


def _writing_again(request: HttpRequest, batch_id: UUID, message: str, text: str) -> HttpResponse:
    """Send somebody without scripts back to the page, with what they typed and why it was refused.

    They may report the image first.
    """
    keep_typed(request, request.path, message=str(message), text=text[:MAX_KEPT_CHARACTERS])
    return redirect(_report_asked(request, batch_id) or request.path)


def _gone(request: HttpRequest, batch_id: UUID, text: str) -> HttpResponse:
    """Show somebody without scripts the text that they typed for an image that is no longer theirs."""
    batch = batch_for(user_of(request), batch_id)
    head = batch_head(batch, size=items_of(batch).count(), now=timezone.now())
    context = {"batch": head, "language": batch.round.language, "typed": text}
    return render(request, "annotation/gone.html", context, status=409)


def _go_on(request: HttpRequest, batch: CaptionBatch, position: int) -> HttpResponse:
    positions = list(items_of(batch).values_list("position", flat=True))
    place = positions.index(position) if position in positions else 0
    step = {"previous": -1, "following": 1}.get(request.POST.get("go", ""), 0)
    if step and 0 <= place + step < len(positions):
        return redirect("annotation:caption-write", batch.pk, positions[place + step])
    return redirect("annotation:batch-review", batch.pk)


@require_POST
@gzip_page
@save_view(CAPTIONS, stays=True)
def draft_save(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    """Save what was typed so far, or what the writer confirms.

    With `ahead`, a position, the response brings the page of that image, too.
    """
    item = _save_draft(request, batch_id, position, confirms="confirms" in request.POST)
    texts = texts_of(item.batch)
    warnings = warnings_of(item, language_of(item.batch.round_id), texts)
    problem = text_checks.hard_error(item.text)
    return JsonResponse(
        {
            "state": "saved",
            "revision": item.revision,
            "is_autosaved": item.is_autosaved,
            "error": str(problem.message) if problem else "",
            "warnings": [{"code": warning.code, "message": str(warning.message)} for warning in warnings],
            "written": written_in(texts),
            "ahead": _ahead(request, item.batch, texts),
        }
    )


def _ahead(request: HttpRequest, batch: CaptionBatch, texts: Mapping[int, DraftText]) -> str:
    """Return the page of the image that the script will ask for next, without its frame; empty if it asks for none."""
    asked = number_sent(request.POST.get("ahead"))
    page = page_ahead(batch, texts, asked, user_of(request), timezone.now()) if asked else None
    if page is None:
        return ""
    return render_to_string("annotation/write.html", {**vars(page), "frame": AHEAD}, request)


@login_not_required
@require_safe
def worker_show(_request: HttpRequest) -> HttpResponse:
    """The service worker of screen 2, at an address above the pages that it may answer for."""
    path = finders.find("js/offline_worker.js")
    assert isinstance(path, str)
    return HttpResponse(Path(path).read_bytes(), content_type="text/javascript")


@require_safe
@gzip_page
def batch_review(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch, elsewhere = _batch_at(request, batch_id, Stage.WRITE)
    return elsewhere or _review(request, batch)


def _review(request: HttpRequest, batch: CaptionBatch, status: int = 200) -> HttpResponse:
    items = own_captions(batch, user_of(request))
    context = {
        "batch": batch_head(batch, size=len(items), now=timezone.now()),
        "items": items,
        "missing": [item.position for item in items if item.error],
        "unconfirmed": [item.position for item in items if item.is_autosaved and not item.error],
        "copied": [item.position for item in items if text_checks.COPIED in item.warnings],
        "language": batch.round.language,
    }
    return render(request, "annotation/review.html", context, status=status)


@require_POST
@explains_refusals(CAPTIONS)
def captions_confirm(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    """Confirm the captions that the review showed, each in the revision that it showed."""
    batch_for(user_of(request), batch_id)
    sent = (caption.partition("-") for caption in request.POST.getlist("seen"))
    revisions = {number_sent(position): number_sent(revision) for position, _hyphen, revision in sent}
    services.confirm_captions(batch_id=batch_id, person=user_of(request), revisions=revisions, now=timezone.now())
    return redirect("annotation:batch-review", batch_id)


@require_POST
@explains_refusals(CAPTIONS)
def batch_submit(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = batch_for(user_of(request), batch_id)
    try:
        services.submit_batch(
            batch_id=batch_id,
            person=user_of(request),
            now=timezone.now(),
            copies_seen="copies_seen" in request.POST,
        )
    except (services.IncompleteBatchError, services.UnconfirmedCaptionsError):
        return _review(request, batch, 422)
    except services.NearCopyError:
        # The warnings are on that page from now on; with a redirect, the back button does not resubmit a form.
        return redirect("annotation:batch-review", batch_id)
    return redirect("annotation:batch-done", batch_id)


@require_safe
def batch_done(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch, elsewhere = _batch_at(request, batch_id, Stage.SUBMITTED)
    if elsewhere:
        return elsewhere
    items = submitted(batch, user_of(request))
    now = timezone.now()
    head = batch_head(batch, size=len(items), now=now)
    context = {"batch": head, "items": items, "late": head.is_late, "language": batch.round.language}
    # The same round goes on; work in another one is found on the page of all work.
    context["end"] = end_of(batch.lease, work_of(user_of(request), now), times_of_writing, now)
    return render(request, "annotation/done.html", context)
