"""What a file of judgements holds, and which of its lines a project has the images and captions for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, TYPE_CHECKING

from django.utils.translation import gettext as _

from core.images.models import Collection
from core.images.selectors.filters import NamedImages, images_named
from core.people.models import Project, User
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.formats.problems import FileProblemsError, FileRefusedError
from crosslens_metrics.formats.recognised_files import UNKNOWN_LANGUAGE, RecognisedFile
from research.inference.models import CaptioningModel, ModelCaption
from research.inference.permissions import models_in
from sxs_eval.models import Judgement, TrialKind
from sxs_eval.rules.judging import are_equal

if TYPE_CHECKING:
    from sxs_eval.formats.judgement_lines import StoredLine

EQUAL = "equal"
Captions = Mapping[tuple[int, int], tuple[int, str]]
"""Of a comparison: the primary key and the text by model and image."""


@dataclass
class FileComparison:
    """The lines of one comparison of a file that can be stored, with their images, and why others are left out."""

    lines: list[StoredLine]
    base: CaptioningModel | None = None
    test: CaptioningModel | None = None
    captions: Captions = field(default_factory=dict)
    golds: dict[int, tuple[str, str]] = field(default_factory=dict)
    kept: list[tuple[StoredLine, int]] = field(default_factory=list)
    left_out: dict[str, list[StoredLine]] = field(default_factory=lambda: defaultdict(list))

    @property
    def first(self) -> StoredLine:
        return self.lines[0]

    @property
    def title(self) -> str:
        judgement = self.first.judgement
        return f"{judgement.base_model} → {judgement.test_model}, {self.first.language}"

    def of_kinds(self, *kinds: str) -> Iterator[tuple[StoredLine, int]]:
        return (one for one in self.kept if one[0].judgement.kind in kinds)


def check_raters(found: Iterable[FileComparison], project: Project) -> None:
    """Raises FileRefusedError: some have the pseudonym of somebody who judged in the project, so that an export of its
    own came back.
    """
    people = Judgement.objects.filter(comparison__project=project).order_by().values_list("person", flat=True)
    own = {pseudonym(project, person) for person in people.distinct()}
    if any(line.judgement.rater in own for one in found for line in one.lines):
        raise FileRefusedError(
            _("These are judgements by raters of this project, exported from it. It has them already.")
        )


def look_through(
    file: RecognisedFile,
    *,
    project: Project | None,
    collection: Collection | None,
    language: str,
    said: Mapping[str, str],
    coming: Iterable[str],
    by: User | None,
    now: datetime,
) -> None:
    """Count the judgements of a file, and note what of it is left out; captions by the models `coming` come with it.

    Raises FileRefusedError with what is wrong noted in `file`, line by line.
    """
    assert file.part is not None
    try:
        with file.part.opened() as opened:
            found = comparisons_in(opened, language, said, now)
    except FileProblemsError as refused:
        for problem in refused.problems:
            file.add_problem(problem.reason, _("line %(number)s") % {"number": problem.number})
        raise
    if project is not None:
        check_raters(found, project)
    for one in found:
        judged = [line for line in one.lines if line.judgement.kind != EQUAL]
        names = one.first.judgement
        tag = one.first.language or UNKNOWN_LANGUAGE
        file.languages[tag] += len(judged)
        for name in filter(None, (names.base_model, names.test_model)):
            file.models[name][tag] += len(judged)
        file.images |= dict.fromkeys((line.judgement.image,) for line in one.lines)
        file.comparisons.append(
            {
                "base_model": names.base_model,
                "test_model": names.test_model,
                "language": tag,
                "judgements": len(judged),
                "images": len({line.judgement.image for line in one.lines}),
                "raters": len({line.judgement.rater for line in judged}),
            }
        )
        if project is not None and collection is not None and {names.base_model, names.test_model}.isdisjoint(coming):
            match_lines(one, project, collection, by)
            for reason, lines in one.left_out.items():
                file.add_problem(reason, lines[0].judgement.image, len(lines))


def comparisons_in(file: IO[bytes], language: str, said: Mapping[str, str], now: datetime) -> list[FileComparison]:
    # It needs NumPy, which no process loads at its start.
    from sxs_eval.formats.judgement_lines import stored_lines

    found: dict[tuple[str, str], FileComparison] = {}
    for line in stored_lines(file, otherwise=language, said=said, now=now):
        found.setdefault(line.key, FileComparison([])).lines.append(line)
    return list(found.values())


def match_lines(one: FileComparison, project: Project, collection: Collection, by: User | None) -> None:
    """Find the images and captions of the lines; what lacks some is left out."""
    names, tag = one.first.judgement, one.first.language
    one.base, one.test = (_model_named(name, project, by) for name in (names.base_model, names.test_model))
    for name, model in ((names.base_model, one.base), (names.test_model, one.test)):
        if model is None:
            one.left_out[_("The project has no captions by %(model)s.") % {"model": name or "“”"}] = one.lines
            return
    there = ModelCaption.objects.filter(
        model__in=[one.base, one.test], language=tag, image__entries__collection=collection
    ).order_by()
    rows = there.values_list("model", "image", "pk", "text")
    one.captions = {(model, image): (pk, text) for model, image, pk, text in rows.iterator()}
    images = images_named((line.judgement.image for line in one.lines), collection)
    seen: set[tuple[str, int, str]] = set()
    # Of two answers to the same the one that counts, and repeats after what they repeat.
    order = {EQUAL: 0, TrialKind.PAIR: 1, TrialKind.GOLD: 2, TrialKind.REPEAT: 3}
    for line in sorted(one.lines, key=lambda line: (order[line.judgement.kind], not line.judgement.counts)):
        named = images[line.judgement.image]
        if reason := _why_left_out(one, line, named, seen):
            one.left_out[reason].append(line)
        elif named.only is not None:
            seen.add((line.judgement.kind, named.only.pk, line.judgement.rater))
            one.kept.append((line, named.only.pk))


def _model_named(name: str, project: Project, by: User | None) -> CaptioningModel | None:
    named = models_in(project, by=by).filter(name=name).order_by("pk")
    return named.filter(project=project).first() or named.first()


def _why_left_out(one: FileComparison, line: StoredLine, named: NamedImages, seen: set[tuple[str, int, str]]) -> str:
    kind, rater = line.judgement.kind, line.judgement.rater
    if kind == EQUAL and not line.judgement.counts:
        return _("It does not count in the file, and nobody judged it.")
    if named.only is None:
        several = _("Several images of the collection have this name.")
        return several if named.images else _("The collection has no such image.")
    image = named.only.pk
    if (kind, image, rater) in seen:
        return _("Another line has the same judgement.")
    if kind == TrialKind.GOLD:
        shown = line.base_caption, line.test_caption
        if not all(shown) or shown[0] == shown[1]:
            return _("Both captions of a gold pair have to be in base_caption and test_caption.")
        is_known = one.golds.setdefault(image, shown) == shown
        return "" if is_known else _("Another line has another gold pair of the image.")
    if kind == TrialKind.REPEAT and (TrialKind.PAIR, image, rater) not in seen:
        return _("The file does not have what is repeated.")
    for model, text in ((one.base, line.base_caption), (one.test, line.test_caption)):
        assert model is not None
        there = one.captions.get((model.pk, image))
        if there is None:
            return _("%(model)s has no caption of the image.") % {"model": model.name}
        if text and not are_equal(text, there[1]):
            return _("The project has another caption of the image by %(model)s.") % {"model": model.name}
    return ""
