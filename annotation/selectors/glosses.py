"""Read which translators can translate captions into English, where texts go, and how far a request is.

Captions go to each of them. Messages of people go only to those that run on the machines of this installation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from annotation.models import Caption, CaptionGloss, GlossRequest, MessageGloss
from annotation.rules.text_checks import is_mostly_foreign
from annotation.selectors.marks import SHOWN_STATES
from core.conversation.models import ThreadMessage
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from core.people.models import LanguageSkill, Project
from core.people.permissions import usable_in
from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError
from research.inference.backends.endpoint_options import prices_of
from research.inference.models import Translator


@dataclass(frozen=True)
class GlossTranslator:
    """A translator that reads some languages, and where the texts go that it gets."""

    translator: Translator
    reads: frozenset[str]
    place: str
    queue: str


@dataclass(frozen=True)
class GlossProgress:
    """`waiting` texts have no gloss yet, among them `captions` of `characters` in all; `failed` ones never will."""

    request: GlossRequest | None
    made: int
    failed: int
    waiting: int
    captions: int
    characters: int
    cost: str

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for last, for a form."""
        last = self.request
        return {"translator": last.translator_id, "keeps_up": last.keeps_up} if last else {}


def gloss_translators(project: Project) -> list[GlossTranslator]:
    """List the translators that `project` may use and that translate into English."""
    found = []
    for translator in Translator.objects.filter(usable_in(project)).order_by("name"):
        try:
            backend = registry.translator_named(translator.backend)
            backend.check(translator.spec)
            reads = frozenset(registry.languages_read(backend, translator.spec))
        except BackendSettingsError:
            continue
        if reads:
            place = _place(translator, package=registry.package_of(backend), is_remote=hasattr(backend, "is_remote"))
            found.append(GlossTranslator(translator, reads, place, backend.queue))
    return found


def backends_here() -> list[str]:
    """List the backends whose translators run on this installation alone: no endpoints, and nothing of a package."""
    known = registry.translators().items()
    return [name for name, one in known if not registry.package_of(one) and not hasattr(one, "is_remote")]


def _place(translator: Translator, *, package: str, is_remote: bool) -> str:
    if package:
        text = _("Runs in the package %(package)s, which may send captions elsewhere.") % {"package": package}
    elif not is_remote:
        text = _("Runs on the machines of this installation. Captions stay here.")
    else:
        text = _("Sends captions to the endpoint “%(name)s”, outside this installation.") % {"name": translator.source}
    if is_remote and (prices := prices_of(translator.options)):
        costs = _("A million tokens cost %(read)s to read and %(written)s to write.")
        text = f"{text} {costs % {'read': f'{prices.input:g}', 'written': f'{prices.output:g}'}}"
    return text


def captions_without_gloss(project: Project | int, language: Language | str) -> QuerySet[Caption]:
    """Find captions of people that managers check and that nobody tried to translate."""
    captions = Caption.objects.filter(round__project=project, round__language=language, state__in=SHOWN_STATES)
    return captions.filter(item__isnull=False, gloss=None)


def messages_in(project: Project | int, language: Language | str) -> QuerySet[ThreadMessage]:
    """Find messages in a language: of work in it, or else by somebody who knows no other besides English."""
    known = LanguageSkill.objects.filter(user=OuterRef("thread__person"))
    knows = Exists(known.filter(language=language)) & ~Exists(known.exclude(language__in=[language, ENGLISH]))
    return ThreadMessage.objects.filter(Q(language=language) | Q(knows, language=None), thread__project=project)


def messages_without_gloss(request: GlossRequest) -> Iterator[ThreadMessage]:
    """Find what people wrote to managers that `request` has yet to translate; nothing in another script."""
    if request.translator.backend not in backends_here():
        return
    waiting = messages_in(request.project_id, request.language_id).filter(gloss=None, is_reply=False).order_by("pk")
    yield from (one for one in waiting if not is_mostly_foreign(one.text, request.language))


def glosses_in(project: Project, language: Language) -> tuple[QuerySet[CaptionGloss], QuerySet[MessageGloss]]:
    of_captions = CaptionGloss.objects.filter(caption__round__project=project, caption__round__language=language)
    return of_captions, MessageGloss.objects.filter(message__in=messages_in(project, language))


def gloss_progress(project: Project, language: Language) -> GlossProgress:
    requests = GlossRequest.objects.filter(project=project, language=language)
    request = requests.select_related("translator", "language").first()
    captions = captions_without_gloss(project, language).aggregate(
        captions=Count("pk"), characters=Sum(Length("text"), default=0)
    )
    messages = sum(1 for _one in messages_without_gloss(request)) if request else 0
    numbers = {"made": Count("pk", filter=Q(problem="")), "failed": Count("pk", filter=~Q(problem=""))}
    counts = [kind.aggregate(**numbers) for kind in glosses_in(project, language)]
    prices = prices_of(request.translator.options) if request and request.input_tokens else None
    return GlossProgress(
        request=request,
        cost=f"{prices.cost((request.input_tokens, request.output_tokens)):.2f}" if prices and request else "",
        made=sum(one["made"] for one in counts),
        failed=sum(one["failed"] for one in counts),
        waiting=captions["captions"] + messages,
        **captions,
    )
