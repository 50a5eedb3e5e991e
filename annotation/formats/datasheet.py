"""DATASHEET.md: the questions of Datasheets for Datasets (Gebru et al., 2021), answered from the database.

Questions that only people can answer stay marked as open. The manager's own description comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NOT_KNOWN = "*Not recorded by the platform; see the description above, or ask the authors.*"

VERIFIED = """Of each verified language, captions drawn at random were rated by several others,
none of them the author; the aggregate is the median, NOT-ENOUGH-INFO where more than half say so, the lower of the
middle two of an even number."""


@dataclass(frozen=True)
class LanguageSheet:
    """What the datasheet says about one language. Percentages and means are as printed."""

    tag: str
    name: str
    captions: int
    images: int
    from_files: int
    annotators: int
    mean_words: str
    mean_characters: str
    mean_seconds: str
    pilots: Mapping[str, int]
    verified: int
    reviewers: int
    good_or_better: str
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class PlacesSheet:
    """Where the images were taken: how many are known, by which borders, and levels of those chosen by place."""

    located: int
    borders: Sequence[str]
    tables: Sequence[str]
    levels: Mapping[str, Mapping[str, int]]
    has_coordinates: bool


@dataclass(frozen=True)
class DatasheetContents:
    title: str
    number: int
    authors: Sequence[str]
    description: str
    project: str
    project_description: str
    until: str
    first_day: str
    last_day: str
    captions: int
    images: int
    verdicts: int
    verdicts_left_out: int
    english_ratings: int
    annotators: int
    reviewers: int
    models: Sequence[str]
    collections: Sequence[tuple[str, str]]
    image_licences: Sequence[tuple[str, int]]
    guidelines: Sequence[int]
    consents: Sequence[tuple[int, str]]
    languages: Sequence[LanguageSheet]
    licence: str
    licence_url: str
    sources: Sequence[str]
    places: PlacesSheet | None = None

    @property
    def is_written_here(self) -> bool:
        """Whether people wrote any of the captions, or all came from files."""
        return any(language.captions > language.from_files for language in self.languages)

    @property
    def is_verified(self) -> bool:
        return any(language.verified for language in self.languages)


def datasheet(sheet: DatasheetContents) -> str:
    parts = [
        f"# Datasheet: {sheet.title}, release {sheet.number}",
        sheet.description or "*The authors gave no description.*",
        _motivation(sheet),
        _composition(sheet),
        _collection(sheet),
        _processing(),
        _uses(),
        _distribution(sheet),
        _maintenance(sheet),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _motivation(sheet: DatasheetContents) -> str:
    about = f"\n\n{sheet.project_description}" if sheet.project_description else ""
    return f"""
## Motivation

**For what purpose was the dataset created?** The project “{sheet.project}”.{about}

**Who created the dataset, and on behalf of which entity?** {"; ".join(sheet.authors)}.

**Who funded it?** {NOT_KNOWN}
"""


def _composition(sheet: DatasheetContents) -> str:
    licences = "".join(f"| {name or 'not known'} | {count} |\n" for name, count in sheet.image_licences)
    verified = (
        "Captions were verified by sample; quality.csv has the figures with their\nuncertainty."
        if sheet.is_verified
        else "No caption was verified by others."
    )
    return f"""
## Composition

**What do the instances represent?** Captions of images, each written by a person in one of {len(sheet.languages)}
languages, or taken from a file where that is said. An image has captions by different people, who wrote
without seeing
each other's.

**How many instances are there?** {sheet.captions:,} captions of {sheet.images:,} images by {sheet.annotators:,}
annotators; {sheet.english_ratings:,} ratings of English captions; {sheet.verdicts:,} ratings of captions by
{sheet.reviewers:,} raters.

| language | captions | images | annotators | from a file | words | characters | seconds | verified | good or better |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
{"".join(_language_row(language) for language in sheet.languages)}
Words and characters are means per caption; a word is what whitespace separates. The seconds are active
time for writing a caption, without pauses.

**Does the dataset contain all possible instances?** It has the captions that count, submitted by {sheet.until}, of
the languages whose main round was accepted. Left out and counted:

{_left_out(sheet)}

**What data does each instance consist of?** README.md says what each column holds. Authors and
raters have pseudonyms.

**Is there a label or target?** Ratings are on five levels: EXCELLENT, GOOD, MEDIUM, BAD, NOT-ENOUGH-INFO.

**Are relationships between instances made explicit?** By the keys of images, the names of captions and the
pseudonyms.

**Are there recommended splits?** None are made here.

**Are there errors, noise or redundancies?** {verified} Two people may have written the same.

**Is the dataset self-contained?** The images are not in it; images.csv says whose they are and under which licence.

| licence of the image | images |
| --- | --: |
{licences}
**Does it contain data that might be confidential, offensive, or that identifies people?** No names or addresses of
annotators. Images and captions may show and describe people. Pseudonyms are drawn anew for each release; but the same
caption in two releases lets its two pseudonyms be matched.
"""


def _language_row(language: LanguageSheet) -> str:
    cells = (
        f"{language.name} ({language.tag})",
        *(language.captions, language.images, language.annotators, language.from_files),
        *(language.mean_words, language.mean_characters, language.mean_seconds),
        *(language.verified, language.good_or_better),
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |\n"


def _left_out(sheet: DatasheetContents) -> str:
    rows = [
        f"- {language.name}: {count} {reason}"
        for language in sheet.languages
        for reason, count in language.left_out.items()
    ]
    if sheet.verdicts_left_out:
        rows.append(f"- ratings of captions: {sheet.verdicts_left_out} by people who were excluded or withdrew consent")
    return "\n".join(rows) or "- nothing"


def _collection(sheet: DatasheetContents) -> str:
    collections = "".join(f"- {name}{': ' + about if about else ''}\n" for name, about in sheet.collections)
    days = f"from {sheet.first_day} to {sheet.last_day} (UTC)" if sheet.first_day else "not here: all are from files"
    sources = "".join(f"- {source}\n" for source in sheet.sources)
    files = f"\nCaptions from files, in their own words:\n\n{sources}" if sources else ""
    return f"""
## Collection process

**How was the data acquired?** {_how(sheet)}
{files}
**Which images?** From these collections:

{collections}{_places(sheet.places)}
**Who was involved, and how were they compensated?** {_who(sheet)}Compensation: {NOT_KNOWN}

**Over what timeframe?** {days}.

**What were people told?** {_guidance(sheet)}

**Pilots, by language**

{_pilots(sheet)}

**How was quality checked?** {VERIFIED if sheet.is_verified else "Here, no caption was rated by others."}

**Did the people consent, and can they revoke it?** {_agreed(sheet)}

**Was there an ethical review?** {NOT_KNOWN}
"""


def _places(places: PlacesSheet | None) -> str:
    """Say where the images were taken; nothing in the formats that had no places."""
    if places is None:
        return ""
    if not places.located and not places.levels:
        return "\nWhere the images were taken is not recorded.\n"
    borders = f" by the borders {', '.join(places.borders)}" if places.borders else ""
    coordinates = (
        "Their coordinates are in it because the authors chose to publish them."
        if places.has_coordinates
        else "Their coordinates are not in it."
    )
    said = f"\nimages.csv says where {places.located:,} of them were taken{borders}. {coordinates}\n"
    if not places.levels:
        return said
    rows = "".join(f"| {tag} | {' | '.join(map(str, levels.values()))} |\n" for tag, levels in places.levels.items())
    table = f" (table of languages {', '.join(places.tables)})" if places.tables else ""
    return f"""{said}
Images were chosen for languages by place{table}: from a region where the language is spoken, else from a country,
else from a continent, else from anywhere. So many came from each:

| chosen for | region | country | continent | anywhere |
| --- | --: | --: | --: | --: |
{rows}"""


def _how(sheet: DatasheetContents) -> str:
    if not sheet.is_written_here:
        return "All captions are from files; how they came about is said where the files come from."
    models = ", ".join(sheet.models) or "none"
    return f"""Rate, then write: an annotator first rates English captions by models ({models})
of a batch of images, in five levels. Then the English captions are hidden and the annotator describes the same images
in the target language. Each image is given to as many different people as wanted, who do not see each other's
captions."""


def _who(sheet: DatasheetContents) -> str:
    annotators = (
        f"{sheet.annotators:,} annotators who say that they read\nEnglish and are native or fluent in the language; "
        if sheet.is_written_here
        else "Nobody wrote captions here; "
    )
    return f"{annotators}{sheet.reviewers:,} raters. "


def _guidance(sheet: DatasheetContents) -> str:
    if not sheet.guidelines:
        return "Here, nothing: all captions are from files."
    versions = ", ".join(map(str, sheet.guidelines))
    return f"""guidelines/ has each version that was shown: {versions}. Every rating, and every caption
that was written here, names its version."""


def _agreed(sheet: DatasheetContents) -> str:
    if not sheet.consents:
        return "Nobody was asked here."
    texts = "\n".join(f"- version {version}, in consent/{version}.md: {what}" for version, what in sheet.consents)
    return f"""Everybody agreed to one of these texts before working; what
becomes of answers when somebody withdraws is said beside the text.

{texts}"""


def _pilots(sheet: DatasheetContents) -> str:
    rows = [
        f"- {language.name}: {', '.join(f'{count} {state}' for state, count in language.pilots.items()) or 'none'}"
        for language in sheet.languages
    ]
    return "\n".join(rows)


def _processing() -> str:
    return """
## Preprocessing

**Was the data cleaned?** Captions are trimmed and brought into Unicode's NFC; those from a file are letter for
letter as
they were. Hints about length, script, repetition and likeness to the English caption were shown to writers,
who decided;
`warnings` names those that were let be.

**Is the raw data kept?** As it was typed, in the project's database.
"""


def _uses() -> str:
    return """
## Uses

**What could it be used for?** Evaluating and training captioning models, and studying how people describe images in
different languages and rate captions.

**Is there anything that might affect future uses?** The English caption that was shown before may have shaped
what was
written. Languages differ in how many people wrote: a language with few annotators has their habits. Levels are
judgements,
and figures of quality stand on samples.

**Are there tasks for which it should not be used?** To find out who the annotators are, or to judge single
people by few
ratings.
"""


def _distribution(sheet: DatasheetContents) -> str:
    return f"""
## Distribution

**How is it distributed, and under which licence?** As a folder and an archive of it, under {sheet.licence}
({sheet.licence_url}). LICENSE says what that covers. manifest.json has the SHA-256 of every file.
"""


def _maintenance(sheet: DatasheetContents) -> str:
    return f"""
## Maintenance

**Who maintains it?** {"; ".join(sheet.authors)}.

**Will it be updated?** A release never changes; what changes comes with the next number, whose CHANGES.md says
what. Captions
whose author withdrew consent are left out of every later release. Please use the latest one.

**Can others contribute or check?** The same state of the database gives the same bytes: the release can be
built again.
"""
