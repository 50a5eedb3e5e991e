"""Have captions and messages translated into English for managers who do not read them. Only they see a gloss."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.models import Caption, CaptionGloss, GlossRequest, MessageGloss, Tally
from annotation.selectors.glosses import (
    GlossTranslator,
    backends_here,
    captions_without_gloss,
    glosses_in,
    messages_without_gloss,
)
from annotation.selectors.marks import SHOWN_STATES
from core.conversation.models import ThreadMessage
from core.jobs.models import OPEN_STATES, JobState
from core.jobs.services import leases
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import Project, User
from core.people.services import audit_log
from research.inference.backends.captioners import Decoding, FailedImage, LoadedTranslator
from research.inference.services import routing
from research.inference.services.captioning import check_cost, translated_texts
from research.inference.services.executor import SLICE_S, Clock
from research.inference.services.translating import (
    GIVEN_UP_AFTER,
    SKIPPED_AFTER,
    TranslationFailedError,
    TranslationSlice,
    usage_of,
)

DECODING = Decoding(max_tokens=200)
"""(ours) Greedy, and long enough for the longest captions."""
MESSAGE_DECODING = Decoding(max_tokens=500)
"""(ours) As much as the smallest translators write; the end of a longer message is missing."""
LATE_BY = timedelta(minutes=1)
"""(ours) How long a submission may take from its time to its commit."""


class GlossError(Exception):
    """Captions cannot be translated so; the message says why."""


def ask_for_glosses(
    *,
    project: Project,
    languages: Sequence[Language],
    by_whom: GlossTranslator,
    keeps_up: bool,
    by: User,
    now: datetime,
) -> list[GlossRequest]:
    """Request glosses of the captions in `languages` that have none; those of another translator are replaced.

    Then call `annotation.tasks.ask_for_glosses_of`.

    Raises
    ------
    GlossError
    """
    translator = by_whom.translator
    if lacking := [language.name for language in languages if language.pk not in by_whom.reads]:
        message = _("“%(name)s” does not translate from %(languages)s into English.")
        raise GlossError(message % {"name": translator.name, "languages": ", ".join(sorted(lacking))})
    requests = []
    with transaction.atomic():
        for language in sorted(languages, key=lambda one: one.pk):
            values: dict[str, Any] = {"translator": translator, "queue": by_whom.queue, "keeps_up": keeps_up}
            values |= {"asked_by": by, "asked_at": now, "state": JobState.QUEUED, "lease_until": None, "attempts": 0}
            values |= {"error": "", "traceback": "", "finished_at": None}
            request, _new = GlossRequest.objects.update_or_create(project=project, language=language, defaults=values)
            for made in glosses_in(project, language):
                made.exclude(translator=translator, problem="").delete()
            details = {"translator": translator.name, "keeps_up": keeps_up}
            about = language.english_name
            audit_log.record(project=project, action="glosses.asked", about=about, by=by, now=now, details=details)
            requests.append(request)
    return requests


def delete_glosses(*, project: Project, language: Language, by: User, now: datetime) -> None:
    """Stop translating, and delete what was translated."""
    with transaction.atomic():
        # First the request: without it, no worker stores another one.
        GlossRequest.objects.filter(project=project, language=language).delete()
        for made in glosses_in(project, language):
            made.delete()
        audit_log.record(project=project, action="glosses.deleted", about=language.english_name, by=by, now=now)


def requests_waiting(*, now: datetime) -> list[int]:
    """List requests to send to workers; those that keep up are queued again once captions or messages have come."""
    since = OuterRef("finished_at") - LATE_BY
    captions = Tally.objects.filter(
        round__project=OuterRef("project"), round__language=OuterRef("language"), last_at__gt=since
    )
    messages = ThreadMessage.objects.filter(thread__project=OuterRef("project"), gloss=None, at__gt=since)
    messages = messages.filter(Q(language=OuterRef("language")) | Q(language=None), is_reply=False)
    has_new = Exists(captions) | Q(Exists(messages), translator__backend__in=backends_here())
    done = GlossRequest.objects.filter(has_new, keeps_up=True, state=JobState.DONE)
    done.update(state=JobState.QUEUED, lease_until=None, attempts=0)
    return leases.rows_to_nudge(GlossRequest.objects.all(), now=now)


def is_for_another(*, request_id: int, now: datetime) -> bool:
    """Whether the translator does not fit this process, and fits another listening worker."""
    request = GlossRequest.objects.filter(pk=request_id, state__in=OPEN_STATES).select_related("translator").first()
    if request is None:
        return False
    return routing.is_for_another(routing.needs_of(request.translator), queue=request.queue, now=now)


def execute_request(*, request_id: int, clock: Clock, slice_s: float = SLICE_S) -> bool:
    """Translate for at most `slice_s`; returns whether there is more to do."""
    rows = GlossRequest.objects.filter(pk=request_id).select_related("translator", "asked_by", "project", "language")
    request = leases.claim(rows, now=clock())
    if request is None:
        return False
    with leases.working_for(request.asked_by):
        tag = request.language_id
        return _GlossSlice(request, clock, slice_s, language=tag, decoding=DECODING, writes=ENGLISH).execute()
    return False


class _GlossSlice(TranslationSlice):
    """One worker's slice of time on one request."""

    def next_texts(self, size: int) -> list[Caption] | list[ThreadMessage]:
        captions = list(captions_without_gloss(self.row.project_id, self.tag).order_by("pk")[:size])
        return captions or list(islice(messages_without_gloss(self.row), size))

    def translate(self, translation: LoadedTranslator, texts: list[Caption] | list[ThreadMessage]) -> None:
        used = (self.row.input_tokens, self.row.output_tokens)
        check_cost(getattr(translation, "prices", None), used)
        if self.row.attempts > SKIPPED_AFTER:
            results: list[Any] = [FailedImage(_("The worker died while it translated it.")) for _text in texts]
        else:
            results = self.meanwhile(
                lambda: translated_texts(
                    translation,
                    [one.text for one in texts],
                    keys=[str(one.pk) for one in texts],
                    language=self.tag,
                    decoding=self.decoding if isinstance(texts[0], Caption) else MESSAGE_DECODING,
                    from_it=True,
                )
            )
        self._store(texts, results, usage=usage_of(translation))
        self._check_going_on(results)

    def _store(self, texts: Sequence[Any], results: Sequence[Any], *, usage: tuple[int, int]) -> None:
        about = {"translator": self.row.translator, "version": _version_of(self.row), "made_at": self.clock()}
        of_captions = isinstance(texts[0], Caption)
        rows: QuerySet[Any] = (
            Caption.objects.filter(state__in=SHOWN_STATES) if of_captions else ThreadMessage.objects.all()
        )
        gloss: Any = CaptionGloss if of_captions else MessageGloss
        field = "caption" if of_captions else "message"
        with transaction.atomic():
            # Captions before the request, as where one is rewritten; and what was rewritten meanwhile is left out.
            kept = rows.filter(pk__in=[one.pk for one in texts]).order_by("pk")
            now_there = dict(kept.select_for_update(no_key=True, of=("self",)).values_list("pk", "text"))
            used = {"input_tokens": F("input_tokens") + usage[0], "output_tokens": F("output_tokens") + usage[1]}
            self.renew(attempts=0, **used)
            gloss.objects.bulk_create(
                (
                    gloss(**{field: source}, text=getattr(one, "text", ""), problem=getattr(one, "reason", ""), **about)
                    for source, one in zip(texts, results, strict=True)
                    if now_there.get(source.pk) == source.text
                ),
                ignore_conflicts=True,
            )
        self.row.attempts = 0
        self.row.refresh_from_db(fields=["input_tokens", "output_tokens"])

    def _check_going_on(self, results: Sequence[Any]) -> None:
        made = CaptionGloss.objects.filter(
            caption__round__project=self.row.project_id, caption__round__language=self.tag
        )
        if made.filter(problem="").exists() or made.count() < GIVEN_UP_AFTER:
            return
        reason = next((one.reason for one in reversed(results) if isinstance(one, FailedImage)), "")
        raise TranslationFailedError(
            _("No caption could be translated. The last failure: %(reason)s") % {"reason": reason}
        )


def _version_of(request: GlossRequest) -> str:
    """What identifies the translator: the source has its commit, or it told the digest of its files."""
    known = (request.translator.source, *(request.described.get(name, "") for name in ("model", "revision", "files")))
    return ", ".join(dict.fromkeys(str(one) for one in known if one))[:200]
