"""Start the training of a model on a project's references."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from core.people.permissions import READERS, project_for
from core.people.requests import RefusalsShown, user_of
from research.inference import tasks
from research.inference.services.steering import WorkRefusedError
from research.scoring.forms import ReferenceTrainingForm
from research.scoring.selectors.setup import reference_sets
from research.scoring.services import training_data


@require_http_methods(["GET", "HEAD", "POST"])
def training_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    sets = list(reference_sets(project))
    asked: dict[str, Any] = {"references": request.GET.getlist("references")}
    form = ReferenceTrainingForm(request.POST or None, by=user_of(request), sets=sets, initial=asked)
    if form.is_valid():
        about = form.cleaned_data
        with RefusalsShown(form, WorkRefusedError):
            training = training_data.start_training(
                name=about["name"],
                base=about["base"],
                features=about.get("features"),
                references=list(about["references"]),
                validation=list(about["validation"]),
                validation_share=about["validation_percent"] / 100,
                leaves_out_evaluated=about["leaves_out_evaluated"],
                options=form.options,
                project=project,
                by=user_of(request),
                now=timezone.now(),
            )
            tasks.ask_for_training(training.pk)
            return redirect("inference:training-show", training.pk)
    context = {"project": project, "form": form}
    return render(request, "scoring/training_create.html", context, status=422 if form.errors else 200)
