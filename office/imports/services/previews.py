"""Say what files of any layout hold, and what has to be said before they can be imported. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.services.caption_imports import languages_taken
from core.images.models import Collection
from core.images.permissions import collections_in, may_change
from core.images.rules.manifests import faults_in
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import Project, Role, User
from core.people.permissions import READERS, has_role
from crosslens_metrics.formats.file_names import language_in_name, model_in_name
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.recognised_files import (
    BY_PEOPLE,
    CAPTIONS_BY_PEOPLE,
    MODEL_CAPTIONS,
    REFERENCES,
    UNKNOWN_KIND,
    UNKNOWN_LANGUAGE,
    RecognisedFile,
    RecognisedFiles,
)
from crosslens_metrics.formats.recognition import recognise
from crosslens_metrics.formats.table_parts import FileKind
from gapgame.formats.sources import is_corpus, is_layout
from gapgame.models import ItemSet
from gapgame.rules.item_sources import ItemChoice
from gapgame.services import item_imports
from gapgame.services.items import is_closed
from office.imports.services.matching import LicencedFiles, MatchedImages, matched_images
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.selection.models import CandidateList
from research.selection.selectors.pools import is_complete
from research.selection.services import candidates
from sxs_eval.services import judgement_files, judgement_imports

CORPUS = "build_corpus"
OF_PROJECTS = (REFERENCES, CAPTIONS_BY_PEOPLE, FileKind.JUDGEMENTS)
LOOKED_INTO = (FileKind.GAP_ITEMS, FileKind.CANDIDATES, FileKind.JUDGEMENTS)


@dataclass(frozen=True)
class ImportWish:
    """What somebody says of the files: whose they become, and what the files do not say themselves.

    Images go into `collection`, or a new one of the name `new_collection`. `kind` stands for the kind of captions where
    that is not clear, `name` is the references', `said` has the names of columns by the part of a line that they hold,
    `table` the kind of table whose columns the page asks for, and `choice` what is drawn from a corpus. `by` is who
    asks, nobody if their account is gone; with `is_command` everything is allowed. With `languages`, each is begun once
    the files are in, with a link by which so many people as there are `places` can join.
    """

    project: Project | None = None
    collection: Collection | None = None
    new_collection: str = ""
    language: str = ""
    model: str = ""
    kind: str = ""
    name: str = ""
    is_translated: bool = False
    source: str = ""
    said: Mapping[str, str] = field(default_factory=dict)
    table: str = ""
    allows_no_licence: bool = False
    languages: Sequence[str] = ()
    places: int = 0
    choice: ItemChoice = field(default_factory=ItemChoice)
    by: User | None = None
    is_command: bool = False

    def may(self, *roles: Role) -> bool:
        """Whether the person who asks has one of the roles in the project."""
        return self.is_command or bool(self.by and self.project and has_role(self.by, self.project, *roles))


@dataclass(frozen=True)
class PreviewedFile:
    """A file, and how many of the images that it names are known, which takes a while to find out.

    `after_each` is called now and then meanwhile.
    """

    file: RecognisedFile
    files: LicencedFiles
    wish: ImportWish
    after_each: Callable[[], None]

    @cached_property
    def images(self) -> MatchedImages:
        wish = self.wish
        is_apart = self.file.kind in (FileKind.IMAGES, FileKind.GAP_ITEMS) and not wish.collection
        is_anywhere = is_apart or not (wish.collection or wish.project)
        among = None if is_anywhere else collections_in(wish.project, by=wish.by)
        return matched_images(
            self.file, self.files, collection=wish.collection, among=among, after_each=self.after_each
        )

    @property
    def coming(self) -> int:
        """How many of the images that it names come with the files."""
        return self.images.coming if self.file.kind != FileKind.IMAGES else 0

    @property
    def is_recognised(self) -> bool:
        return self.file.kind != UNKNOWN_KIND

    def as_json(self) -> dict[str, Any]:
        file = self.file
        more: dict[str, Any] = {"comparisons": file.comparisons} if file.kind == FileKind.JUDGEMENTS else {}
        if file.models and not file.comparisons:
            more["by_model"] = {name: dict(sorted(tags.items())) for name, tags in sorted(file.models.items())}
        more |= {"coming": self.coming} if self.coming else {}
        if self.images.number:
            more |= {"licences": self.images.licences, "without_licence": self.images.without_licence}
        return more | {
            "path": file.path,
            "kind": str(file.kind),
            "format": file.layout,
            "models": sorted(file.models),
            "languages": dict(sorted(file.languages.items())),
            "images": {"matched": self.images.number, "unknown": len(file.images) - self.images.number},
            "problems": [
                {"kind": kind, "count": count, "example": example} for kind, (count, example) in file.problems.items()
            ],
        }

    def first_rows_as_json(self) -> dict[str, Any]:
        """The beginning of a table, by which a person says what each column has."""
        file = self.file
        return {"path": file.path, "kind": file.kind, "columns": list(file.columns), "rows": file.first_rows}


class ImportGap(NamedTuple):
    """What has to be said before the import: the part of the wish that says it, or "" if no answer helps, and why."""

    part: str
    text: str


def preview(
    paths: Sequence[Path], wish: ImportWish, *, after_each: Callable[[], None] = lambda: None
) -> list[PreviewedFile]:
    """Look through files; `after_each` is called after each of them, and while their images are matched.

    Images are matched with those that come with the files, and with the wish's collection or, without one, all that
    its project may use.
    """
    folders = {path: what for path in paths if (what := _folder_of_items(path))}
    files = [path for path in paths if path not in folders]
    about = {"language": wish.language, "model": wish.model, "kind": wish.kind}
    seen = recognise(files, said=wish.said, **about, after_each=after_each)
    kind = wish.kind or (MODEL_CAPTIONS if wish.model else REFERENCES if wish.name else "")
    seen.files.extend(RecognisedFile(str(path), FileKind.GAP_ITEMS, what) for path, what in folders.items())
    for reason in _missing_columns(seen.files, wish):
        seen.files[0].add_problem(reason, seen.files[0].path)
    for file in seen.files:
        if file.kind in LOOKED_INTO:
            try:
                _look_into(file, wish, seen)
            except FileRefusedError as refused:
                file.kind = UNKNOWN_KIND
                if not file.problems:
                    file.add_problem(str(refused), file.path)
        elif file.kind == FileKind.IMAGES and file.part:
            _check_manifest(file, wish.said)
        if kind and _takes_kind(file, wish):
            file.kind = kind
        if wish.project or wish.collection:
            known = set(Language.objects.filter(pk__in=file.languages).values_list("pk", flat=True))
            for tag in sorted(set(file.languages) - known - {UNKNOWN_LANGUAGE}):
                reason = _("There is no language %(tag)s on this installation. Ask its administrators to add it.")
                file.add_problem(reason % {"tag": tag}, file.path, file.languages[tag])
    licenced = LicencedFiles(seen, wish.said)
    return [PreviewedFile(file, licenced, wish, after_each) for file in seen.files]


def _takes_kind(file: RecognisedFile, wish: ImportWish) -> bool:
    """Whether a file is what somebody said that captions are.

    Where it has people's captions and models', those of models stay theirs, and those of people are nobody else's.
    """
    if file.written_by:
        return file.written_by == BY_PEOPLE and wish.kind in (REFERENCES, CAPTIONS_BY_PEOPLE)
    return file.kind == FileKind.CAPTIONS or (bool(wish.kind) and file.kind in (REFERENCES, MODEL_CAPTIONS))


def _look_into(file: RecognisedFile, wish: ImportWish, seen: RecognisedFiles) -> None:
    if file.kind == FileKind.GAP_ITEMS:
        item_imports.look_through(file, choice=wish.choice, said=wish.said)
    elif file.kind == FileKind.JUDGEMENTS:
        coming = {wish.model, *(name for other in seen.files if other is not file for name in other.models)}
        file.assumed_language = wish.language or language_in_name(file.path)
        judgement_files.look_through(
            file,
            project=wish.project,
            collection=wish.collection,
            language=file.assumed_language,
            said=wish.said,
            coming=coming,
            by=wish.by,
            now=timezone.now(),
        )
    else:
        candidates.look_through(file, needs_licence=not wish.allows_no_licence)


def _check_manifest(images: RecognisedFile, said: Mapping[str, str]) -> None:
    """Say what is wrong with lines of the manifest of images; these are not imported."""
    assert images.part is not None
    known = {*images.problems}
    with suppress(FileRefusedError, OSError), images.part.opened() as opened:
        for fault in (one for one in faults_in(opened, said) if one.reason not in known):
            where = _("line %(number)s of the manifest") % {"number": fault.number}
            images.add_problem(fault.reason, f"{where}: {fault.name}" if fault.name else where)


def _folder_of_items(path: Path) -> str:
    return CORPUS if is_corpus(path) else "MultiSubs" if is_layout(path) else ""


def gaps_of(previewed: Sequence[PreviewedFile], wish: ImportWish) -> list[ImportGap]:
    """List what keeps the files from being imported, each reason once."""
    if not wish.may(*READERS):
        text = _(
            "The person who uploaded these files is no longer a manager or researcher of the project. "
            "Upload them again."
        )
        return [ImportGap("", text)]
    found: dict[ImportGap, None] = {}
    kinds = {one.file.kind for one in previewed}
    taken: dict[tuple[str, str, tuple[str, ...]], str] = {}
    for one in previewed:
        if one.file.kind == UNKNOWN_KIND and one.file.inside:
            continue
        if one.file.kind == FileKind.IMAGES and one.file.columns and not one.images.number:
            text = _("%(path)s names images, and none of them is here. Send them too, or say what the table holds.")
            found[ImportGap("map", text % {"path": one.file.path})] = None
            continue
        found |= dict.fromkeys(_gaps_of(one.file, wish, kinds))
        if one.file.kind == REFERENCES and len(previewed) > 1:
            name = name_of(one.file, wish)
            for key in ((name, tag, image) for tag in one.file.languages for image in one.file.images):
                path = one.file.series or one.file.path
                if (other := taken.setdefault(key, path)) != path:
                    found[_twice(other, path, name, key)] = None
                    break
    for reason in _missing_columns([one.file for one in previewed], wish):
        found[ImportGap("map", reason)] = None
    if wish.choice != ItemChoice() and not any(one.file.layout == CORPUS for one in previewed):
        text = _("Sentences are drawn only from a folder made by build_corpus.")
        found |= {ImportGap(part, text): None for part in _changed_in(wish.choice)}
    has_images = FileKind.IMAGES in kinds and FileKind.GAP_ITEMS not in kinds
    if wish.new_collection and not has_images:
        text = (
            _("Say in which collection the images are that people are to describe.")
            if wish.languages
            else _("There is no such collection, and none of the files has images to make one of.")
        )
        found[ImportGap("collection", text)] = None
    elif has_images and not _may_add_images(wish):
        text = _("Only managers can add images, to collections of their project. Choose one, or name a new one.")
        found[ImportGap("collection", text)] = None
    if wish.languages and not found:
        found |= dict.fromkeys(_gaps_of_languages(previewed, wish))
    if not any(one.is_recognised for one in previewed) and not found:
        found[ImportGap("", _("There is nothing in the files to import."))] = None
    return list(found)


def _changed_in(choice: ItemChoice) -> list[str]:
    usual = asdict(ItemChoice())
    return [part for part, value in asdict(choice).items() if value != usual[part]]


def guessed_model(previewed: Sequence[PreviewedFile], wish: ImportWish) -> str:
    """Name the model of captions by their file, where they do not say it and languages are to begin; or "".

    People rate English captions by a model. So the only English captions, one of each image, are those.
    """
    files = [one.file for one in previewed if one.file.kind != FileKind.IMAGES]
    if not wish.languages or wish.model or wish.kind or [file.kind for file in files] != [FileKind.CAPTIONS]:
        return ""
    (file,) = files
    is_clear = not file.written_by and set(file.languages) == {ENGLISH} and file.languages[ENGLISH] <= len(file.images)
    return model_in_name(file.path)[:MAX_MODEL_NAME_CHARACTERS] if is_clear else ""


def _missing_columns(files: Sequence[RecognisedFile], wish: ImportWish) -> list[str]:
    columns = {name for file in files for name in file.columns}
    missing = sorted(set(wish.said.values()) - columns) if columns else []
    return [_("There is no column “%(column)s”.") % {"column": column} for column in missing]


def _gaps_of_languages(previewed: Sequence[PreviewedFile], wish: ImportWish) -> Iterator[ImportGap]:
    if wish.by is None or not wish.may(Role.MANAGER):
        yield ImportGap("languages", _("Only managers can begin languages."))
    elif not (wish.collection or wish.new_collection):
        yield ImportGap("collection", _("Say in which collection the images are that people are to describe."))
    elif not any(one.file.kind == MODEL_CAPTIONS and "en" in one.file.languages for one in previewed):
        text = _(
            "People rate English captions by a model before they write. Add a file of these, or choose no languages."
        )
        yield ImportGap("languages", text)


def _twice(one: str, other: str, name: str, key: tuple[str, str, tuple[str, ...]]) -> ImportGap:
    text = _(
        "%(one)s and %(other)s both have captions of %(image)s in %(language)s for the references “%(name)s”, and the "
        "second would replace the first. Make one file of them, or import them one after the other under two names."
    )
    values = {"one": one, "other": other, "name": name, "language": key[1], "image": key[2][0]}
    return ImportGap("name", text % values)


def _may_add_images(wish: ImportWish) -> bool:
    if wish.collection is None or wish.by is None:
        return wish.may(Role.MANAGER)
    return may_change(wish.by, wish.collection)


def _gaps_of(file: RecognisedFile, wish: ImportWish, kinds: set[str]) -> Iterator[ImportGap]:
    path = {"path": file.path}
    if file.kind == UNKNOWN_KIND:
        yield ImportGap("map" if file.columns else "", f"{file.path}: {next(iter(file.problems), '')}")
    if file.kind == FileKind.CAPTIONS or (file.kind == MODEL_CAPTIONS and not file.models):
        yield ImportGap("kind", _("%(path)s does not say who wrote its captions.") % path)
    if file.kind == FileKind.JUDGEMENTS:
        yield from _gaps_of_judgements(file, wish)
    if file.kind == FileKind.GAP_ITEMS:
        yield from _gaps_of_items(file, wish)
        return
    if file.kind == FileKind.CANDIDATES:
        yield from _gaps_of_candidates(file, wish)
        return
    if FileKind.GAP_ITEMS in kinds and file.kind == FileKind.IMAGES:
        return
    if FileKind.GAP_ITEMS not in kinds and file.kind == FileKind.VECTORS:
        text = _("%(path)s has vectors of images. They are used with sentences for the game: import both together.")
        yield ImportGap("", text % path)
    if not (wish.collection or wish.new_collection) and file.kind in (FileKind.IMAGES, *OF_PROJECTS):
        yield ImportGap("collection", _("%(path)s needs the collection in which its images are.") % path)
    if wish.project is None and file.kind in OF_PROJECTS:
        text = (
            _("%(path)s has judgements, which belong to a project.")
            if file.kind == FileKind.JUDGEMENTS
            else _("%(path)s has captions by people, which belong to a project.")
        )
        yield ImportGap("project", text % path)
    if UNKNOWN_LANGUAGE in file.languages:
        yield ImportGap("language", _("%(path)s does not say which language its captions are in.") % path)
    if wish.project is not None and file.kind == CAPTIONS_BY_PEOPLE:
        if not wish.may(Role.MANAGER):
            yield ImportGap("kind", _("Only managers can add captions to rounds. Import them as references."))
        if refusal := languages_taken(wish.project, file.languages):
            yield ImportGap("kind", refusal)


def _gaps_of_judgements(file: RecognisedFile, wish: ImportWish) -> Iterator[ImportGap]:
    assert file.part is not None
    if not all(one["base_model"] for one in file.comparisons):
        text = _("%(path)s does not name the models of its judgements. Add the columns base_model and test_model.")
        yield ImportGap("", text % {"path": file.path})
    if wish.project is None:
        return
    with file.part.opened() as opened:
        before = judgement_imports.imported_before(wish.project, opened)
    if before is not None:
        yield ImportGap("", judgement_imports.already_imported() % {"number": before.pk})


def _gaps_of_items(file: RecognisedFile, wish: ImportWish) -> Iterator[ImportGap]:
    path = {"path": file.path}
    if wish.project is None:
        yield ImportGap("project", _("%(path)s has sentences for the game, which belong to a project.") % path)
        return
    if not wish.may(Role.MANAGER):
        yield ImportGap("", _("Only managers can import sentences for the game."))
    item_set = ItemSet.objects.filter(project=wish.project, name=name_of(file, wish)).first()
    if item_set is not None and is_closed(item_set, timezone.now()):
        yield ImportGap(
            "name", _("A season has started with the sentences “%(name)s”. Name another set.") % {"name": item_set.name}
        )


def _gaps_of_candidates(file: RecognisedFile, wish: ImportWish) -> Iterator[ImportGap]:
    if wish.project is None:
        yield ImportGap("project", _("%(path)s has candidates, which belong to a project.") % {"path": file.path})
        return
    if not wish.may(Role.MANAGER):
        yield ImportGap("", _("Only managers can import candidates."))
    slug = candidates.slug_of(name_of(file, wish))
    there = CandidateList.objects.filter(project=wish.project, slug=slug).first()
    if there is not None and is_complete(there):
        text = _("The project already has a list of candidates “%(slug)s”. Choose another name, or delete it.")
        yield ImportGap("name", text % {"slug": slug})


def name_of(file: RecognisedFile, wish: ImportWish) -> str:
    """What the references, the set of sentences or the list of candidates is called."""
    return wish.name or model_in_name(file.series or file.path)
