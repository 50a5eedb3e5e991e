"""How static files are named when they are served."""

from __future__ import annotations

from typing import Any, ClassVar

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Our own scripts ask for the modules they import by hashed names, so that old and new ones are never mixed.

    Django can do so for all scripts at once, but stumbles over what other packages bring.
    """

    patterns: ClassVar[Any] = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("js/*.js", ((r"""(?P<matched>from "(?P<url>\./[\w.]+)")""", 'from "%(url)s"'),)),
    )
