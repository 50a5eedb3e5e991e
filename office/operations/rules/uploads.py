"""How large a request may be: files at the addresses that accept them, little anywhere else."""

from __future__ import annotations

import re

from core.images.rules.limits import MAX_UPLOAD_BYTES, MEGABYTE

MAX_BODY_BYTES = MEGABYTE

UPLOADS = (
    r"^/(collections/[^/]+/images/add"
    r"|api/v1/projects/[^/]+/imports|projects/[^/]+/(import|game/items/import|game/items/[0-9]+/import|plan|comparisons/[0-9]+/gold"
    r"|candidates/import|where-spoken/upload|new-subset|people/invitations/addresses))/$"
)
"""The addresses of forms with a field for files; tools/deploy/Caddyfile repeats it."""

_uploads = re.compile(UPLOADS)
_owner = re.compile(r"^(?:/api/v1)?/(projects|collections)/([-\w]+)/")


def is_upload(path: str) -> bool:
    return _uploads.search(path) is not None


def most_bytes(path: str) -> int:
    return MAX_UPLOAD_BYTES if is_upload(path) else MAX_BODY_BYTES


def owner_of(path: str) -> tuple[str, str]:
    """Return whether the address is of a project or of a collection, and its slug; two empty texts if of neither."""
    owner = _owner.match(path)
    return (owner[1], owner[2]) if owner else ("", "")
