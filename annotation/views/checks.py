"""Checks of ratings and captions: a manager's findings, feedback and captions returned."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms.checks import CheckForm, FeedbackForm
from annotation.models import Caption, Rating
from annotation.permissions import caption_managed_by, round_of, second_readers
from annotation.rules.writing_marks import MEANINGS, MarkKind
from annotation.selectors import checks as selectors
from annotation.selectors.feedback import given_in
from annotation.services import corrections
from annotation.services.feedback import FeedbackError, check_level, check_rating, give_feedback
from annotation.services.readings import ReaderRefusedError, ask_reader
from annotation.views.shared import kept_away, number_sent
from core.languages.models import Language
from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import is_htmx, user_of

IS_RIGHT = {"right": True, "wrong": False, "": None}


@require_safe
def check_show(request: HttpRequest, slug: str, tag: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    language = get_object_or_404(Language.objects.filter(pk__in=project.rounds.values("language")), pk=tag)
    if elsewhere := kept_away(request, project, "annotation:project-show", slug):
        return elsewhere
    form = CheckForm(request.GET, project=project, language=language)
    context: dict[str, Any] = {"project": project, "language": language, "form": form, "levels": Rating}
    context["meanings"] = [(kind, MEANINGS[kind]) for kind in MarkKind]
    if form.has_rounds and form.is_valid():
        asked = form.asked()
        where = {name: number_sent(request.GET.get(name)) for name in ("after", "before")}
        page = selectors.check_page(asked, user_of(request), **where)
        readers = second_readers(asked.round)
        context |= {"asked": asked, "page": page, "back": request.GET.urlencode(), "readers": readers}
    return render(request, "annotation/check.html", context)


@require_safe
def samples_show(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    """Show a few captions of a round at random: a page, or what the overview puts into a window."""
    round = round_of(request.user, slug, round_id)
    if elsewhere := kept_away(request, round.project, "annotation:project-show", slug):
        return elsewhere
    draw = number_sent(request.GET.get("draw"))
    samples = selectors.samples_of(round, draw=draw)
    context = {"project": round.project, "round": round, "samples": samples, "next_draw": draw + 1}
    template = "annotation/_samples.html" if is_htmx(request) else "annotation/samples.html"
    return render(request, template, context)


@require_POST
def caption_check(request: HttpRequest, slug: str, caption_id: int) -> HttpResponse:
    """Save one finding, named by the button: about the rating, or a level for the caption."""
    caption = caption_managed_by(request.user, slug, caption_id)
    if elsewhere := kept_away(request, caption.round.project, "annotation:project-show", slug):
        return elsewhere
    who: dict[str, Any] = {"caption_id": caption.pk, "by": user_of(request), "now": timezone.now()}
    rating, level = request.POST.get("rating"), request.POST.get("level")
    if rating in IS_RIGHT:
        check_rating(is_right=IS_RIGHT[rating], **who)
    if level == "" or level in Rating.values:
        check_level(level=Rating(level) if level else None, **who)
    return _back(request, caption)


@require_POST
def caption_feedback(request: HttpRequest, slug: str, caption_id: int) -> HttpResponse:
    caption = caption_managed_by(request.user, slug, caption_id)
    if elsewhere := kept_away(request, caption.round.project, "annotation:project-show", slug):
        return elsewhere
    assert caption.author is not None  # guaranteed, as it did not come from a file
    text = request.POST.get("text", "")
    about: dict[str, Any] = {"round": caption.round, "person": caption.author, "caption": caption}
    try:
        give_feedback(text=text, by=user_of(request), now=timezone.now(), **about)
    except FeedbackError as refused:
        return _again(request, caption, "feedback", text, str(refused))
    return _back(request, caption, _("Feedback sent. They will see it before their next batch."))


@require_POST
def caption_return(request: HttpRequest, slug: str, caption_id: int) -> HttpResponse:
    caption = caption_managed_by(request.user, slug, caption_id)
    if elsewhere := kept_away(request, caption.round.project, "annotation:project-show", slug):
        return elsewhere
    note = request.POST.get("text", "")
    try:
        corrections.return_for_correction(caption_id=caption.pk, note=note, by=user_of(request), now=timezone.now())
    except (FeedbackError, corrections.CorrectionRequestError) as refused:
        return _again(request, caption, "return", note, str(refused))
    return _back(request, caption, _("The caption was returned to its author for correction."))


@require_POST
def reader_ask(request: HttpRequest, slug: str, caption_id: int) -> HttpResponse:
    """Ask a second reader about a caption."""
    caption = caption_managed_by(request.user, slug, caption_id)
    if elsewhere := kept_away(request, caption.round.project, "annotation:project-show", slug):
        return elsewhere
    reader = second_readers(caption.round).filter(pk=number_sent(request.POST.get("reader"))).first()
    if reader is None:
        return _refused(request, caption, _("Choose a person who knows the language."))
    try:
        ask_reader(caption_id=caption.pk, reader=reader, by=user_of(request), now=timezone.now())
    except ReaderRefusedError as refused:
        return _refused(request, caption, str(refused))
    return _back(request, caption, _("They find the caption under “My work”."))


@require_http_methods(["GET", "HEAD", "POST"])
def feedback_create(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    """Send feedback about a round in general, and list earlier feedback."""
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    if elsewhere := kept_away(request, round.project, "annotation:project-show", slug):
        return elsewhere
    form = FeedbackForm(request.POST or None, round=round, initial={"person": request.GET.get("person")})
    if form.is_valid():
        try:
            give_feedback(round=round, by=user_of(request), now=timezone.now(), **form.cleaned_data)
        except FeedbackError as refused:
            form.add_error("person", str(refused))
        else:
            messages.success(request, _("Feedback sent. They will see it before their next batch."))
            return redirect("annotation:feedback-create", slug, round_id)
    context = {"project": round.project, "round": round, "form": form, "given": given_in(round)}
    return render(request, "annotation/feedback_create.html", context, status=422 if form.is_bound else 200)


def _back(request: HttpRequest, caption: Caption, said: str = "") -> HttpResponse:
    """Return the updated caption for the page's script, or redirect to its page."""
    if is_htmx(request):
        return _part(request, caption, said=said)
    if said:
        messages.success(request, said)
    show = reverse("annotation:check-show", args=[caption.round.project.slug, caption.round.language_id])
    return redirect(f"{show}?{request.POST.get('back', '')}#caption-{caption.pk}")


def _again(request: HttpRequest, caption: Caption, doing: str, typed: str, problem: str) -> HttpResponse:
    """Keep what was typed, with its errors."""
    about = {"doing": doing, "typed": typed, "problem": problem}
    if is_htmx(request):
        return _part(request, caption, **about)
    context = {"row": selectors.row_of(caption, user_of(request)), "back": request.POST.get("back", ""), **about}
    context |= {"project": caption.round.project, "language": caption.round.language}
    return render(request, "annotation/check_again.html", context, status=422)


def _refused(request: HttpRequest, caption: Caption, problem: str) -> HttpResponse:
    """Say why something about a caption was refused, beside it or on its page."""
    if is_htmx(request):
        return _part(request, caption, said=problem)
    messages.error(request, problem)
    return _back(request, caption)


def _part(request: HttpRequest, caption: Caption, **about: str) -> HttpResponse:
    context = {
        "row": selectors.row_of(caption, user_of(request)),
        "project": caption.round.project,
        "language": caption.round.language,
        "levels": Rating,
        "readers": second_readers(caption.round),
        "back": request.POST.get("back", ""),
        **about,
    }
    return render(request, "annotation/_check_row.html", context)
