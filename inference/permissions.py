"""Who may register models, run them and look at what they made: from (user, id) to the row, or 404."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from inference.models import CaptioningModel, EmbeddingSet, Run, Trial
from people.models import Membership, Role, User
from people.permissions import manages_anything

READERS = (Role.MANAGER, Role.RESEARCHER)


def check_researcher(user: User | AnonymousUser) -> None:
    """Models are the installation's, as collections are: whoever does research in a project may use them.

    Raises
    ------
    Http404
        For whoever neither manages a project nor does research in one.
    """
    if not Membership.objects.filter(user=user.pk, role__in=READERS).exists() and not manages_anything(user):
        raise Http404(_("There is no such page."))


def model_for(user: User | AnonymousUser, model_id: int) -> CaptioningModel:
    """
    Raises
    ------
    Http404
        Also where it exists, for whoever does no research.
    """
    check_researcher(user)
    found = CaptioningModel.objects.select_related("english_model", "translator", "variant_of", "created_by")
    return get_object_or_404(found, pk=model_id)


def run_for(user: User | AnonymousUser, run_id: int) -> Run:
    """
    Raises
    ------
    Http404
        Also where it exists, for whoever does no research.
    """
    check_researcher(user)
    found = Run.objects.select_related("model", "encoder", "collection", "created_by").prefetch_related("languages")
    return get_object_or_404(found, pk=run_id)


def embedding_set_for(user: User | AnonymousUser, set_id: int) -> EmbeddingSet:
    """
    Raises
    ------
    Http404
        Also where it exists, for whoever does no research.
    """
    check_researcher(user)
    found = EmbeddingSet.objects.select_related("encoder", "run__collection", "captions_of", "language")
    return get_object_or_404(found, pk=set_id)


def trial_for(user: User | AnonymousUser, trial_id: int) -> Trial:
    """One that `user` began.

    Raises
    ------
    Http404
        Also where it exists, for anybody else.
    """
    check_researcher(user)
    found = Trial.objects.select_related("model", "image").prefetch_related("languages")
    return get_object_or_404(found, pk=trial_id, created_by=user.pk)
