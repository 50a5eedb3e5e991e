"""What the services refuse, each with a code that stays and the sentence that the pages say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import Http404
from django.utils.translation import gettext as _

from allocation.refusals import refusal_of
from annotation.permissions import has_assigned_pictures
from people.api.problems import ApiError, explain
from people.models import Project, User

explain(
    {
        "not-qualified": "Something keeps you from this round; errors says what, such as consent or feedback to read.",
        "pool-closed": "The round hands out nothing at present.",
        "pool-busy": "Others are taking the last of it this very moment. Ask again in some seconds.",
        "no-tasks-left": "Nothing is left for you in this round.",
        "stale-state": "The batch is past the stage that this is about, or not there yet.",
        "unrated-images": "Every caption has to be rated first; errors names the positions.",
        "incomplete-batch": "Captions are missing or cannot be handed in; errors says why, by position.",
        "near-copy": "Captions are almost the English ones; errors says which. Change them, or send copies_seen.",
        "invalid-caption": "The text cannot be kept as it is.",
        "stale-draft": "The text was changed since the revision you began from; text and revision are what is stored.",
        "lease-expired": "The lease is over. What was written is kept; the batch can be taken up again.",
        "batch-returned": "The batch was given back. It can be taken up again.",
        "no-tasks-available": "Everything in the batch has gone to others since.",
        "open-batch-exists": "Another batch of the round is in your hands; batch says which.",
        "images-assigned": "You have pictures of the project to finish yourself, and would read what others wrote.",
        "release-settings": "The project cannot be released as it is; errors says why.",
    }
)


@contextmanager
def refusals() -> Iterator[None]:
    """Answer with a problem where a service refuses."""
    try:
        yield
    except Exception as error:
        refusal = refusal_of(error)
        if refusal.status == 404:
            raise Http404(refusal.message) from None
        raise ApiError(refusal.status, refusal.code, refusal.message, refusal.errors, **refusal.stored) from None


def nothing_left(sentence: str) -> ApiError:
    return ApiError(409, "no-tasks-left", sentence)


def check_no_assigned_pictures(user: User, project: Project) -> None:
    """What others wrote is not for who has yet to write, judge or guess about the same pictures.

    Raises
    ------
    ApiError
    """
    if has_assigned_pictures(user, project):
        raise ApiError(
            409,
            "images-assigned",
            _("You have a batch with pictures of this project to finish yourself, and the file says what others wrote "
              "about them. Hand that batch in first, or ask another manager for the file."),
        )  # fmt: skip
