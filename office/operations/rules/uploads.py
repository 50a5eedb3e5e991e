"""How large a request may be: files at the addresses that accept them, little anywhere else."""

from __future__ import annotations

import re

from core.images.rules.limits import MAX_UPLOAD_BYTES, MEGABYTE

MAX_BODY_BYTES = MEGABYTE

UPLOADS = (
    r"^/(api/v1/projects/[^/]+/imports|projects/[^/]+/(import|plan|comparisons/[0-9]+/gold"
    r"|where-spoken/upload|new-subset|people/invitations/addresses))/$"
)
"""The addresses of forms with a field for files; tools/deploy/Caddyfile repeats it."""

_uploads = re.compile(UPLOADS)
_project = re.compile(r"^(?:/api/v1)?/projects/([-\w]+)/")


def is_upload(path: str) -> bool:
    return _uploads.search(path) is not None


def most_bytes(path: str) -> int:
    return MAX_UPLOAD_BYTES if is_upload(path) else MAX_BODY_BYTES


def project_at(path: str) -> str:
    """Return the slug of the project that the address is of, or "" if it is of none."""
    project = _project.match(path)
    return project[1] if project else ""
