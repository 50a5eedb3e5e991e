"""Translate English references into references of other languages. A worker that dies loses one batch at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from core.images.models import Image
from core.jobs.models import OPEN_STATES, JobState
from core.jobs.services import leases
from core.jobs.services.leases import LeaseLostError
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import User
from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError, Decoding, FailedImage, LoadedTranslator
from research.inference.models import Translator
from research.inference.services import routing
from research.inference.services.captioning import check_cost, translated_texts
from research.inference.services.executor import SLICE_S, Clock
from research.inference.services.job_kind import CrashedImage
from research.inference.services.routing import needs_of
from research.inference.services.translating import (
    GIVEN_UP_AFTER,
    SKIPPED_AFTER,
    TranslationFailedError,
    TranslationSlice,
    usage_of,
)
from research.scoring.models import Reference, ReferenceKind, ReferenceSet, ReferenceTranslation
from research.scoring.services.references import ReferenceFileError, put_references


def start_translations(
    *,
    english: ReferenceSet,
    languages: Sequence[Language],
    translator: Translator,
    decoding: Decoding,
    mixed_with: Sequence[ReferenceSet] = (),
    name: str,
    by: User,
    now: datetime,
) -> list[ReferenceTranslation]:
    """Request translations of `english`, one set for each language.

    Then call `research.scoring.tasks.ask_for_translation`.

    - `mixed_with`: captions of people that go into the set of their language, too: at most one set for each.
    - `name`: of all the new sets.

    Raises ReferenceFileError.
    """
    by_tag = {one.language_id: one for one in mixed_with}
    _check(english, languages, translator, decoding, mixed_with)
    backend = registry.translator_named(translator.backend)
    started = []
    with transaction.atomic():
        for language in languages:
            mixed = by_tag.get(language.pk)
            try:
                with transaction.atomic():
                    made = ReferenceSet.objects.create(
                        project=english.project,
                        collection=english.collection,
                        language=language,
                        name=name,
                        kind=ReferenceKind.MIXED if mixed else ReferenceKind.TRANSLATED,
                        source=english.source,
                        origin=f"translation:{uuid4().hex}",
                        is_evaluation=english.is_evaluation,
                        changed_at=now,
                        created_by=by,
                    )
            except IntegrityError as error:
                message = _("There are references called “%(name)s” in %(language)s already. Choose another name.")
                raise ReferenceFileError(message % {"name": name, "language": language.name}) from error
            started.append(
                ReferenceTranslation.objects.create(
                    made=made,
                    english=english,
                    mixed_with=mixed,
                    is_mixed=mixed is not None,
                    translator=translator,
                    decoding=decoding.stored(),
                    queue=backend.queue,
                    asked_at=now,
                )
            )
    return started


def _check(
    english: ReferenceSet,
    languages: Sequence[Language],
    translator: Translator,
    decoding: Decoding,
    mixed_with: Sequence[ReferenceSet],
) -> None:
    if english.language_id != ENGLISH:
        raise ReferenceFileError(_("Only English references can be translated."))
    if not english.captions:
        raise ReferenceFileError(_("These references have no captions yet."))
    twice = {one.language.name for one in mixed_with if sum(one.language == other.language for other in mixed_with) > 1}
    if twice:
        message = _("Choose one set of captions of people for each language. There are several for %(languages)s.")
        raise ReferenceFileError(message % {"languages": ", ".join(sorted(twice))})
    unused = {one.language.name for one in mixed_with if one.language not in languages}
    if unused:
        message = _("You chose captions of people in %(languages)s, but no translation into it.")
        raise ReferenceFileError(message % {"languages": ", ".join(sorted(unused))})
    try:
        backend = registry.translator_named(translator.backend)
        backend.check(translator.spec)
        registry.check_decoding(backend, translator.spec, decoding)
        codes = backend.languages(translator.spec)
    except BackendSettingsError as refused:
        raise ReferenceFileError(str(refused)) from refused
    if lacking := [language.name for language in languages if language.pk not in codes]:
        message = _("“%(name)s” does not translate into %(languages)s.")
        raise ReferenceFileError(message % {"name": translator.name, "languages": ", ".join(sorted(lacking))})


def translate_again(*, made: ReferenceSet) -> ReferenceTranslation:
    """Resume a failed translation; start over where it is done, or where what it translates has changed.

    Raises ReferenceFileError.
    """
    with transaction.atomic():
        rows = ReferenceTranslation.objects.select_for_update(of=("self",), no_key=True)
        row = rows.select_related("english", "mixed_with").filter(made=made).first()
        if row is None:
            raise ReferenceFileError(_("These references were not translated here."))
        if row.is_open:
            raise ReferenceFileError(_("These references are being translated already."))
        if row.english is None or (row.is_mixed and row.mixed_with is None):
            raise ReferenceFileError(_("The captions that were translated were removed. Translate other references."))
        if row.state == JobState.DONE or is_outdated(row) or not has_made(row):
            row.cursor = row.done = row.failed = 0
        row.state, row.lease_until, row.attempts = JobState.QUEUED, None, 0
        row.error = row.traceback = ""
        row.finished_at = None
        row.save()
        return row


def is_outdated(row: ReferenceTranslation) -> bool:
    """Whether what was translated has changed since."""
    digests = (row.english.digest if row.english else "", row.mixed_with.digest if row.mixed_with else "")
    return digests != (row.english_digest, row.mixed_digest)


def has_made(row: ReferenceTranslation) -> bool:
    """Whether any caption was translated."""
    made = Reference.objects.filter(reference_set=row.made_id)
    if row.mixed_with_id is None:
        return made.exists()
    people = Reference.objects.filter(reference_set=row.mixed_with_id, image__in=made.values("image"))
    return made.count() > people.count()


def is_being_translated(sets: Sequence[ReferenceSet]) -> QuerySet[ReferenceTranslation]:
    """Find the open translations that make some of `sets`."""
    return ReferenceTranslation.objects.filter(made__in=sets, state__in=OPEN_STATES).select_related("made")


def is_for_another(*, translation_id: int, now: datetime) -> bool:
    """Whether the translator does not fit this process, and fits another listening worker."""
    rows = ReferenceTranslation.objects.filter(pk=translation_id, state__in=OPEN_STATES)
    row = rows.select_related("translator").first()
    if row is None:
        return False
    needs = needs_of(row.translator, precision=row.decoding.get("precision", "auto"))
    return routing.is_for_another(needs, queue=row.queue, now=now)


def execute_translation(*, translation_id: int, clock: Clock, slice_s: float = SLICE_S) -> bool:
    """Translate for at most `slice_s`; returns whether there is more to do."""
    related = ("made__created_by", "made__language", "translator", "english", "mixed_with")
    rows = ReferenceTranslation.objects.filter(pk=translation_id).select_related(*related)
    row = leases.claim(rows, now=clock())
    if row is None:
        return False
    with leases.working_for(row.made.created_by):
        return _ReferenceSlice(row, clock, slice_s).execute()
    return False


@dataclass
class _ImageTexts:
    """The captions of one image."""

    key: str
    english: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)


class _ReferenceSlice(TranslationSlice):
    """One worker's slice of time on one translation."""

    def __init__(self, row: ReferenceTranslation, clock: Clock, slice_s: float) -> None:
        decoding = Decoding.from_stored(row.decoding)
        super().__init__(row, clock, slice_s, language=row.made.language_id, decoding=decoding)
        self._last_failure: FailedImage | None = None

    def begin(self) -> None:
        row = self.row
        if row.english is None or (row.is_mixed and row.mixed_with is None):
            raise TranslationFailedError(_("The captions to translate were removed."))
        if row.cursor == 0:
            digests = {"english_digest": row.english.digest}
            digests["mixed_digest"] = row.mixed_with.digest if row.mixed_with else ""
            self.renew(total=self._images().count(), **digests)

    def _images(self) -> QuerySet[Reference, int]:
        """Those with captions to read, by primary key."""
        sets = [one for one in (self.row.english_id, self.row.mixed_with_id) if one]
        rows = Reference.objects.filter(reference_set__in=sets).order_by("image_id")
        return rows.values_list("image_id", flat=True).distinct()

    def next_texts(self, size: int) -> dict[int, _ImageTexts]:
        """Read the captions of the next images: about as many as the translator takes at once."""
        row = self.row
        image_ids = list(self._images().filter(image_id__gt=row.cursor)[: max(1, size)])
        keys = dict(Image.objects.filter(pk__in=image_ids).values_list("pk", "sha256"))
        texts = {pk: _ImageTexts(keys[pk]) for pk in image_ids}
        sets = {row.english_id: "english", row.mixed_with_id: "people"}
        rows = Reference.objects.filter(reference_set__in=[pk for pk in sets if pk], image__in=image_ids)
        for set_id, image, text in rows.order_by("image", "position").values_list("reference_set", "image", "text"):
            getattr(texts[image], sets[set_id]).append(text)
        chosen: dict[int, _ImageTexts] = {}
        for pk, one in texts.items():
            if chosen and sum(len(other.english) for other in chosen.values()) + len(one.english) > size:
                break
            chosen[pk] = one
        return chosen

    def translate(self, translation: LoadedTranslator, texts: dict[int, _ImageTexts]) -> None:
        captions = {pk: list(one.people) for pk, one in texts.items()}
        if self.row.attempts > SKIPPED_AFTER:
            failed: list[FailedImage] = [CrashedImage(_("The worker died while it translated it.")) for _pk in texts]
        else:
            lines = [(pk, text) for pk, one in texts.items() for text in one.english]
            keys = [f"{texts[pk].key} {number}" for number, (pk, _text) in enumerate(lines)]
            results = self.meanwhile(
                lambda: (
                    translated_texts(
                        translation,
                        [text for _pk, text in lines],
                        keys=keys,
                        language=self.tag,
                        decoding=self.decoding,
                    )
                    if lines
                    else []
                )
            )
            failed = [one for one in results if isinstance(one, FailedImage)]
            for (pk, _text), one in zip(lines, results, strict=True):
                if not isinstance(one, FailedImage):
                    captions[pk].append(one.text)
        self._last_failure = failed[-1] if failed else self._last_failure
        self._store(captions, failed=len(failed), usage=usage_of(translation))
        self._check_going_on(translation)

    def _store(self, captions: dict[int, list[str]], *, failed: int, usage: tuple[int, int]) -> None:
        last = max(captions)
        with transaction.atomic():
            # Lock in the same order as the deletion of a set.
            if not ReferenceSet.objects.select_for_update(no_key=True).filter(pk=self.row.made_id).exists():
                raise LeaseLostError(self.row.pk)
            self.renew(
                cursor=last,
                attempts=0,
                done=F("done") + len(captions),
                failed=F("failed") + failed,
                input_tokens=F("input_tokens") + usage[0],
                output_tokens=F("output_tokens") + usage[1],
            )
            put_references(reference_set=self.row.made, captions=captions, now=self.clock())
        self.row.cursor, self.row.attempts = last, 0

    def _check_going_on(self, translation: LoadedTranslator) -> None:
        now = ReferenceTranslation.objects.values_list("failed", "input_tokens", "output_tokens").get(pk=self.row.pk)
        check_cost(getattr(translation, "prices", None), now[1:])
        if now[0] >= GIVEN_UP_AFTER and not has_made(self.row):
            self._give_up()

    def _give_up(self) -> None:
        last = self._last_failure
        reason = last.reason if last else ""
        traceback = last.traceback if isinstance(last, CrashedImage) else ""
        raise TranslationFailedError(
            _("No caption could be translated. The last failure: %(reason)s") % {"reason": reason}, traceback
        )

    def finish(self) -> None:
        if not has_made(self.row):
            self._give_up()
        made = Reference.objects.filter(reference_set=self.row.made_id).order_by().values_list("image_id", flat=True)
        gone = sorted(set(made.distinct()) - set(self._images()))
        if gone:
            put_references(reference_set=self.row.made, captions={pk: [] for pk in gone}, now=self.clock())
        self.end()
