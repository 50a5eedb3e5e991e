"""Who sees the navigation of a project, and what that costs."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.test import RequestFactory
from django.urls import resolve, reverse

from core.people.context_processors import navigation
from core.people.models import Membership, Role, User
from core.people.pages.project_navigation import ProjectNavigation
from core.people.rules.project_pages import page_of
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db
ROUTE = "projects/<slug:slug>/"


def request_of(user: User | AnonymousUser, path: str) -> HttpRequest:
    request = RequestFactory().get(path)
    request.user, request.resolver_match = user, resolve(path)
    return request


def navigation_of(user: User | AnonymousUser, path: str) -> ProjectNavigation:
    found = navigation(request_of(user, path))["navigation"]
    assert isinstance(found, ProjectNavigation)
    return found


@pytest.fixture
def project():
    return make_project(slug="lions")


@pytest.fixture
def log_url(project):
    return reverse("people:log-show", args=[project.slug])


@pytest.mark.parametrize(
    ("route", "name"),
    [
        ("", "annotation:project-show"),
        ("languages/<str:tag>/", "annotation:project-show"),
        ("comparisons/<int:comparison_id>/settings/", "sxs_eval:comparison-list"),
        ("comparisons/results/", "sxs_eval:results-show"),
        ("people/<int:pk>/remove/", "people:member-list"),
        ("people/texts/<str:kind>/<str:tag>/", "people:text-list"),
    ],
)
def test_an_address_belongs_to_the_page_with_the_longest_path(route, name):
    page = page_of(ROUTE + route)
    assert page is not None
    assert page.name == name


@pytest.mark.parametrize(
    "route", ["work/", "projects/new/", f"{ROUTE}nowhere/", f"{ROUTE}practice/", "api/v1/projects/"]
)
def test_other_addresses_belong_to_none(route):
    assert page_of(route) is None


def test_a_page_of_a_project_costs_the_one_query_of_the_main_navigation(project, log_url, django_assert_num_queries):
    make_project(slug="tigers", manager=project.created_by)
    with django_assert_num_queries(1):
        found = navigation(request_of(project.created_by, log_url))
        assert found["ways"].manages
        assert found["navigation"]
        assert found["navigation"].project == project.name
        assert [str(link.label) for link in found["navigation"].place] == ["Settings", "Audit log"]


def test_other_pages_cost_none(project, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert not navigation_of(project.created_by, reverse("annotation:work-show"))


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RATER, Role.PLAYER])
def test_who_works_in_a_project_does_not_see_it(project, log_url, role):
    person = make_user()
    Membership.objects.create(project=project, user=person, role=role)
    assert not navigation_of(person, log_url)


def test_nobody_sees_it_in_the_project_of_others(log_url):
    assert not navigation_of(make_project(slug="tigers").created_by, log_url)
    assert not navigation_of(AnonymousUser(), log_url)


def test_a_request_that_no_view_answers_has_none():
    assert not navigation(RequestFactory().get("/projects/lions/"))["navigation"]
