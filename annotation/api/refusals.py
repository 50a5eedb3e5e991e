"""What the services refuse: each refusal has a stable code, and the sentence that the pages show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import Http404
from django.utils.translation import gettext as _

from annotation.permissions import has_assigned_images
from core.allocation.refusals import refusal_of
from core.people.api.problems import ApiError, explain
from core.people.models import Project, User

explain(
    {
        "not-qualified": "You do not meet the requirements of this round; errors says which.",
        "pool-closed": "The round is closed for now.",
        "pool-busy": "Other people are taking the last tasks right now. Try again in a few seconds.",
        "no-tasks-left": "Nothing is left for you in this round.",
        "stale-state": "The batch is already past this stage, or has not reached it yet.",
        "unrated-images": "Rate every caption first; errors lists the positions.",
        "incomplete-batch": "Captions are missing or cannot be submitted; errors says why, by position.",
        "unconfirmed-captions": "Captions were saved with confirms=false; errors lists the positions.",
        "near-copy": "Captions are almost the English ones; errors says which. Change them, or send copies_seen.",
        "invalid-caption": "The text cannot be saved as it is.",
        "stale-draft": "The text has changed since your revision; text and revision hold the saved version.",
        "lease-expired": "The batch has expired. Drafts are kept; you can resume the batch.",
        "batch-returned": "The batch was returned. You can resume it.",
        "no-tasks-available": "Other people have taken everything in the batch since then.",
        "open-batch-exists": "Another batch of the round is assigned to you; batch says which.",
        "release-settings": "You cannot make a release yet; errors says why.",
    }
)


@contextmanager
def refusals_as_problems() -> Iterator[None]:
    """Answer with a problem if a service refuses."""
    try:
        yield
    except Exception as error:
        refusal = refusal_of(error)
        if refusal.status == 404:
            raise Http404(refusal.message) from None
        raise ApiError(refusal.status, refusal.code, refusal.message, refusal.errors, **refusal.stored) from None


def nothing_left(sentence: str) -> ApiError:
    return ApiError(409, "no-tasks-left", sentence)


def check_no_assigned_images(user: User, project: Project) -> None:
    """Refuse to show captions by other people while some of their images are assigned to `user`.

    Raises
    ------
    ApiError
    """
    if has_assigned_images(user, project):
        raise ApiError(
            409,
            "images-assigned",
            _("The file has other people’s captions of images in a batch that is assigned to you. Submit "
                "that batch first, or ask somebody else for the file."),
        )  # fmt: skip
