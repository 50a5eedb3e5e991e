"""Packages that an installation may lack, and the extra of `crosslens` that brings each: pyproject.toml."""

from __future__ import annotations

from importlib.util import find_spec

from django.utils.translation import gettext as _

EXTRAS = {
    "choix": "research", "gensim": "research", "ot": "research", "pyarrow": "research", "scipy": "research",
    "HanTa": "game", "duckdb": "game", "regex": "game", "simplemma": "game", "wn": "game",
    "psycopg": "server", "redis": "server", "storages": "server",
}  # fmt: skip
"""By the name under which it is imported."""


def how_to_install_if_missing(package: str) -> str:
    """Return what the user can do if `package` is not installed, before something begins that needs it; else empty."""
    return "" if find_spec(package) else how_to_install(ModuleNotFoundError(name=package))


def how_to_install(error: BaseException | None) -> str:
    """Return what the user can do about an error, if its reason is a package that is not installed."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    extra = EXTRAS.get(package)
    if extra is None:
        return ""
    command = f"pip install 'crosslens[{extra}]'"
    return _("This needs the package %(package)s. Install it with: %(command)s. Then restart Crosslens.") % {
        "package": package,
        "command": command,
    }
