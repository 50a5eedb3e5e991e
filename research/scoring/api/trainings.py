"""Start a training of a captioning model on references of a project."""

from __future__ import annotations

from functools import partial

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import form_shape, sent_form
from core.people.api.operations import ApiOperations
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from research.inference.api.runs import work_refusals
from research.inference.api.trainings import TrainingSerializer, training_started
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.scoring.forms.references import ReferenceTrainingForm
from research.scoring.selectors.setup import reference_sets
from research.scoring.services.training_data import start_training

api = ApiOperations("models")

NewTrainingSerializer = form_shape(
    "NewTraining",
    ReferenceTrainingForm,
    filled=None,
    name=serializers.CharField(max_length=MAX_MODEL_NAME_CHARACTERS, help_text="Of the model that is made."),
    references=serializers.ListField(child=serializers.CharField(), help_text="IDs of the captions to learn from."),
    validation=serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="IDs, with other images. Without any, some images of those above are kept for validation.",
    ),
)


@api.post(
    "training_start",
    "Train a captioning model on references",
    {202: TrainingSerializer},
    request=NewTrainingSerializer,
)
def training_start(request: Request, slug: str) -> Response:
    by = person_asking(request)
    project = project_for(by, slug, *READERS)
    make = partial(ReferenceTrainingForm, by=by, sets=list(reference_sets(project)))
    form = sent_form(request, NewTrainingSerializer, make)
    with work_refusals():
        training = start_training(**form.about(), project=project, by=by, now=timezone.now())
    return training_started(training)
