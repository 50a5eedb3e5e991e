"""Copy a project, take an image out of its collection, leave it out of results, count it again."""

from __future__ import annotations

from random import SystemRandom
from uuid import UUID

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.tasks import nudge_filling
from core.images.api.images import CollectionImageSerializer, image_answer, image_change, image_show
from core.images.models import CollectionImage
from core.images.permissions import collection_to_change, entry_of
from core.images.services.collections import CollectionUsedError
from core.people.api.forms import form_shape, sent_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import explain, refused_as
from core.people.api.views import ProjectSerializer, asking_now, person_asking, projects_shown
from core.people.models import Role
from core.people.permissions import project_for
from office.dashboard.forms import CopyForm, LeaveOutForm
from office.dashboard.selectors.project_contents import copyable
from office.dashboard.services import projects as services

api = ApiOperations("projects")
of_images = ApiOperations("collections")
SEED_BITS = 31
explain({"image-in-use": "Something was made of the image in this collection, so that it cannot be taken out."})

ProjectCopySerializer = form_shape("ProjectCopy", CopyForm)
LeftOutImageSerializer = form_shape("LeftOutImage", LeaveOutForm)


@api.post(
    "project_duplicate",
    "Start a project with the texts and settings of another",
    {201: ProjectSerializer},
    request=ProjectCopySerializer,
    description="Its languages begin again where collections and models are shared with all. You alone are in it.",
    is_for_archived=True,
)
def project_duplicate(request: Request, slug: str) -> Response:
    by = person_asking(request)
    project = project_for(by, slug, Role.MANAGER)
    form = sent_form(request, ProjectCopySerializer, CopyForm)
    languages, _others = copyable(project)
    made = services.duplicate_project(
        project=project,
        name=form.cleaned_data["name"],
        languages=languages,
        seed=SystemRandom().getrandbits(SEED_BITS),
        by=by,
        now=timezone.now(),
    )
    nudge_filling(list(made.rounds.filter(awaits_tasks=True).values_list("pk", flat=True)))
    return Response(projects_shown(by, [made])[0], status=201)


@of_images.delete(
    "image_take_out",
    "Take an image of which nothing was made out of its collection",
    description="The image stays stored, with what models wrote about it.",
)
def image_take_out(request: Request, slug: str, public_id: UUID) -> Response:
    with refused_as("image-in-use", CollectionUsedError):
        services.take_out_image(entry=_entry(request, slug, public_id), **asking_now(request))
    return Response(status=204)


@of_images.post(
    "image_leave_out",
    "Leave an image out of results",
    {200: CollectionImageSerializer},
    request=LeftOutImageSerializer,
)
def image_leave_out(request: Request, slug: str, public_id: UUID) -> Response:
    entry = _entry(request, slug, public_id)
    form = sent_form(request, LeftOutImageSerializer, LeaveOutForm)
    services.leave_out_image(entry=entry, reason=form.cleaned_data["reason"], **asking_now(request))
    return image_answer(_entry(request, slug, public_id), person_asking(request))


@of_images.post("image_count", "Count an image in results again", {200: CollectionImageSerializer})
def image_count(request: Request, slug: str, public_id: UUID) -> Response:
    services.count_image_again(entry=_entry(request, slug, public_id), **asking_now(request))
    return image_answer(_entry(request, slug, public_id), person_asking(request))


def _entry(request: Request, slug: str, public_id: UUID) -> CollectionImage:
    return entry_of(collection_to_change(person_asking(request), slug), public_id)


image_show_change_or_take_out = one_address(image_show, image_change, image_take_out)
