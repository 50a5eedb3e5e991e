"""Entries of a project's audit log in words: a sentence for each code of an action, from its details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

SENTENCES: Mapping[str, Promise] = {
    "account.deleted": gettext_lazy("%(person)s deleted their account."),
    "annotator.excluded": gettext_lazy("The captions and ratings of %(person)s in %(about)s were excluded."),
    "annotator.lifted": gettext_lazy("The decision about %(person)s in %(about)s was reversed."),
    "annotator.paused": gettext_lazy("%(person)s was paused in %(about)s."),
    "annotator.qualified": gettext_lazy("%(person)s was qualified in %(about)s."),
    "batch.moved": gettext_lazy(
        "A batch of %(about)s that was assigned to %(person)s was reassigned to somebody else."
    ),
    "batch.returned": gettext_lazy("A batch of %(about)s was taken back from %(person)s."),
    "caption.checked": gettext_lazy("A caption of %(about)s, by %(person)s, was checked."),
    "caption.returned": gettext_lazy("A caption of %(about)s was returned to %(person)s for correction."),
    "captions.exported": gettext_lazy("Captions were downloaded: %(about)s."),
    "captions.imported": gettext_lazy("Captions were imported: %(about)s."),
    "collection.deleted": gettext_lazy("A collection was deleted: %(about)s."),
    "collection.duplicated": gettext_lazy("A collection was duplicated: %(about)s."),
    "collection.image-counted-again": gettext_lazy("An image of a collection counts in results again: %(about)s."),
    "collection.image-left-out": gettext_lazy("An image of a collection was left out of results: %(about)s."),
    "collection.image-taken-out": gettext_lazy("An image was taken out of a collection: %(about)s."),
    "collection.renamed": gettext_lazy("The name or the description of a collection was changed: %(about)s."),
    "comparison.added": gettext_lazy("A comparison was created: %(about)s."),
    "comparison.counted-again": gettext_lazy("A comparison counts in results again: %(about)s."),
    "comparison.deleted": gettext_lazy("A comparison was deleted: %(about)s."),
    "comparison.left-out": gettext_lazy("A comparison was left out of results: %(about)s."),
    "comparison.changed": gettext_lazy("The settings of a comparison were changed: %(about)s."),
    "consent-text.published": gettext_lazy("Version %(version)s of the consent text was published."),
    "consent.withdrawn": gettext_lazy("%(person)s withdrew their consent. Their earlier answers are kept."),
    "consent.withdrawn-with-answers": gettext_lazy(
        "%(person)s withdrew their consent. Their earlier answers no longer count."
    ),
    "exclusion.undone": gettext_lazy("The captions and ratings of %(person)s in %(about)s count again."),
    "feedback.given": gettext_lazy("%(person)s was given feedback on %(about)s."),
    "guidelines.published": gettext_lazy("Guidelines were published: %(about)s."),
    "images.edited": gettext_lazy("Titles, authors, licences or sources of images were changed: %(about)s."),
    "instructions.published": gettext_lazy("Instructions for raters were published: %(about)s."),
    "invitation.extended": gettext_lazy("An invitation was extended: %(about)s."),
    "invitation.made": gettext_lazy("An invitation was made: %(about)s. Places: %(places)s."),
    "invitation.revoked": gettext_lazy("An invitation was revoked: %(about)s."),
    "invitation.sent-again": gettext_lazy("The link of an invitation was sent again: %(about)s."),
    "invitations.extended": gettext_lazy("Invitations were extended: %(about)s. Number: %(invitations)s."),
    "invitations.made": gettext_lazy(
        "Invitations were made: %(about)s. Number: %(invitations)s, with places: %(places)s."
    ),
    "invitations.revoked": gettext_lazy("Invitations were revoked: %(about)s. Number: %(invitations)s."),
    "invitations.sent-again": gettext_lazy(
        "The links of invitations were sent again: %(about)s. Number: %(invitations)s."
    ),
    "judgements.exported": gettext_lazy("Judgements were downloaded: %(about)s."),
    "language.added": gettext_lazy("A language was added: %(about)s."),
    "language-table.replaced": gettext_lazy(
        "The table of where languages are spoken was replaced by version %(about)s."
    ),
    "model.changed": gettext_lazy("The details of a model were changed: %(about)s."),
    "model-caption.switched-off": gettext_lazy("A caption of a model was switched off: %(about)s."),
    "model-caption.switched-on": gettext_lazy("A caption of a model is in use again: %(about)s."),
    "model.deleted": gettext_lazy("A model was deleted: %(about)s."),
    "model.retired": gettext_lazy("A model was retired: %(about)s."),
    "model.restored": gettext_lazy("A model was restored: %(about)s."),
    "owner.changed": gettext_lazy("The owner or the sharing was changed: %(about)s."),
    "player.decided": gettext_lazy("The player %(person)s was reviewed: %(about)s."),
    "project.archived": gettext_lazy("The project was archived."),
    "project.created": gettext_lazy("The project was created."),
    "project.deletion-asked": gettext_lazy("The deletion of the project was requested."),
    "project.duplicated": gettext_lazy("The settings of the project were copied to a new one: %(about)s."),
    "project.renamed": gettext_lazy("The name or the description of the project was changed."),
    "project.restored": gettext_lazy("The project was restored from the archive."),
    "study.made": gettext_lazy("A study for people of a panel was made: %(about)s."),
    "study.changed": gettext_lazy("A study for people of a panel was changed: %(about)s."),
    "rates.changed": gettext_lazy("The hourly rates were changed."),
    "rater.excluded": gettext_lazy("%(person)s was excluded from a comparison: %(about)s."),
    "rater.paused": gettext_lazy("%(person)s was paused in a comparison: %(about)s."),
    "rater.restored": gettext_lazy("%(person)s was allowed to continue in a comparison: %(about)s."),
    "release.done": gettext_lazy("A release is ready: %(about)s."),
    "release.failed": gettext_lazy("A release could not be made: %(about)s."),
    "release.started": gettext_lazy("A release was requested: %(about)s."),
    "role.given": gettext_lazy("%(person)s joined by invitation. Role: %(about)s."),
    "role.removed": gettext_lazy("%(person)s no longer has the role %(about)s."),
    "round.accepted": gettext_lazy("A round was accepted: %(about)s."),
    "round.changed": gettext_lazy("The settings of a round were changed: %(about)s."),
    "round.closed": gettext_lazy("A round was closed: %(about)s."),
    "round.opened": gettext_lazy("A round was opened: %(about)s."),
    "round.planned": gettext_lazy("A round was planned: %(about)s."),
    "round.rejected": gettext_lazy("A round was rejected: %(about)s."),
    "round.reopened": gettext_lazy("A round was reopened: %(about)s."),
    "round.skipped": gettext_lazy("A round was skipped: %(about)s."),
    "round.taken-back": gettext_lazy("Unfinished batches of a round were taken back: %(about)s."),
    "practice.allowed-again": gettext_lazy("%(person)s may try the practice again: %(about)s."),
    "practice.published": gettext_lazy("A version of the practice was published: %(about)s, version %(version)s."),
    "season.added": gettext_lazy("A season of the game was created: %(about)s."),
    "season.changed": gettext_lazy("A season of the game was changed: %(about)s."),
    "season.closed": gettext_lazy("A season of the game was closed: %(about)s."),
    "season.removed": gettext_lazy("A season of the game was removed: %(about)s."),
    "tasks.asked-for": gettext_lazy("Images that had received an English caption were added."),
    "translation.published": gettext_lazy("A translation was published: %(about)s, of version %(version)s."),
    "turns.exported": gettext_lazy("Turns of a season were downloaded: %(about)s."),
    "webhook.added": gettext_lazy("A webhook was added: %(about)s."),
    "webhook.removed": gettext_lazy("A webhook was turned off: %(about)s."),
}
LEFT_OUT_DETAILS = frozenset({"reason", "invitations", "places", "version", "answers_kept"})
"""Details that are in a sentence or beside it."""


class _SentenceValues(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "–"


def sentence_of(action: str, *, about: str, person: str, details: Mapping[str, Any]) -> str:
    """Describe `action`, given by its code, with the names of its object and person."""
    is_with_answers = action == "consent.withdrawn" and details.get("answers_kept") is False
    sentence = SENTENCES.get("consent.withdrawn-with-answers" if is_with_answers else action)
    values = _SentenceValues({name: str(value) for name, value in details.items()} | {"about": about, "person": person})
    return str(sentence) % values if sentence else f"{action}: {about}"


def unsaid_details(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the details that the sentence leaves out: names as they are stored, in English."""
    return sorted((name.replace("_", " "), value) for name, value in details.items() if name not in LEFT_OUT_DETAILS)
