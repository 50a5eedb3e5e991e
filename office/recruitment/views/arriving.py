"""The way of somebody from a panel: in, through, and back with a result."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.account.utils import perform_login
from allauth.core.internal.ratelimit import consume, respond_429
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.people.requests import user_of
from core.people.selectors.texts import newest_consent_text, shown_consent
from core.people.services.consent import StaleConsentError
from core.people.services.lockout import is_known_browser
from office.recruitment.forms import ArrivalForm
from office.recruitment.models import Participant, ParticipantState, Study, WorkRole
from office.recruitment.rules.panels import is_an_id, is_placeholder, return_address
from office.recruitment.selectors.work import batches_done, study_in_progress
from office.recruitment.services.participants import (
    OWN_PARAMETER,
    AccountInUseError,
    AlreadyHereError,
    StudyClosedError,
    UnfinishedError,
    admit_participant,
    earlier_of,
    finish,
    is_more_than_a_participant,
    is_own_address,
)

SCREENED_OUT = "screened_out"
"""In the session of who was screened out, and so has no account: which participant that was."""
WORK = {WorkRole.ANNOTATOR: "annotation:work-show", WorkRole.RATER: "sxs_eval:work-show"}


@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
def study_enter(request: HttpRequest, token: str) -> HttpResponse:
    study = _study_of(token)
    if study is None:
        return _refused(request, "unknown", 404)
    if not _may_arrive(request, study):
        return respond_429(request)
    person = request.GET.get(study.person_parameter, "")
    session = request.GET.get(study.session_parameter)
    if (lacks := _not_filled_in(request, study)) is not None:
        return _refused(request, "unnamed", 400, study, lacks=lacks)
    known = earlier_of(study, person)
    if request.user.is_authenticated and (known is None or known.user_id != request.user.pk):
        return _refused(request, "signed-in", 409, study)
    if known is not None:
        if not _is_proven(request, known):
            return _refused(request, "known", 403, study)
        if known.user is not None and is_more_than_a_participant(known.user):
            return _refused(request, "signed-in", 409, study)
        if known.study_id == study.pk:
            return _welcome_back(request, known)
    text = newest_consent_text(study.project)
    form = ArrivalForm(request.POST or None, study=study, text=text)
    if form.is_valid():
        cleaned = form.cleaned_data
        try:
            participant = admit_participant(
                study=study,
                panel_id=person,
                session_id=session or "",
                levels=form.levels(),
                reads_english=cleaned.get("reads_english", False),
                consent_version=cleaned.get("consent_version"),
                interface_language=get_language() or "",
                earlier=known,
                now=timezone.now(),
            )
        except StudyClosedError:
            return _refused(request, "closed", 410, study)
        except AlreadyHereError:
            return redirect(request.get_full_path())
        except AccountInUseError:
            return _refused(request, "signed-in", 409, study)
        except StaleConsentError as stale:
            form.add_error(None, str(stale))
        else:
            if participant.user is None:
                request.session[SCREENED_OUT] = participant.pk
            return _welcome_back(request, participant)
    if text:
        form.show(text)
    context = {
        "study": study,
        "project": study.project,
        "form": form,
        "text": text,
        "shown": text and shown_consent(text, [study.role], wants_original=request.GET.get("text") == "original"),
    }
    return render(request, "recruitment/arrive.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def study_finish(request: HttpRequest) -> HttpResponse:
    """Show how far somebody is, end their work, and lead them back to the panel."""
    user = user_of(request)
    participant = study_in_progress(user)
    if participant is None:
        ended = user.participations.select_related("study__project").order_by("ended_at", "pk").last()
        return _end_page(request, ended) if ended else redirect("people:home-show")
    if request.method == "POST":
        try:
            leaves = request.POST.get("leave") == "1"
            return _end_page(request, finish(participant=participant, leaves=leaves, now=timezone.now()))
        except UnfinishedError:
            messages.warning(request, _("You have not submitted all batches yet."))
            return redirect("recruitment:study-finish")
    context = {"participant": participant, "done": batches_done(participant), "study": participant.study}
    return render(request, "recruitment/finish.html", context | {"work": WORK[WorkRole(participant.study.role)]})


def _study_of(token: str) -> Study | None:
    # PostgreSQL cannot even look up a text with a NUL in it.
    return Study.objects.select_related("project").filter(token=token).first() if token.isprintable() else None


def _not_filled_in(request: HttpRequest, study: Study) -> str | None:
    """Return the parameter that the panel has not put anything of the person into; None if there is none."""
    if not is_an_id(request.GET.get(study.person_parameter, "")):
        return study.person_parameter
    if study.session_parameter in request.GET and not is_an_id(request.GET[study.session_parameter]):
        return study.session_parameter
    given = [(name, value) for name, values in request.GET.lists() if name != OWN_PARAMETER for value in values]
    return next((name for name, value in given if is_placeholder(value)), None)


def _may_arrive(request: HttpRequest, study: Study) -> bool:
    """Count the arrivals from each address of the network: somebody may try names of others."""
    key = f"{study.pk} {get_adapter().get_client_ip(request)}"
    return consume(request, app="allauth.account", action="arrive", key=key, limit_get=True) is not None


def _is_proven(request: HttpRequest, participant: Participant) -> bool:
    """Whether it is the person who arrives, and not somebody who knows the panel's name of them.

    The browser is signed in or was once, or it has the address that a manager got for the person.
    """
    if participant.user is None:
        return request.session.get(SCREENED_OUT) == participant.pk
    is_here = request.user.pk == participant.user_id or is_known_browser(request, participant.user.username)
    return is_here or is_own_address(request.GET.get(OWN_PARAMETER, ""), participant)


def _welcome_back(request: HttpRequest, participant: Participant) -> HttpResponse:
    """Sign a person in, to where they left off."""
    user = participant.user
    if user is None or not user.is_active:
        return _end_page(request, participant)
    is_over = participant.state != ParticipantState.WORKING
    there = reverse("recruitment:study-finish" if is_over else WORK[WorkRole(participant.study.role)])
    if request.user.is_authenticated:
        return redirect(there)
    return perform_login(request, user, email_verification="none", redirect_url=there)


def _end_page(request: HttpRequest, participant: Participant) -> HttpResponse:
    study = participant.study
    template = {
        ParticipantState.DONE: study.done_url,
        ParticipantState.SCREENED_OUT: study.screened_out_url,
        ParticipantState.FAILED: study.failed_url,
    }.get(ParticipantState(participant.state), "")
    address = return_address(template, person=participant.panel_id, session=participant.session_id)
    return render(request, "recruitment/end.html", {"participant": participant, "study": study, "address": address})


def _refused(request: HttpRequest, why: str, status: int, study: Study | None = None, lacks: str = "") -> HttpResponse:
    context = {"why": why, "study": study, "lacks": lacks}
    return render(request, "recruitment/refused.html", context, status=status)
