"""The signed-in user and their projects, and the page that documents the API."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.problems import ALL_CODES
from core.people.models import Membership, Project, Role, User
from core.people.permissions import project_for
from core.people.requests import user_of
from core.people.selectors.projects import roles_by_project

api = ApiOperations("people")


def person_asking(request: Request) -> User:
    """Return the person, by token or session; for views that require one."""
    return user_of(request)


def asking_now(request: Request) -> dict[str, Any]:
    """Return who asks, and when, as services take it."""
    return {"by": person_asking(request), "now": timezone.now()}


class NothingView(APIView):
    """Answer 404 for unknown addresses."""

    permission_classes = (AllowAny,)
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise Http404(_("There is nothing at this address."))


class ProjectSerializer(serializers.Serializer[Any]):
    slug = serializers.SlugField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    roles = serializers.ListField(child=serializers.ChoiceField(Role.choices), help_text="Your roles in it.")
    archived_at = serializers.DateTimeField(allow_null=True, help_text="Since when it offers no work; null if it does.")


class SkillSerializer(serializers.Serializer[Any]):
    language = serializers.CharField(help_text="Its tag, BCP 47.")
    level = serializers.CharField()


class MeSerializer(serializers.Serializer[Any]):
    username = serializers.CharField()
    reads_english = serializers.BooleanField()
    languages = SkillSerializer(many=True)


@api.get("me", "Your account", MeSerializer)
def me(request: Request) -> Response:
    user = person_asking(request)
    skills = user.language_skills.order_by("language").values("language", "level")
    account = {"username": user.username, "reads_english": user.reads_english, "languages": list(skills)}
    return Response(MeSerializer(account).data)


@api.list("projects", "Your projects", "ProjectPage", ProjectSerializer)
def project_list(request: Request) -> Response:
    member = Membership.objects.filter(user=person_asking(request)).values("project")
    mine = Project.objects.filter(pk__in=member, deletion=None)
    return page(
        request, [ListPart(0, mine)], order=["pk"], show=lambda rows: projects_shown(person_asking(request), rows)
    )


@api.get("project", "A project", ProjectSerializer)
def project_show(request: Request, slug: str) -> Response:
    return Response(projects_shown(person_asking(request), [project_for(person_asking(request), slug)])[0])


def projects_shown(user: User, projects: Any) -> list[dict[str, Any]]:
    roles = roles_by_project(user, projects)
    return [dict(ProjectSerializer({**vars(project), "roles": roles.get(project.pk, [])}).data) for project in projects]


@require_safe
def docs_show(request: HttpRequest) -> HttpResponse:
    """Show Swagger UI over the schema, and what the codes of refusals mean."""
    return render(request, "api/docs.html", {"codes": sorted(ALL_CODES.items())})
