"""What the services refuse: each refusal has a stable code, and the sentence that the pages show."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.permissions import has_assigned_images
from core.people.api.problems import ApiError, explain
from core.people.models import Project, User

explain(
    {
        "stale-state": "The batch is already past this stage, or has not reached it yet.",
        "unrated-images": "Rate every caption first; errors lists the positions.",
        "incomplete-batch": "Captions are missing or cannot be submitted; errors says why, by position.",
        "unconfirmed-captions": "Captions were saved with confirms=false; errors lists the positions.",
        "near-copy": "Captions are almost the English ones; errors says which. Change them, or send copies_seen.",
        "invalid-caption": "The text cannot be saved as it is.",
        "stale-draft": "The text has changed since your revision; text and revision hold the saved version.",
        "warnings-unseen": "Read the warnings in errors. Change the text, or send their codes in seen.",
        "rewrite-refused": "The caption can no longer be rewritten; detail says why.",
        "release-settings": "You cannot make a release yet; errors says why.",
    }
)


def check_no_assigned_images(user: User, project: Project) -> None:
    """Refuse to show captions by other people while some of their images are assigned to `user`.

    Raises ApiError.
    """
    if has_assigned_images(user, project):
        raise ApiError(
            409,
            "images-assigned",
            _("The file has other people’s captions of images in a batch that is assigned to you. Submit "
                "that batch first, or ask somebody else for the file."),
        )  # fmt: skip
