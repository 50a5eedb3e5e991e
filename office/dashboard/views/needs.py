"""What needs somebody: the page, its number for the navigation, and putting away what failed; and search."""

from __future__ import annotations

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from core.people.models import User
from core.people.permissions import check_reader
from core.people.requests import is_htmx, user_of
from office.dashboard.selectors.needs import needs_of, number_of
from office.dashboard.selectors.search import MAX_QUERY_CHARACTERS, search
from office.dashboard.services.choices import dismiss_need

KEPT_S = 60
"""How long the number in the navigation may be old; the page itself is computed each time."""
MAX_ABOUT_CHARACTERS = 80


@require_safe
def need_list(request: HttpRequest) -> HttpResponse:
    user = _who_has_projects(request)
    listed = needs_of(user, now=timezone.now())
    return render(request, "dashboard/needs.html", {"listed": listed, "needs_number": number_of(listed)})


@require_safe
@never_cache
def need_count(request: HttpRequest) -> HttpResponse:
    """Answer with the number alone."""
    user = _who_has_projects(request)
    number = cache.get(_key(user))
    if number is None:
        number = number_of(needs_of(user, now=timezone.now()))
        cache.set(_key(user), number, KEPT_S)
    return HttpResponse(str(number), content_type="text/plain")


@require_POST
def need_dismiss(request: HttpRequest) -> HttpResponse:
    user = _who_has_projects(request)
    about = request.POST.get("about", "")[:MAX_ABOUT_CHARACTERS]
    if about and "\0" not in about:
        dismiss_need(person=user, about=about, now=timezone.now())
        cache.delete(_key(user))
    return redirect("dashboard:need-list")


def _who_has_projects(request: HttpRequest) -> User:
    """Raises Http404: the user neither manages a project nor does research in one."""
    check_reader(request.user)
    return user_of(request)


def _key(user: User) -> str:
    return f"needs:{user.pk}"


@require_safe
def search_show(request: HttpRequest) -> HttpResponse:
    check_reader(user_of(request))
    words, here = request.GET.get("q", ""), request.GET.get("project", "")
    context = {
        "words": words,
        "here": here,
        "longest": MAX_QUERY_CHARACTERS,
        "groups": search(user_of(request), words, here=here),
    }
    return render(request, "dashboard/_search_results.html" if is_htmx(request) else "dashboard/search.html", context)
