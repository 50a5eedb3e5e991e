"""Read which translators can translate captions into English, where texts go, and how far a request is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from annotation.models import Caption, CaptionGloss, GlossRequest
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
    """`waiting` captions of `characters` in all have no gloss yet; `failed` ones could not be translated."""

    request: GlossRequest | None
    made: int
    failed: int
    waiting: int
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


def messages_without_gloss(project: Project | int, language: Language | str) -> QuerySet[ThreadMessage]:
    return messages_in(project, language).filter(gloss=None)


def gloss_progress(project: Project, language: Language) -> GlossProgress:
    request = GlossRequest.objects.filter(project=project, language=language).select_related("translator").first()
    waiting = captions_without_gloss(project, language).aggregate(
        waiting=Count("pk"), characters=Sum(Length("text"), default=0)
    )
    made = CaptionGloss.objects.filter(caption__round__project=project, caption__round__language=language)
    counts = made.aggregate(made=Count("pk", filter=Q(problem="")), failed=Count("pk", filter=~Q(problem="")))
    prices = prices_of(request.translator.options) if request and request.input_tokens else None
    return GlossProgress(
        request=request,
        cost=f"{prices.cost((request.input_tokens, request.output_tokens)):.2f}" if prices and request else "",
        **waiting,
        **counts,
    )
