"""A release as its page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.translation import gettext as _

from annotation.formats.licences import LICENCES
from annotation.models import CaptionState, Release
from annotation.services.release_changes import IMAGE
from core.jobs.models import OPEN_STATES
from core.languages.models import Language
from core.people.pages.addresses import address
from tabular.tables import TEXT, PageTable, TableColumn

SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def release_page(release: Release) -> dict[str, Any]:
    counts, licence = release.counts, LICENCES.get(release.licence)
    changes: Mapping[str, Any] = counts.get("changes", {})
    return {
        "project": release.project,
        "release": release,
        "is_going": release.state in OPEN_STATES,
        "licence": licence.name if licence else release.licence,
        "licence_url": licence.url if licence else "",
        "authors": release.authors.split("\n"),
        "size": size_text(release.archive_bytes),
        "languages": _languages(counts, changes),
        "files": PageTable("release-files", _("Files of the release"), _file_columns(release), counts.get("files", [])),
    }


def _file_columns(release: Release) -> list[TableColumn[Mapping[str, Any]]]:
    def name(file: Mapping[str, Any]) -> str:
        url = address("annotation:release-file", release.project.slug, release.number, file["name"])
        return format_html('<a href="{}" download><bdi>{}</bdi></a>', url, file["name"])

    return [
        TableColumn("file", _("File"), name, kind=TEXT),
        TableColumn("size", _("Size"), lambda file: size_text(file["bytes"])),
        TableColumn(
            "sha256",
            "SHA-256",
            lambda file: format_html('<code class="signature" dir="ltr">{}</code>', file["sha256"]),
            kind=TEXT,
        ),
    ]


def size_text(count: int) -> str:
    for size, unit in SIZES:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return _("%(count)d bytes") % {"count": count}


def _languages(counts: Mapping[str, Any], changes: Mapping[str, Any]) -> PageTable[str]:
    """The languages of a release by their tags, with what was left out and removed, and why."""
    captions: Mapping[str, int] = counts.get("languages", {})
    added, changed, removed = (changes.get(name, {}) for name in ("added", "changed", "removed"))
    names = {tag: language.name for tag, language in Language.objects.in_bulk([*captions, *removed]).items()}
    columns: list[TableColumn[str]] = [
        TableColumn("language", _("Language"), lambda tag: names.get(tag, tag), kind=TEXT),
        TableColumn("captions", _("Captions"), lambda tag: captions.get(tag, 0)),
        TableColumn(
            "left-out", _("Left out"), lambda tag: _reasons(counts.get("left_out", {}).get(tag, {})), kind=TEXT
        ),
    ]
    caption = _("By language")
    if since := changes.get("since"):
        caption = _("By language, with changes since release %(number)s") % {"number": since}
        columns += [
            TableColumn("added", _("Added"), lambda tag: added.get(tag, 0)),
            TableColumn("changed", _("Changed"), lambda tag: changed.get(tag, 0)),
            TableColumn("removed", _("Removed"), lambda tag: _reasons(removed.get(tag, {})), kind=TEXT),
        ]
    rows = sorted({*captions, *removed}, key=lambda tag: (names.get(tag, tag), tag))
    return PageTable("release-languages", caption, columns, rows)


def _reasons(counts: Mapping[str, int]) -> str:
    """Format counts with reasons, as in “3: Consent withdrawn”; empty if there are none."""
    labels: Mapping[str, Any] = {**dict(CaptionState.choices), IMAGE: _("Image left out of results")}
    return ", ".join(
        _("%(reason)s: %(count)d") % {"reason": labels.get(reason, _("No longer part of it")), "count": count}
        for reason, count in counts.items()
    )
