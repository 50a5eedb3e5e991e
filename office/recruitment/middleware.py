"""Keeps people of a panel to the number of batches that their study is about."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin

from core.people.requests import user_of
from office.recruitment.selectors.work import batches_had, study_in_progress

TAKING = frozenset({"annotation:batch-take", "annotation:verification-take", "sxs_eval:batch-take"})


class StudyLimits(MiddlewareMixin):
    def process_view(self, request: HttpRequest, _view: Any, *_arguments: Any) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or match.view_name not in TAKING or not request.user.is_authenticated:
            return None
        participant = study_in_progress(user_of(request))
        if participant is None or batches_had(participant) < participant.study.batches:
            return None
        return redirect("recruitment:study-finish")
