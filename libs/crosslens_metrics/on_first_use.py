"""Packages imported when they are first used: they are large, and the platform can be installed without them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import scipy
else:

    class _LatePackage:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    scipy = _LatePackage("scipy")

__all__ = ["scipy"]
