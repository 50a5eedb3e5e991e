"""Entries of a project's audit log in words: a sentence for each code of an action, from its details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

SENTENCES: Mapping[str, Promise] = {
    "account.deleted": _("%(person)s deleted their account."),
    "annotator.excluded": _("The captions and ratings of %(person)s in %(about)s were excluded."),
    "annotator.lifted": _("The decision about %(person)s in %(about)s was reversed."),
    "annotator.paused": _("%(person)s was paused in %(about)s."),
    "annotator.qualified": _("%(person)s was qualified in %(about)s."),
    "batch.moved": _("A batch of %(about)s that was assigned to %(person)s was reassigned to somebody else."),
    "batch.returned": _("A batch of %(about)s was taken back from %(person)s."),
    "glosses.asked": _("Translations of captions in %(about)s into English were requested."),
    "glosses.deleted": _("Translations of captions in %(about)s into English were deleted."),
    "caption.checked": _("A caption of %(about)s, by %(person)s, was checked."),
    "caption.kept": _("A caption of %(about)s with private details was left as it is."),
    "caption.left-out": _("A caption of %(about)s by %(person)s was left out for private details."),
    "caption.counted-again": _("A caption of %(about)s by %(person)s that was left out counts again."),
    "caption.reader-asked": _("%(person)s was asked for advice about a caption of %(about)s."),
    "caption.returned": _("A caption of %(about)s was returned to %(person)s for correction."),
    "data.exported": _("Data were downloaded: %(about)s."),
    "captions.exported": _("Captions were downloaded: %(about)s."),
    "captions.imported": _("Captions were imported: %(about)s."),
    "judgements.imported": _("Judgements were imported: %(about)s."),
    "collection.deleted": _("A collection was deleted: %(about)s."),
    "collection.duplicated": _("A collection was duplicated: %(about)s."),
    "collection.image-counted-again": _("An image of a collection counts in results again: %(about)s."),
    "collection.image-left-out": _("An image of a collection was left out of results: %(about)s."),
    "collection.image-taken-out": _("An image was taken out of a collection: %(about)s."),
    "collection.renamed": _("The name or the description of a collection was changed: %(about)s."),
    "comparison.added": _("A comparison was created: %(about)s."),
    "comparison.counted-again": _("A comparison counts in results again: %(about)s."),
    "comparison.deleted": _("A comparison was deleted: %(about)s."),
    "comparison.left-out": _("A comparison was left out of results: %(about)s."),
    "comparison.changed": _("The settings of a comparison were changed: %(about)s."),
    "consent-text.published": _("Version %(version)s of the consent text was published."),
    "consent.withdrawn": _("%(person)s withdrew their consent. Their earlier answers are kept."),
    "consent.withdrawn-with-answers": _("%(person)s withdrew their consent. Their earlier answers no longer count."),
    "exclusion.undone": _("The captions and ratings of %(person)s in %(about)s count again."),
    "feedback.given": _("%(person)s was given feedback on %(about)s."),
    "guidelines.published": _("Guidelines were published: %(about)s."),
    "import.undone": _("An import was undone: %(about)s."),
    "image.held-back": _("A reported image was paused or withdrawn."),
    "image.given-again": _("A reported image is given to people again."),
    "images.edited": _("Titles, authors, licences or sources of images were changed: %(about)s."),
    "instructions.published": _("Instructions for raters were published: %(about)s."),
    "invitation.extended": _("An invitation was extended: %(about)s."),
    "invitation.made": _("An invitation was made: %(about)s. Places: %(places)s."),
    "invitation.revoked": _("An invitation was revoked: %(about)s."),
    "invitation.sent-again": _("The link of an invitation was sent again: %(about)s."),
    "invitations.extended": _("Invitations were extended: %(about)s. Number: %(invitations)s."),
    "invitations.made": _("Invitations were made: %(about)s. Number: %(invitations)s, with places: %(places)s."),
    "invitations.revoked": _("Invitations were revoked: %(about)s. Number: %(invitations)s."),
    "invitations.sent-again": _("The links of invitations were sent again: %(about)s. Number: %(invitations)s."),
    "judgements.exported": _("Judgements were downloaded: %(about)s."),
    "language.added": _("A language was added: %(about)s."),
    "language-table.replaced": _("The table of where languages are spoken was replaced by version %(about)s."),
    "link.replaced": _("%(person)s was given a new personal link."),
    "link.revoked": _("The personal link of %(person)s was revoked."),
    "model.changed": _("The details of a model were changed: %(about)s."),
    "model-caption.switched-off": _("A caption of a model was switched off: %(about)s."),
    "model-caption.switched-on": _("A caption of a model is in use again: %(about)s."),
    "model.deleted": _("A model was deleted: %(about)s."),
    "model.retired": _("A model was retired: %(about)s."),
    "model.restored": _("A model was restored: %(about)s."),
    "owner.changed": _("The owner or the sharing was changed: %(about)s."),
    "player.decided": _("The player %(person)s was reviewed: %(about)s."),
    "project.archived": _("The project was archived."),
    "project.created": _("The project was created."),
    "project.deletion-asked": _("The deletion of the project was requested."),
    "project.duplicated": _("The settings of the project were copied to a new one: %(about)s."),
    "project.renamed": _("The name or the description of the project was changed."),
    "project.restored": _("The project was restored from the archive."),
    "study.made": _("A study for people of a panel was made: %(about)s."),
    "study.changed": _("A study for people of a panel was changed: %(about)s."),
    "prolific.token-set": _("The token for Prolific was replaced."),
    "panel-study.made": _("A draft was made at Prolific: %(about)s."),
    "panel-study.paid": _("Submissions were approved and bonuses paid at Prolific: %(about)s. Bonuses: %(bonuses)s."),
    "panel-study.payment-released": _("A payment of bonuses that Prolific did not make was struck out: %(about)s."),
    "panel-study.places-added": _("Places were added at Prolific: %(about)s. Places: %(places)s."),
    "panel-study.planned": _("The budget of a study at Prolific was set: %(about)s. Budget: %(budget)s."),
    "panel-study.published": _("A study was published at Prolific: %(about)s. Places: %(places)s."),
    "panel-study.steered": _("A study was paused, resumed or stopped at Prolific: %(about)s."),
    "rates.changed": _("The hourly rates were changed."),
    "rater.excluded": _("%(person)s was excluded from a comparison: %(about)s."),
    "rater.paused": _("%(person)s was paused in a comparison: %(about)s."),
    "rater.restored": _("%(person)s was allowed to continue in a comparison: %(about)s."),
    "release.done": _("A release is ready: %(about)s."),
    "release.failed": _("A release could not be made: %(about)s."),
    "release.started": _("A release was requested: %(about)s."),
    "role.given": _("%(person)s joined by invitation. Role: %(about)s."),
    "role.removed": _("%(person)s no longer has the role %(about)s."),
    "round.accepted": _("A round was accepted: %(about)s."),
    "round.changed": _("The settings of a round were changed: %(about)s."),
    "round.closed": _("A round was closed: %(about)s."),
    "round.opened": _("A round was opened: %(about)s."),
    "round.planned": _("A round was planned: %(about)s."),
    "round.rejected": _("A round was rejected: %(about)s."),
    "round.reopened": _("A round was reopened: %(about)s."),
    "round.skipped": _("A round was skipped: %(about)s."),
    "round.taken-back": _("Unfinished batches of a round were taken back: %(about)s."),
    "practice.allowed-again": _("%(person)s may try the practice again: %(about)s."),
    "practice.published": _("A version of the practice was published: %(about)s, version %(version)s."),
    "season.added": _("A season of the game was created: %(about)s."),
    "season.changed": _("A season of the game was changed: %(about)s."),
    "season.closed": _("A season of the game was closed: %(about)s."),
    "season.removed": _("A season of the game was removed: %(about)s."),
    "tasks.asked-for": _("Images that had received an English caption were added."),
    "translation.published": _("A translation was published: %(about)s, of version %(version)s."),
    "turns.exported": _("Turns of a season were downloaded: %(about)s."),
    "webhook.added": _("A webhook was added: %(about)s."),
    "webhook.removed": _("A webhook was turned off: %(about)s."),
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
    """Return the details that the sentence leaves out and that have a value: names as they are stored, in English."""
    known = ((name, value) for name, value in details.items() if value not in (None, "", [], {}))
    return sorted((name.replace("_", " "), value) for name, value in known if name not in LEFT_OUT_DETAILS)
