"""The texts of a release, with their figures from the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import translation

from annotation.formats import release_documents as documents
from annotation.formats.archives import FileFacts
from annotation.formats.croissant import CROISSANT, croissant_text
from annotation.formats.release_images import WITH_IMAGES
from annotation.formats.release_tables import (
    AUTHORS_SINCE,
    CROISSANT_SINCE,
    LEVELS,
    PLACES_SINCE,
    TABLES,
    TRANSLATIONS_SINCE,
    csv_columns,
    quality_columns,
    tables_of,
)
from annotation.models import (
    CaptionBatch,
    CaptionTask,
    GuidelineExample,
    Guidelines,
    Release,
    Round,
    RoundKind,
    RoundState,
    VerificationBatch,
)
from annotation.rules.releases import LICENCES
from annotation.services.release_contents import REASONS, LanguageContents, ReleaseChanges, ReleaseContents
from core.images.models import CollectionImage
from core.languages.rules.page_languages import code_of
from core.people.models import ConsentText, TextKind, TextTranslation
from core.people.selectors.texts import english_text, filled_text
from crosslens_metrics.caption_stats import COLUMNS as STATISTICS
from crosslens_metrics.quality import CaptionShare, QualityCounts, ordinal_alpha, quality_of
from crosslens_metrics.reports.figures import percent_text
from crosslens_metrics.sampling.intervals import Interval
from tabular.downloads import as_iso, csv_line

DAY_CHARACTERS = 10
"""Format a time in ISO 8601."""

PILOT_STATES = {
    RoundState.ACCEPTED: "accepted",
    RoundState.REJECTED: "not good enough",
    RoundState.SKIPPED: "skipped",
}
ON_WITHDRAWAL = {
    "keep": "answers given before stay, under a pseudonym",
    "remove": "answers given before are in no later release",
    "choose": "people choose whether their answers stay under a pseudonym or are in no later release",
}


def write_texts(release: Release, folder: Path, contents: ReleaseContents, changes: ReleaseChanges | None) -> None:
    authors = release.authors.split("\n")
    names = {round.language_id: round.language.english_name for round in contents.rounds}
    until = as_iso(release.until)[:DAY_CHARACTERS]
    images = sorted(contents.image_licences.items())
    files = {
        **{f"guidelines/{version}.md": text for version, text in _guidelines(release, contents)},
        **dict(_translations(release, contents)),
        **{
            f"consent/{text.version}.md": f"{english_text(TextKind.CONSENT, text.body, text.values).strip()}\n"
            for text in _consents(release)
        },
    }
    levels = {}
    if contents.places.levels:
        rows = ([tag, *counts.values()] for tag, counts in contents.places.levels.items())
        levels["levels.csv"] = "".join(map(csv_line, [LEVELS, *rows]))
    texts = {
        "DATASHEET.md": _datasheet(release, contents),
        "LICENSE": documents.licence_text(
            release.licence,
            title=release.title,
            authors=authors,
            year=release.until.year,
            images=images,
            has_images=bool(contents.with_images),
        ),
        "CITATION.cff": documents.citation(
            title=release.title,
            authors=authors,
            number=release.number,
            spdx=release.licence,
            released=until,
            languages=list(names.values()),
            abstract=release.description,
        ),
        "README.md": documents.readme(
            title=release.title,
            number=release.number,
            spdx=release.licence,
            languages=names,
            captions=len(contents.captions),
            images=contents.images,
            # `datasets` raises an error for a table without rows.
            filled=[name for name, rows in zip(TABLES, _rows(contents), strict=True) if rows],
            there=[
                *(["changes.csv"] if changes else []),
                *([CROISSANT] if release.format >= CROISSANT_SINCE else []),
                *levels,
                *([WITH_IMAGES] if contents.with_images else []),
                *{name.partition("/")[0] for name in files},
            ],
            tables=tables_of(format=release.format, has_coordinates=release.has_coordinates),
            csv_tables=csv_columns(release.format),
        ),
        "CHANGES.md": changes_text(release, changes, names),
        "quality.csv": "".join(map(csv_line, _quality(contents, format=release.format))),
        "statistics.csv": "".join(map(csv_line, [STATISTICS, *_statistics(contents)])),
        **levels,
        **files,
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def croissant_of(release: Release, contents: ReleaseContents, files: list[FileFacts]) -> str:
    """Return croissant.json, given the other files."""
    rounds, by_language = contents.rounds, contents.by_language.values()
    written = sum(each.statistics.captions - each.from_files for each in by_language)
    annotators, reviewers = (len(set[str]().union(*people)) for people in _people(contents))
    tables = tables_of(format=release.format, has_coordinates=release.has_coordinates)
    filled = {name: tables[name] for name, rows in zip(TABLES, _rows(contents), strict=True) if rows}
    models = CaptionTask.objects.filter(round__in=rounds).order_by().values_list("english__model__name", flat=True)
    about: dict[str, Any] = {
        "name": release.title,
        "description": release.description or f"Captions of images in {len(by_language)} languages.",
        "url": "README.md",
        "license": LICENCES[release.licence].url,
        "creator": [{"@type": "sc:Organization", "name": name} for name in release.authors.split("\n")],
        "datePublished": as_iso(release.until)[:DAY_CHARACTERS],
        "version": f"{release.number}.0.0",
        "inLanguage": list(contents.by_language),
        "citeAs": f"{release.authors.replace(chr(10), '; ')} ({release.until.year}). {release.title}, release "
        f"{release.number}.",
        "rai:dataCollection": (
            "People rated English captions by models, and then described the same images in their language without "
            "seeing the English captions."
            if written
            else "All captions come from files."
        ),
        "rai:dataCollectionType": "Manual Human Curator" if written else "Secondary Data Analysis",
        "rai:dataCollectionTimeframe": [day for day in (contents.first_day, contents.last_day) if day],
        "rai:annotatorDemographics": f"{annotators} annotators, who say that they read English and are native or "
        f"fluent in the language, and {reviewers} reviewers. Nothing more is recorded.",
        "rai:machineAnnotationTools": sorted(name for name in models.distinct() if name),
    }
    return croissant_text(about, files=files, tables=filled, has_images=bool(contents.with_images))


def _people(contents: ReleaseContents) -> tuple[list[set[str]], list[set[str]]]:
    """Return the annotators and the reviewers of each language."""
    by_language = contents.by_language.values()
    return [each.annotators for each in by_language], [each.reviewers for each in by_language]


def _rows(contents: ReleaseContents) -> tuple[int, ...]:
    """Count the rows of each of TABLES."""
    return len(contents.captions), contents.verdicts, contents.english_ratings, contents.images


def changes_text(release: Release, changes: ReleaseChanges | None, names: dict[str, str]) -> str:
    lines = [f"# Changes in release {release.number}", ""]
    if release.changes:
        lines += [release.changes, ""]
    if changes is None:
        return "\n".join([*lines, "The first release.", ""])
    lines += [
        f"Since release {changes.since}; changes.csv names every caption. {changes.kept:,} captions are as they were.",
        "",
    ]
    tags = sorted({*changes.added, *changes.changed, *changes.removed})
    if not tags:
        return "\n".join([*lines, "No caption was added, changed or removed.", ""])
    lines += ["| language | added | changed | removed |", "| --- | --: | --: | --- |"]
    for tag in tags:
        reasons = changes.removed.get(tag, Counter())
        removed = (
            ", ".join(f"{count} {REASONS.get(reason, reason)}" for reason, count in sorted(reasons.items())) or "0"
        )
        lines.append(f"| {names.get(tag, tag)} ({tag}) | {changes.added[tag]} | {changes.changed[tag]} | {removed} |")
    return "\n".join([*lines, ""])


def _statistics(contents: ReleaseContents) -> list[list[Any]]:
    rows = []
    for tag, language in contents.by_language.items():
        values = {"language": tag} | language.statistics.as_columns()
        rows.append([values[column] for column in STATISTICS])
    return rows


def _quality(contents: ReleaseContents, *, format: int) -> list[list[Any]]:
    """Return the names of the columns, and a row for each language with verified captions."""
    has_authors = format >= AUTHORS_SINCE
    rows: list[list[Any]] = [[*quality_columns(format)]]
    for tag, language in contents.by_language.items():
        if not language.codes:
            continue
        authors = [author for author in language.authors if author is not None]
        is_known = len(authors) == len(language.authors)
        quality = quality_of(language.units, language.codes, authors if is_known else None)
        alpha = ordinal_alpha(language.units, language.codes)
        shares = (quality.good_or_better, quality.medium_or_better, quality.bad, quality.not_enough_info)
        rows.append(
            [
                *(tag, quality.captions, len(language.codes), len(language.reviewers_of_verified)),
                *(cell for share in shares for cell in _with_intervals(share, has_authors=has_authors)),
                *(round(alpha, 4) if isinstance(alpha, float) else None, language.unfinished),
            ]
        )
    return rows


def _with_intervals(share: CaptionShare, *, has_authors: bool) -> list[object]:
    intervals = [share.interval, share.over_authors] if has_authors else [share.interval]
    ends = [(one.low, one.high) if isinstance(one, Interval) else (None, None) for one in intervals]
    values = (share.value, *chain.from_iterable(ends))
    return [share.count, *(None if value is None else round(100 * value, 2) for value in values)]


def _guidelines(release: Release, contents: ReleaseContents) -> list[tuple[int, str]]:
    versions = Guidelines.objects.filter(project=release.project_id, version__in=contents.guidelines)
    collections = {round.collection_id for round in contents.rounds}
    texts = []
    for guidelines in versions.order_by("version"):
        parts = [f"# Guidelines, version {guidelines.version}"]
        if guidelines.note:
            parts.append(guidelines.note)
        for part in (TextKind.RATING, TextKind.WRITING):
            parts += [f"## {part.value.title()}", english_text(part, getattr(guidelines, part), {})]
        examples = GuidelineExample.objects.filter(guidelines=guidelines).select_related("image", "language")
        if examples:
            parts.append("## Examples")
        for example in examples.order_by("position"):
            entries = CollectionImage.objects.filter(image=example.image, collection__in=collections)
            key = min(entries.values_list("key", flat=True), default=example.image.sha256)
            parts.append(
                f"### {example.position}. {example.level}, {example.language.english_name}, image {key}\n\n"
                f"> {example.caption}\n\n{example.why}"
            )
        texts.append((guidelines.version, "\n\n".join(part.strip() for part in parts) + "\n"))
    return texts


def _translations(release: Release, contents: ReleaseContents) -> Iterator[tuple[str, str]]:
    """Yield the translations of guidelines that were shown, as people read them, with their names."""
    if release.format < TRANSLATIONS_SINCE:
        return
    written = CaptionBatch.objects.filter(round__in=contents.rounds, submitted_at__lte=release.until)
    rated = VerificationBatch.objects.filter(round__verifies__in=contents.rounds, submitted_at__lte=release.until)
    shown = Q()
    for batches, part in ((written, "rating"), (written, "writing"), (rated, "rating")):
        shown |= Q(pk__in=batches.values(f"{part}_translation"))
    for one in TextTranslation.objects.filter(shown):
        with translation.override(code_of(one.language_id)):
            text = filled_text(TextKind(one.kind), one.body, {})
        yield f"guidelines/{one.version}.{one.kind}.{one.language_id}.{one.revision}.md", f"{text.strip()}\n"


def _consents(release: Release) -> list[ConsentText]:
    """Return the consent texts that anybody had agreed to by then."""
    agreed = ConsentText.objects.filter(project=release.project_id, consents__given_at__lte=release.until)
    return list(agreed.distinct().order_by("version"))


def _datasheet(release: Release, contents: ReleaseContents) -> str:
    rounds, by_language, licence = contents.rounds, contents.by_language, LICENCES[release.licence]
    models = CaptionTask.objects.filter(round__in=rounds).order_by().values_list("english__model__name", flat=True)
    collections = {round.collection.slug: round.collection for round in rounds}
    names = {round.language_id: round.language.english_name for round in rounds}
    left_out = [
        f"{names[tag]}: {count} {REASONS.get(state, state)}"
        for tag, each in by_language.items()
        for state, count in sorted(each.left_out.items())
    ]
    if contents.verdicts_left_out:
        rejected = f"{contents.verdicts_left_out} by people who were excluded or withdrew consent"
        left_out.append(f"ratings of captions: {rejected}")
    annotators, reviewers = (len(set[str]().union(*people)) for people in _people(contents))
    numbers = {
        "captions": len(contents.captions),
        "images": contents.images,
        "annotators": annotators,
        "reviewers": reviewers,
        "english_ratings": contents.english_ratings,
        "verdicts": contents.verdicts,
        "located": contents.places.located,
    }
    context = {
        **{name: f"{number:,}" for name, number in numbers.items()},
        "release": release,
        "contents": contents,
        "description": release.description.strip(),
        "project_description": release.project.description.strip(),
        "authors": release.authors.replace("\n", "; "),
        "until": as_iso(release.until),
        "is_written_here": any(each.statistics.captions > each.from_files for each in by_language.values()),
        "is_verified": any(each.codes for each in by_language.values()),
        "languages": [
            {"tag": tag, "name": names[tag], "cells": _language_cells(each), "pilots": _pilots(release, tag)}
            for tag, each in by_language.items()
        ],
        "left_out": left_out,
        "image_licences": sorted(contents.image_licences.items()),
        "models": ", ".join(sorted(models.distinct())),
        "sources": sorted({round.source for round in rounds if round.source}),
        "collections": [(each.name, each.description.strip()) for _slug, each in sorted(collections.items())],
        "has_places": release.format >= PLACES_SINCE,
        "places": contents.places,
        "guidelines": ", ".join(map(str, sorted(contents.guidelines))),
        "consents": [(text.version, ON_WITHDRAWAL[text.on_withdrawal]) for text in _consents(release)],
        "licence": licence,
    }
    return render_to_string("annotation/datasheet.md", context)


def _language_cells(language: LanguageContents) -> list[object]:
    """Return the cells of a language's row, as printed."""
    statistics = language.statistics
    quality = quality_of(language.units, language.codes) if language.codes else QualityCounts((0,) * 5)
    share = quality.good_or_better.value
    return [
        *(statistics.captions, statistics.images_with_1 + statistics.images_with_2 + statistics.images_with_3_or_more),
        *(len(language.annotators), language.from_files),
        *(_decimal(statistics.mean_words), _decimal(statistics.mean_characters)),
        f"{language.writing_ms / language.timed / 1000:.1f}" if language.timed else "–",
        *(quality.captions, "–" if share is None else f"{percent_text(100 * share)}%"),
    ]


def _pilots(release: Release, tag: str) -> str:
    pilots = Round.objects.filter(project=release.project_id, language=tag, kind=RoundKind.PILOT)
    states = Counter(pilots.filter(decided_at__lte=release.until).values_list("state", flat=True))
    return ", ".join(f"{states[state]} {said}" for state, said in PILOT_STATES.items() if states[state])


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
