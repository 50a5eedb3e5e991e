"""Try a model on one image."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_safe

from images.rules import limits
from inference import tasks
from inference.forms.trials import TryForm
from inference.models import CaptioningModel
from inference.pages.decoding import decoding_lines
from inference.pages.models import Ability, ability_of
from inference.permissions import model_for, trial_for
from inference.selectors import trials as selectors
from inference.selectors.workers import WORKER_COMMAND
from inference.services import trials as services
from inference.services.runs import RunRefusedError
from people.requests import is_htmx, user_of

FORM_BYTES = limits.MEGABYTE
"""Allowance for the other fields of the form."""


@csrf_exempt  # checked below, once the sender and the size are known
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def model_try(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_for(request.user, model_id)
    ability = ability_of(model)
    if request.method != "POST" or not ability.codes:
        return _form_page(request, model, ability, _form(request, model, ability))
    if int(request.META.get("CONTENT_LENGTH") or 0) > limits.MAX_IMAGE_BYTES + FORM_BYTES:
        error = _("The image is larger than %(limit)s MB. Choose a smaller one.")
        error %= {"limit": limits.MAX_IMAGE_BYTES // limits.MEGABYTE}
        return _form_page(request, model, ability, _form(request, model, ability), error=error, status=413)
    return _start_trial(request, model, ability)


@csrf_protect
def _start_trial(request: HttpRequest, model: CaptioningModel, ability: Ability) -> HttpResponse:
    form = _form(request, model, ability, is_sent=True)
    if form.is_valid():
        try:
            trial = services.start(model=model, **form.about, by=user_of(request), now=timezone.now())
        except RunRefusedError as refused:
            form.add_error(None, str(refused))
        else:
            tasks.ask_for_trial(trial.pk)
            return redirect("inference:trial-show", trial.pk)
    return _form_page(request, model, ability, form, status=422)


def _form(request: HttpRequest, model: CaptioningModel, ability: Ability, *, is_sent: bool = False) -> TryForm:
    sent = (request.POST, request.FILES) if is_sent else (None, None)
    initial = {name: request.GET[name] for name in ("collection", "key") if name in request.GET}
    return TryForm(*sent, model=model, codes=ability.codes, viewer=user_of(request), initial=initial)


def _form_page(
    request: HttpRequest, model: CaptioningModel, ability: Ability, form: TryForm, *, error: str = "", status: int = 200
) -> HttpResponse:
    context = {"model": model, "ability": ability, "form": form, "error": error}
    context["trials"] = selectors.newest_trials(model, user_of(request))
    return render(request, "inference/trial_create.html", context, status=status)


@require_safe
@login_required
def trial_show(request: HttpRequest, trial_id: int) -> HttpResponse:
    """Show the whole page or, to its script, the part that refreshes itself until the trial is done."""
    trial = trial_for(request.user, trial_id)
    details = selectors.trial_details(trial, user_of(request))
    context = {"details": details, "model": trial.model, "decoding": decoding_lines(trial.decoding)}
    queue = services.queue_of(trial.pk) if details.is_open else ""
    if queue and not selectors.is_listened_to(queue, now=timezone.now()):
        context |= {"queue": queue, "command": WORKER_COMMAND.format(queue=queue)}
    return render(request, "inference/_trial_result.html" if is_htmx(request) else "inference/trial.html", context)


@require_safe
@login_required
def trial_image(request: HttpRequest, trial_id: int) -> HttpResponse:
    """Serve the image that was uploaded for a trial to the person who uploaded it."""
    content = selectors.upload_of(trial_for(request.user, trial_id))
    if content is None:
        raise Http404(_("There is no such image."))
    response = HttpResponse(content, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=3600"
    response["X-Content-Type-Options"] = "nosniff"
    return response
