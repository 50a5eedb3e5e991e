"""The campaign of one language: its rounds, step by step, and decisions about those who work on it."""

from __future__ import annotations

from collections.abc import Callable
from random import SystemRandom
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import tasks
from annotation.forms.campaign import AnnotatorDecision, DecisionForm, PilotForm, ReasonForm, SampleForm, StepForm
from annotation.models import Exclusion, Round
from annotation.permissions import has_assigned_images, language_of, round_of
from annotation.rules.campaign import VERIFIED_CAPTIONS, RoundAction, UnfinishedBatches
from annotation.selectors import campaign as selectors
from annotation.selectors.checks import newest_of
from annotation.services import annotator_status, planning
from annotation.services import campaign as services
from annotation.views.bulk import say_done
from core.languages.models import Language
from core.people.models import Project, Role, User
from core.people.requests import RefusalsShown, user_of

SEED_BITS = 32
STATUS, EXCLUSION = "annotation/annotator_status.html", "annotation/exclusion.html"


@require_safe
def language_show(request: HttpRequest, slug: str, tag: str) -> HttpResponse:
    project, language = language_of(request.user, slug, tag)
    return _page(request, project, language)


@require_safe
def language_progress(request: HttpRequest, slug: str, tag: str) -> HttpResponse:
    """Render the part of the page with each round's progress, which is refreshed regularly."""
    project, language = language_of(request.user, slug, tag)
    page = selectors.language_page(project, language, now=timezone.now())
    return render(request, "annotation/_campaign_figures.html", {"project": project, "page": page, "is_update": True})


@require_POST
def round_step(request: HttpRequest, slug: str, round_id: int, action: str) -> HttpResponse:
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    if action not in RoundAction.values:
        raise Http404(_("There is no such action."))
    form = StepForm(request.POST, action=RoundAction(action))
    if not form.is_valid():
        return _again(request, round, action, _("Give a reason that others will understand later."))
    try:
        done = services.take_step(
            round=round, action=RoundAction(action), by=user_of(request), now=timezone.now(), **form.answers()
        )
    except services.StepNotAllowedError as refused:
        return _again(request, round, action, str(refused))
    if done.awaits_tasks:
        tasks.nudge_filling([done.pk])
    back = reverse("annotation:language-show", args=[slug, round.language_id])
    undo = [done] if action in (RoundAction.CLOSE, RoundAction.ACCEPT) else []
    say_done(request, round.project, f"{done.title}: {done.get_state_display()}.", undo, back=back)
    return redirect(back)


@require_POST
def round_return_batches(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    with RefusalsShown(request, services.StepNotAllowedError):
        number = services.take_back(round=round, by=user_of(request), now=timezone.now())
        text = ngettext("%(number)d batch was returned.", "%(number)d batches were returned.", number)
        messages.success(request, text % {"number": number})
    return redirect("annotation:language-show", slug, round.language_id)


@require_POST
def pilot_plan(request: HttpRequest, slug: str, tag: str) -> HttpResponse:
    project, language = language_of(request.user, slug, tag, Role.MANAGER)
    form = PilotForm(request.POST, most=selectors.images_to_draw(project, language))
    if not form.is_valid():
        return _page(request, project, language, pilot_form=form)
    about: dict[str, Any] = {"project": project, "language": language, "seed": _new_seed()}
    with RefusalsShown(request, services.StepNotAllowedError):
        pilot = planning.plan_pilot(**about, **form.cleaned_data, by=user_of(request), now=timezone.now())
        said = _("%(round)s is planned. Open it when the guidelines are ready.")
        messages.success(request, said % {"round": pilot.title})
    return redirect("annotation:language-show", slug, tag)


@require_POST
def pilot_skip(request: HttpRequest, slug: str, tag: str) -> HttpResponse:
    project, language = language_of(request.user, slug, tag, Role.MANAGER)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, project, language, skip_form=form)
    reason = form.cleaned_data["reason"]
    with RefusalsShown(request, services.StepNotAllowedError):
        planning.skip_pilot(project=project, language=language, reason=reason, by=user_of(request), now=timezone.now())
        messages.success(request, _("There will be no further pilot. You can now open the main round."))
    return redirect("annotation:language-show", slug, tag)


@require_POST
def verification_plan(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    form = SampleForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Enter how many captions to rate, or leave the field empty for all."))
        return redirect("annotation:language-show", slug, round.language_id)
    with RefusalsShown(request, services.StepNotAllowedError):
        planning.plan_verification(
            of=round, seed=_new_seed(), **form.cleaned_data, by=user_of(request), now=timezone.now()
        )
    return redirect("annotation:language-show", slug, round.language_id)


@require_safe
def annotator_status_show(request: HttpRequest, slug: str, tag: str, person_id: int) -> HttpResponse:
    project, language = language_of(request.user, slug, tag, Role.MANAGER)
    return _person_page(request, STATUS, project, language, _person(project, language, person_id), DecisionForm())


@require_http_methods(["GET", "HEAD", "POST"])
def annotator_status_decide(request: HttpRequest, slug: str, tag: str, person_id: int) -> HttpResponse:
    """Decide about somebody; asked for without a decision, say what excluding their work would do."""
    project, language = language_of(request.user, slug, tag, Role.MANAGER)
    person = _person(project, language, person_id)
    if request.method != "POST":
        return _person_page(request, EXCLUSION, project, language, person, ReasonForm())
    form = DecisionForm(request.POST)
    if not form.is_valid() and request.POST.get("decision") == AnnotatorDecision.EXCLUDE:
        return _person_page(request, EXCLUSION, project, language, person, ReasonForm(request.POST))
    if not form.is_valid():
        return _person_page(request, STATUS, project, language, person, form)
    about: dict[str, Any] = {"project": project, "language": language, "person": person}
    decision, reason = AnnotatorDecision(form.cleaned_data["decision"]), form.cleaned_data["reason"]
    message = _DECISIONS[decision](about, reason, {"by": user_of(request), "now": timezone.now()})
    messages.success(request, f"{person.username}: {message}")
    return redirect("annotation:language-show", slug, tag)


def _page(
    request: HttpRequest, project: Project, language: Language, *, status: int = 200, **forms: Any
) -> HttpResponse:
    is_refused = any(name.endswith("_form") for name in forms)
    page = selectors.language_page(project, language, now=timezone.now())
    context = {
        "project": project,
        "language": language,
        "page": page,
        "pilot_form": PilotForm(initial={"sample_size": page.pilot_images}),
        "skip_form": ReasonForm(),
        "sample_form": SampleForm(initial={"sample_size": VERIFIED_CAPTIONS}),
        "assigned_choices": UnfinishedBatches,
    }
    return render(request, "annotation/language.html", context | forms, status=422 if is_refused else status)


def _again(request: HttpRequest, round: Round, action: str, why: str) -> HttpResponse:
    """Show the page again, with what was typed and why the step was refused."""
    messages.error(request, f"{round.title}: {why}")
    typed = {"round": round.pk, "action": action, "reason": request.POST.get("reason", "")}
    return _page(request, round.project, round.language, status=409, typed=typed)


def _person_page(
    request: HttpRequest, template: str, project: Project, language: Language, person: User, form: Form
) -> HttpResponse:
    """Show what somebody did in a language and the decisions about them, or what excluding their work would do."""
    about = {"project": project, "language": language, "person": person}
    context = {
        "project": project,
        "language": language,
        "row": selectors.person_row(project, language, person, now=timezone.now()),
        "form": form,
        # People who write about images of the project must not see others' captions.
        "samples": [] if has_assigned_images(user_of(request), project) else newest_of(project, language, person),
        "history": Exclusion.objects.filter(**about, undone_at__isnull=False),
    }
    return render(request, template, context, status=422 if form.is_bound else 200)


def _person(project: Project, language: Language, person_id: int) -> User:
    return get_object_or_404(User.objects.filter(selectors.may_be_decided_about(project, language)), pk=person_id)


def _new_seed() -> int:
    return SystemRandom().getrandbits(SEED_BITS)


def _qualify(about: dict[str, Any], reason: str, who: dict[str, Any]) -> str:
    annotator_status.qualify(reason=reason, **about, **who)
    return _("qualified.")


def _pause(about: dict[str, Any], reason: str, who: dict[str, Any]) -> str:
    number = annotator_status.pause(reason=reason, **about, **who)
    text = ngettext(
        "paused; %(number)d unfinished batch was returned.",
        "paused; %(number)d unfinished batches were returned.",
        number,
    )
    return text % {"number": number}


def _lift(about: dict[str, Any], reason: str, who: dict[str, Any]) -> str:
    back = annotator_status.undo_decision(**about, **who)
    return _("qualified again.") if back else _("the decision was withdrawn.")


def _exclude(about: dict[str, Any], reason: str, who: dict[str, Any]) -> str:
    exclusion = annotator_status.exclude(reason=reason, **about, **who)
    text = ngettext(
        "%(number)d caption no longer counts; somebody else can write it.",
        "%(number)d captions no longer count; others can write them.",
        exclusion.captions,
    )
    return text % {"number": exclusion.captions}


def _undo(about: dict[str, Any], reason: str, who: dict[str, Any]) -> str:
    exclusion = Exclusion.objects.filter(undone_at=None, **about).first()
    if exclusion is None:
        return _("nothing was excluded.")
    undone = annotator_status.undo_exclusion(exclusion=exclusion, **who)
    text = ngettext("%(number)d caption counts again.", "%(number)d captions count again.", undone.restored)
    said = text % {"number": undone.restored}
    if undone.left_out:
        stay = ngettext(
            "%(number)d stays excluded because somebody else has written it since.",
            "%(number)d stay excluded because others have written them since.",
            undone.left_out,
        )
        said = f"{said} {stay % {'number': undone.left_out}}"
    return said


_DECISIONS: dict[AnnotatorDecision, Callable[[dict[str, Any], str, dict[str, Any]], str]] = {
    AnnotatorDecision.QUALIFY: _qualify,
    AnnotatorDecision.PAUSE: _pause,
    AnnotatorDecision.LIFT: _lift,
    AnnotatorDecision.EXCLUDE: _exclude,
    AnnotatorDecision.UNDO: _undo,
}
