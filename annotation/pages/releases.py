"""A release as its page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.formats.licences import LICENCES
from annotation.models import CaptionState, Release
from annotation.services.release_changes import IMAGE
from images.models import OPEN_STATES
from languages.models import Language

SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


@dataclass(frozen=True)
class LanguageLine:
    """A language of a release. `left_out` and `removed` say how many, and why."""

    name: str
    captions: int
    left_out: str
    added: int
    changed: int
    removed: str


@dataclass(frozen=True)
class FileLine:
    name: str
    size: str
    sha256: str


@dataclass(frozen=True)
class ReleasePage:
    release: Release
    is_going: bool
    is_done: bool
    licence: str
    licence_url: str
    authors: Sequence[str]
    size: str
    since: int | None
    languages: Sequence[LanguageLine]
    files: Sequence[FileLine]


def release_page(release: Release) -> ReleasePage:
    counts, licence = release.counts, LICENCES.get(release.licence)
    changes: Mapping[str, Any] = counts.get("changes", {})
    return ReleasePage(
        release=release,
        is_going=release.state in OPEN_STATES,
        is_done=bool(release.checksum),
        licence=licence.name if licence else release.licence,
        licence_url=licence.url if licence else "",
        authors=release.authors.split("\n"),
        size=size_text(release.archive_bytes),
        since=changes.get("since"),
        languages=_languages(counts, changes),
        files=[FileLine(file["name"], size_text(file["bytes"]), file["sha256"]) for file in counts.get("files", [])],
    )


def size_text(count: int) -> str:
    for size, unit in SIZES:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return _("%(count)d bytes") % {"count": count}


def _languages(counts: Mapping[str, Any], changes: Mapping[str, Any]) -> list[LanguageLine]:
    captions: Mapping[str, int] = counts.get("languages", {})
    removed: Mapping[str, Mapping[str, int]] = changes.get("removed", {})
    languages = Language.objects.in_bulk([*captions, *removed])
    lines = [
        LanguageLine(
            name=languages[tag].name if tag in languages else tag,
            captions=captions.get(tag, 0),
            left_out=_reasons(counts.get("left_out", {}).get(tag, {})),
            added=changes.get("added", {}).get(tag, 0),
            changed=changes.get("changed", {}).get(tag, 0),
            removed=_reasons(removed.get(tag, {})),
        )
        for tag in sorted({*captions, *removed})
    ]
    return sorted(lines, key=lambda line: line.name)


def _reasons(counts: Mapping[str, int]) -> str:
    """Format counts with reasons, as in “3: Consent withdrawn”; empty if there are none."""
    labels: Mapping[str, Any] = {**dict(CaptionState.choices), IMAGE: _("Image left out of results")}
    return ", ".join(
        _("%(reason)s: %(count)d") % {"reason": labels.get(reason, _("No longer part of it")), "count": count}
        for reason, count in counts.items()
    )
