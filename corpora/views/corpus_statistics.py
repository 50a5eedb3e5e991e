"""Managers' page of the statistics of a corpus."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from corpora.models import CorpusBuild
from corpora.pages.corpus_statistics import statistics_page
from corpora.selectors.corpus_folders import folder_of
from corpora.selectors.corpus_statistics import statistics_in
from corpora.views.corpus_words import corpus_page
from parallel_text.statistics import Statistics


@corpus_page
def corpus_statistics(request: HttpRequest, build: CorpusBuild, context: dict[str, Any]) -> HttpResponse:
    context["page"] = statistics_page(Statistics.from_json(statistics_in(folder_of(build))))
    return render(request, "corpora/corpus_statistics.html", context)
