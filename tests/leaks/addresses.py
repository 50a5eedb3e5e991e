"""The addresses of the URL configuration, filled with what somebody could know or guess."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any
from urllib.parse import urlsplit

from django.test import override_settings
from django.urls import Resolver404, URLPattern, get_resolver, resolve
from django.utils.regex_helper import normalize

GUESSED: Mapping[str, Sequence[object]] = {
    **dict.fromkeys(
        (
            *(
                "position",
                "round_id",
                "job_id",
                "caption_id",
                "feedback_id",
                "reading_id",
                "comparison_id",
                "item_set_id",
                "item_id",
            ),
            *(
                "player_id",
                "gold_id",
                "scoring_id",
                "model_id",
                "run_id",
                "training_id",
                "set_id",
                "pk",
                "token_id",
                "study_id",
                "attempt_id",
            ),
            *(
                "webhook_id",
                "delivery_id",
                "reported_id",
                "thread_id",
                "answer_id",
                "number",
                "content_type_id",
                "image_number",
            ),
        ),
        (1,),
    ),
    **dict.fromkeys(
        ("signature", "handle", "token", "key", "season_slug", "list_slug", "subset_slug", "pseudonym"), ("guessed",)
    ),
    "tag": ["de"],
    "uidb36": ["1"],
    "job": ["release-1"],
    "name": ["manifest.json"],
    "action": ["close", "open"],
    "api:run-step action": ["pause"],
    "api:training-step action": ["pause"],
    "api:panel-step action": ["pause"],
    "recruitment:panel-act action": ["pause"],
    "kind": ["rating"],
    "organization_slug": ["guessed"],
    "provider_id": ["guessed"],
}
"""What anybody can put for an argument."""


class Unfillable(Exception):
    """A pattern has an argument that nobody told the walk values for."""


@dataclass(frozen=True)
class Route:
    """A pattern of the URL configuration; `template` has a %(name)s for each argument."""

    name: str
    template: str
    arguments: Sequence[str]

    def addresses(self, known: Mapping[str, Sequence[object]]) -> list[str]:
        """The pattern with every combination of values in `known`, by "name" or "route name".

        Raises
        ------
        Unfillable
        """
        choices = []
        for argument in self.arguments:
            values = known.get(f"{self.name} {argument}") or known.get(argument)
            if not values:
                raise Unfillable(
                    f"The walk does not know what to put for <{argument}> of /{self.template} ({self.name}). Add to "
                    f"World.known in tests/leaks/annotators.py, under {argument!r}, what one could know or guess."
                )
            choices.append(values)
        return ["/" + self.template % dict(zip(self.arguments, chosen, strict=True)) for chosen in product(*choices)]


urlpatterns: list[Any] = []


@contextmanager
def serving(*patterns: Any) -> Iterator[None]:
    """Serve these addresses and no others."""
    urlpatterns[:] = patterns
    name_of.cache_clear()
    with override_settings(ROOT_URLCONF=__name__):
        yield
    name_of.cache_clear()


def routes() -> list[Route]:
    """All patterns of the URL configuration in force."""
    return list(_routes(get_resolver().url_patterns, "", ()))


def routes_of(*beginnings: str) -> list[Route]:
    """Those whose name begins so; a beginning that none has would choose nothing without a word.

    Raises
    ------
    AssertionError
    """
    found = {beginning: [route for route in routes() if route.name.startswith(beginning)] for beginning in beginnings}
    assert all(found.values()), f"no address is named {[one for one in found if not found[one]]}"
    return [route for chosen in found.values() for route in chosen]


def _routes(patterns: Sequence[Any], prefix: str, namespaces: tuple[str, ...]) -> Iterator[Route]:
    for pattern in patterns:
        regex = prefix + pattern.pattern.regex.pattern.removeprefix("^")
        if not isinstance(pattern, URLPattern):
            inner = (*namespaces, pattern.namespace) if pattern.namespace else namespaces
            yield from _routes(pattern.url_patterns, regex, inner)
            continue
        for template, arguments in normalize(regex):
            yield Route(":".join((*namespaces, pattern.name or template)), template, arguments)


@cache
def name_of(address: str) -> str:
    """The name of the route that `address` belongs to, or the address where it belongs to none."""
    try:
        return resolve(urlsplit(address).path).view_name
    except Resolver404:
        return address
