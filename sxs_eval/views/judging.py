"""The rater's pages: available work, one pair after the other, a break, and returning a batch."""

from __future__ import annotations

from random import Random, SystemRandom
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST, require_safe

from core.allocation.selectors import end_of, with_outlooks
from core.allocation.views import WorkAddresses, active_ms_of, explains_refusals, is_script, resume_view, save_view
from core.people.models import TextKind
from core.people.permissions import project_for
from core.people.requests import keep_typed, take_typed, user_of
from core.people.selectors.qualification import NotQualifiedError
from core.people.selectors.texts import OriginalText, shown_text
from sxs_eval.models import Instructions, JudgingBatch
from sxs_eval.permissions import batch_for, comparison_to_judge, missing_requirements
from sxs_eval.selectors.work import MAX_AHEAD, judging_page, times_of_judging, work_of
from sxs_eval.services import judging as services

# Sides must not be guessed from any that were before.
RNG: Random = SystemRandom()
JUDGING = WorkAddresses(work="sxs_eval:work-show", batch="sxs_eval:batch-show")


@require_safe
def work_show(request: HttpRequest) -> HttpResponse:
    rater, now = user_of(request), timezone.now()
    comparisons = with_outlooks(rater, work_of(rater, now), times_of_judging, now)
    return render(request, "sxs_eval/work.html", {"comparisons": comparisons})


@require_POST
@explains_refusals(JUDGING)
def batch_take(request: HttpRequest, comparison_id: int) -> HttpResponse:
    comparison = comparison_to_judge(user_of(request), comparison_id)
    batch = services.take_batch(comparison=comparison, person=user_of(request), now=timezone.now(), rng=RNG)
    if batch:
        return redirect(JUDGING.batch, batch.pk)
    messages.info(request, _("You have no pairs left to judge in this comparison. Thank you!"))
    return redirect(JUDGING.work)


@require_safe
@gzip_page  # it has the pairs of the whole batch
@explains_refusals(JUDGING)
def batch_show(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    """Show the next pair, or the result of the batch."""
    batch = batch_for(user_of(request), batch_id)
    if missing := missing_requirements(user_of(request), batch.comparison):
        raise NotQualifiedError(missing)
    now = timezone.now()
    page = judging_page(batch, user_of(request), now, ahead=MAX_AHEAD)
    if page.trial:
        typed = take_typed(request)
        comment = typed["text"] if typed.get("position") == str(page.trial.position) else ""
        return render(request, "sxs_eval/judge.html", {**vars(page), "typed": comment})
    end = None if page.batch.left else end_of(batch.lease, work_of(user_of(request), now), times_of_judging, now)
    return render(request, "sxs_eval/end.html", {**vars(page), "end": end})


@require_POST
@save_view(JUDGING, stays=False, has_form=True)
def judgement_save(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    """Save an answer. A form is redirected to the next pair.

    The page's script has `shown` that one already, and has those up to `last`: it gets the one after them. If another
    is next, it gets that one and all that follow. A form that reports the image only keeps its comment.
    """
    if "report" in request.POST:
        if comment := request.POST.get("comment", "")[: services.MAX_COMMENT_CHARACTERS]:
            batch_url = reverse(JUDGING.batch, args=[batch_id])
            keep_typed(request, batch_url, text=comment, position=str(position))
        return redirect("conversation:report-send", "pairs", batch_id, position)
    choice = _whole_number(request.POST.get("choice"))
    judgement = services.judge(
        batch_id=batch_id,
        person=user_of(request),
        position=position,
        choice=99 if choice is None else choice,
        comment=request.POST.get("comment", "").replace("\r\n", "\n"),
        active_ms=active_ms_of(request),
        now=timezone.now(),
    )
    if judgement.is_late:
        # Said with the pair that is next.
        messages.warning(
            request,
            _(
                "This answer came after the deadline, when the pair had been reassigned. It is kept, but does "
                "not count."
            ),
        )
    return _next(request, judgement.batch)


@require_POST
@save_view(JUDGING, stays=False, has_form=True)
def judgement_undo(request: HttpRequest, batch_id: UUID, position: int) -> HttpResponse:
    undone = services.undo(batch_id=batch_id, person=user_of(request), position=position, now=timezone.now())
    return _next(request, undone.batch)


def batch_return(request: HttpRequest, batch_id: UUID) -> HttpResponse:
    batch = batch_for(user_of(request), batch_id)
    if request.method == "POST":
        if services.return_batch(batch_id=batch_id, person=user_of(request), now=timezone.now()):
            messages.success(request, _("You returned the pairs that you had not judged. Your answers count."))
        else:
            messages.success(request, _("Thank you! Your answers count."))
        return redirect("sxs_eval:work-show")
    page = judging_page(batch, user_of(request), timezone.now())
    return render(request, "sxs_eval/return.html", {"batch": page.batch})


batch_resume = resume_view(JUDGING, batch_for, services.resume_batch)


@require_safe
def instructions_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug)
    versions = Instructions.objects.filter(project=project)
    number = _whole_number(request.GET.get("version"))
    shown = versions.order_by("version").last() if number is None else versions.filter(version=number).first()
    if shown is None:
        raise Http404(_("These instructions do not exist."))
    original = request.GET.get("text") == "original"
    text = shown_text(project, TextKind.INSTRUCTIONS, OriginalText(shown.version, shown.body), wants_original=original)
    context = {"project": project, "instructions": shown, "text": text}
    return render(request, "sxs_eval/instructions.html", context)


def _next(request: HttpRequest, batch: JudgingBatch) -> HttpResponse:
    if not is_script(request):
        return redirect("sxs_eval:batch-show", batch.pk)
    shown, last = (_whole_number(request.POST.get(name)) for name in ("shown", "last"))
    page = judging_page(batch, user_of(request), timezone.now(), ahead=MAX_AHEAD, shown=shown, last=last or 0)
    said = list(dict.fromkeys(map(str, messages.get_messages(request))))
    if page.trial is None:
        # Its page says so, once.
        for one in said:
            messages.warning(request, one)
        return JsonResponse({"state": "end", "location": reverse("sxs_eval:batch-show", args=[batch.pk])})
    about = {**vars(page), "is_ahead": True}
    html = "" if page.trial.position == shown else render_to_string("sxs_eval/_trial.html", about, request)
    ahead = render_to_string("sxs_eval/_ahead.html", about, request).strip()
    return JsonResponse({"state": "next", "html": html, "ahead": ahead, "message": " ".join(said)})


def _whole_number(value: str | None) -> int | None:
    digits = (value or "").removeprefix("-")
    return int(value or "") if digits.isascii() and digits.isdigit() and len(digits) < 12 else None
