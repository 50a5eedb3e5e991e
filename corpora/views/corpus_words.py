"""Managers' pages of what is in a corpus: words, senses, sentences and candidates."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from corpora.formats.corpus_thumbnails import thumbnail
from corpora.forms.corpus_words import KINDS, REASONS, SOURCES, CandidatesForm, InstancesForm, WordsForm
from corpora.models import CorpusBuild, FileRole
from corpora.permissions import corpus_for
from corpora.selectors.corpus_contents import (
    images_shown,
    instances_of,
    is_being_built,
    nouns_shown,
    sentence_shown,
    word_shown,
)
from corpora.selectors.corpus_folders import folder_of
from parallel_text import looking
from parallel_text.looking import KEPT, NotBuiltError

WORDS_PER_PAGE = 50
SENTENCES_PER_PAGE = 20
IMAGES_PER_PAGE = 24

Page = Callable[..., HttpResponse]
"""Takes the request, the corpus, the context so far, and the other arguments of the address."""


def corpus_page(page: Page) -> Callable[..., HttpResponse]:
    """Find the corpus for its managers, and say so where the part that the page shows has not been built."""

    @require_safe
    @login_required
    @wraps(page)
    def view(request: HttpRequest, slug: str, corpus_slug: str, **about: Any) -> HttpResponse:
        build = corpus_for(request.user, slug, corpus_slug)
        context = {"project": build.project, "build": build, "is_being_built": is_being_built(build)}
        try:
            return page(request, build, context, **about)
        except NotBuiltError:
            return render(request, "corpora/corpus_not_built.html", context)

    return view


@corpus_page
def corpus_words(request: HttpRequest, build: CorpusBuild, context: dict[str, Any]) -> HttpResponse:
    asked = WordsForm(request.GET).asked()
    is_prefix = asked["match"] == "prefix"
    rows = looking.words(folder_of(build), search=asked["search"].lower(), is_prefix=is_prefix, sort=asked["sort"])
    page = Paginator(rows, WORDS_PER_PAGE).get_page(request.GET.get("page"))
    context |= {"form": WordsForm(initial=asked), "asked": asked, "page": page}
    return render(request, "corpora/corpus_words.html", context)


@corpus_page
def corpus_word(request: HttpRequest, build: CorpusBuild, context: dict[str, Any]) -> HttpResponse:
    lemma, asked = _text(request, "word"), InstancesForm(request.GET).asked()
    shown = word_shown(build, lemma)
    if shown is None:
        raise Http404(_("The corpus has no such word."))
    rows = instances_of(build, lemma, synset=asked["sense"], least_n=asked["n"])
    page = Paginator(rows, SENTENCES_PER_PAGE).get_page(request.GET.get("page"))
    context |= {"shown": shown, "word": shown.word, "asked": asked, "page": page, "nouns": nouns_shown(list(page))}
    context["levels"] = range(max(shown.word.by_n, default=0) + 1)
    context["source"] = SOURCES.get(shown.word.source, shown.word.source)
    context["has_files"] = _has_files(build)
    return render(request, "corpora/corpus_word.html", context)


@corpus_page
def corpus_sense(request: HttpRequest, build: CorpusBuild, context: dict[str, Any]) -> HttpResponse:
    lemma, synset = _text(request, "word"), _text(request, "synset")
    shown = word_shown(build, lemma)
    sense = next((one for one in shown.senses if one.sense.synset == synset), None) if shown else None
    if sense is None:
        raise Http404(_("The corpus has no such sense."))
    page = Paginator(looking.images(folder_of(build), synset), IMAGES_PER_PAGE).get_page(request.GET.get("page"))
    context |= {"shown": shown, "sense": sense, "page": page, "images": images_shown(build, list(page))}
    context["has_files"] = _has_files(build)
    return render(request, "corpora/corpus_sense.html", context)


@corpus_page
def corpus_sentence(request: HttpRequest, build: CorpusBuild, context: dict[str, Any], *, number: int) -> HttpResponse:
    context["sentence"] = sentence_shown(build, number)
    if context["sentence"] is None:
        raise Http404(_("The corpus has no such sentence."))
    return render(request, "corpora/corpus_sentence.html", context)


@corpus_page
def corpus_candidates(request: HttpRequest, build: CorpusBuild, context: dict[str, Any]) -> HttpResponse:
    asked = CandidatesForm(request.GET).asked()
    rows = looking.candidates(folder_of(build), **asked | {"search": asked["search"].lower()})
    page = Paginator(rows, WORDS_PER_PAGE).get_page(request.GET.get("page"))
    kinds, reasons = dict(KINDS), dict(REASONS)
    context |= {"form": CandidatesForm(initial=asked), "page": page}
    context["rows"] = [
        (row, kinds.get(row.kind, row.kind), reasons.get(row.reason or KEPT, row.reason), SOURCES.get(row.source, ""))
        for row in page
    ]
    return render(request, "corpora/corpus_candidates.html", context)


@corpus_page
def corpus_image(request: HttpRequest, build: CorpusBuild, context: dict[str, Any]) -> HttpResponse:
    image = looking.image_named(folder_of(build), _text(request, "synset"), _text(request, "file"))
    content = thumbnail(build, image.file) if image else None
    if content is None:
        raise Http404(_("The corpus has no file of this image."))
    response = HttpResponse(content, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=86400"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _text(request: HttpRequest, name: str) -> str:
    # Neither database stores a NUL, and so no word has one.
    return request.GET.get(name, "").replace("\0", "")


def _has_files(build: CorpusBuild) -> bool:
    return build.files.filter(role=FileRole.IMAGES).exists()
