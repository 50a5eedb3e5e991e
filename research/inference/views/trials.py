"""Try a model on one image."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from core.people.requests import RefusalsShown, user_of
from research.inference import tasks
from research.inference.forms.runs import TryForm
from research.inference.pages.models import ability_of
from research.inference.permissions import model_for
from research.inference.services import runs as services
from research.inference.services.steering import WorkRefusedError


@require_http_methods(["GET", "HEAD", "POST"])
def model_try(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_for(request.user, model_id)
    ability = ability_of(model)
    sent = request.POST if request.method == "POST" and ability.codes else None
    initial = {name: request.GET[name] for name in ("collection", "key") if name in request.GET}
    form = TryForm(sent, model=model, codes=ability.codes, viewer=user_of(request), initial=initial)
    if form.is_valid():
        with RefusalsShown(form, WorkRefusedError):
            run = services.start_trial(model=model, **form.about, by=user_of(request), now=timezone.now())
            tasks.ask_for_run(run)
            return redirect("inference:run-show", run.pk)
    context = {"model": model, "ability": ability, "form": form}
    return render(request, "inference/trial_create.html", context, status=422 if form.errors else 200)
