"""Views and functions that are imported when somebody first calls them.

All views together import most of the platform, which takes longer than Django itself. Commands and workers answer no
requests, and need only the addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

from django.core.checks import CheckMessage
from django.urls import ResolverMatch, URLPattern
from django.urls.resolvers import RegexPattern, RoutePattern

OF_API_VIEWS = frozenset({"cls", "initkwargs", "actions"})
"""What the schema of the API reads from the view of an address."""


class LazyModule:
    """Stands for a module: `LazyModule("people.views.home").home_show` is a view that is not imported yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> LazyCall:
        if name.startswith("__"):
            raise AttributeError(name)
        return LazyCall(self._name, name)


class LazyCall:
    """A function that is imported when it is called, or a class of views with the options for its `as_view`."""

    def __init__(self, module: str, name: str, options: Mapping[str, Any] | None = None) -> None:
        self.path, self._module, self._name, self._options = f"{module}.{name}", module, name, options

    def as_view(self, **options: Any) -> LazyCall:
        return LazyCall(self._module, self._name, options)

    def load(self) -> Any:
        made = getattr(import_module(self._module), self._name)
        return made if self._options is None else made.as_view(**self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.load()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in OF_API_VIEWS:
            return getattr(self.load(), name)
        raise AttributeError(name)


class LazyPattern(URLPattern):
    """Imports its view when it first matches, so that middleware is given the view itself."""

    def resolve(self, path: str) -> ResolverMatch | None:
        if isinstance(self.callback, LazyCall) and self.pattern.match(path):
            self.callback = self.callback.load()
        return super().resolve(path)

    @cached_property
    def lookup_str(self) -> str:
        return self.callback.path if isinstance(self.callback, LazyCall) else super().lookup_str

    def _check_callback(self) -> list[CheckMessage]:
        """Leave it to tests/test_starting.py: each command checks all addresses before it runs."""
        return []


def path(route: str, view: LazyCall, name: str | None = None) -> LazyPattern:
    """Do what Django's `path` does, for a view that is not imported yet."""
    return LazyPattern(RoutePattern(route, name=name, is_endpoint=True), view, None, name)


def re_path(regex: str, view: LazyCall, name: str | None = None) -> LazyPattern:
    """Do what Django's `re_path` does, for a view that is not imported yet."""
    return LazyPattern(RegexPattern(regex, name=name, is_endpoint=True), view, None, name)
