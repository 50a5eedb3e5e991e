"""Setting seasons up. The terms of a season never change once it has begun; its texts may."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.people.models import Invitation, Project, Role, User
from core.people.services import audit_log
from core.people.services.invitations import invite, revoke_invitation
from core.people.services.texts import ConsentGapsError
from gapgame.models import GameBatch, ItemSet, Season, SeasonAccess, SeasonLanguage
from gapgame.rules.clock import time_zones
from gapgame.selectors.setup import playable_of
from research.inference.models import WordVectorSet

STILL = timedelta(seconds=30)
"""How long before the start the terms are frozen: a change then would collide with the first sentences."""

PUNCTUAL = timedelta(minutes=15)
"""How far in the past a start may be when it is set: somebody who means "now" needs a while to fill in the form."""

PLACES = 10_000_000
"""Limit of the invitation that admits everybody: more than there will be players."""

SLUG_LENGTH = 40
TERMS = ("starts_at", "ends_at", "time_zone", "batch_size", "access", "needs_address")
TAKEN = frozenset({"new", "items", "turns", "vectors"})
"""Slugs that are taken by pages."""


class SeasonError(Exception):
    """The season is not possible; the message says why and what to do."""


class SeasonStartedError(SeasonError):
    """The season is being played, or is about to be."""


class SeasonNameTakenError(SeasonError):
    pass


@dataclass(frozen=True)
class SeasonTexts:
    """Settings that may change at any time."""

    name: str
    description: str = ""
    prizes: str = ""


@dataclass(frozen=True)
class SeasonTerms:
    """Settings that never change once the season has begun. `vectors` by the tag of the language they score."""

    starts_at: datetime
    ends_at: datetime
    time_zone: str
    vectors: Mapping[str, WordVectorSet]
    batch_size: int = 100
    access: SeasonAccess = SeasonAccess.INVITED
    needs_address: bool = False


def create_season(
    *, project: Project, item_set: ItemSet, texts: SeasonTexts, terms: SeasonTerms, by: User, now: datetime
) -> Season:
    """Make a season; one that everybody may join gets its invitation.

    Raises SeasonNameTakenError: the project has a season of this name, as when a form is sent twice. Raises
    SeasonError: it could not be played so.
    """
    _check(terms, item_set, now=now, is_new_start=True)
    with transaction.atomic():
        # Anyone else who makes one in this project waits here.
        audit_log.lock(project, by)
        _check_name(project, texts.name)
        season = _insert(project, item_set, texts, terms, by)
        _set_languages(season, terms.vectors)
        _set_door(season, by=by, now=now)
        audit_log.record(project=project, action="season.added", about=season.slug, by=by, now=now)
    return season


def change_season(*, season: Season, texts: SeasonTexts, terms: SeasonTerms | None, by: User, now: datetime) -> Season:
    """Change the texts, at any time, and the `terms`, if given, before the season begins.

    Raises SeasonStartedError: there are terms, and it has begun or does within seconds; also where another manager
    moved the start meanwhile. Raises SeasonNameTakenError. Raises SeasonError: it could not be played so.
    """
    with transaction.atomic():
        if terms is None:
            season = Season.objects.select_for_update(no_key=True).get(pk=season.pk)
        else:
            season = _locked_before_start(season_id=season.pk, now=now)
        season.name, season.description, season.prizes = texts.name, texts.description, texts.prizes
        season.save(update_fields=["name", "description", "prizes"])
        if terms is not None:
            _check(terms, season.item_set, now=now, is_new_start=terms.starts_at != season.starts_at)
            _set_terms(season, terms, by=by, now=now)
        # Last, with the audit log: anyone else who makes or renames one in this project waits here.
        audit_log.lock(season.project, by)
        _check_name(season.project, texts.name, besides=season)
        audit_log.record(project=season.project, action="season.changed", about=season.slug, by=by, now=now)
    return season


def delete_season(*, season: Season, by: User, now: datetime) -> None:
    """Delete a season that has not begun; people who came in by its invitation stay in the project.

    Raises SeasonStartedError.
    """
    with transaction.atomic():
        season = _locked_before_start(season_id=season.pk, now=now)
        if season.invitation is not None:
            revoke_invitation(invitation=season.invitation, by=by, now=now)
        audit_log.record(project=season.project, action="season.removed", about=season.slug, by=by, now=now)
        season.delete()


def _locked_before_start(*, season_id: int, now: datetime) -> Season:
    """Lock the season and return it as it is now."""
    seasons = Season.objects.select_for_update(of=("self",)).select_related("item_set", "project", "invitation")
    season = seasons.get(pk=season_id)
    if has_begun(season, now) or GameBatch.objects.filter(player__season=season).exists():
        raise SeasonStartedError(
            _(
                "“%(season)s” has started. You can no longer change its sentences, languages, vectors, batch "
                "size, times and rules for joining."
            )
            % {"season": season.name}
        )
    return season


def _set_terms(season: Season, terms: SeasonTerms, *, by: User, now: datetime) -> None:
    for name in TERMS:
        setattr(season, name, getattr(terms, name))
    season.save(update_fields=TERMS)
    _set_languages(season, terms.vectors)
    _set_door(season, by=by, now=now)


def has_begun(season: Season, now: datetime) -> bool:
    """Return whether its terms are frozen."""
    return season.starts_at - STILL <= now


def _check(terms: SeasonTerms, item_set: ItemSet, *, now: datetime, is_new_start: bool) -> None:
    if terms.time_zone not in time_zones():
        raise SeasonError(_("Unknown time zone: %(zone)s.") % {"zone": terms.time_zone})
    if terms.ends_at <= terms.starts_at:
        raise SeasonError(_("The cut-off must be after the start."))
    if terms.ends_at <= now:
        raise SeasonError(_("This cut-off has already passed. Choose a later time."))
    if is_new_start and terms.starts_at < now - PUNCTUAL:
        raise SeasonError(
            _("This start has already passed. Choose a later time, or the current minute to start right away.")
        )
    if not terms.vectors:
        raise SeasonError(_("Choose at least one language with its word vectors."))
    playable = {row.language.pk: row for row in playable_of(item_set)}
    for tag, vectors in terms.vectors.items():
        if vectors.language_id != tag:
            text = _("The vectors “%(vectors)s” are not for the language %(language)s.")
            raise SeasonError(text % {"vectors": vectors.name, "language": tag})
        if tag not in playable or not playable[tag].ready:
            text = _("No sentence in use in the language %(language)s has images that are ready.")
            raise SeasonError(text % {"language": tag})


def _check_name(project: Project, name: str, *, besides: Season | None = None) -> None:
    same = Season.objects.filter(project=project, name=name)
    if besides is not None:
        same = same.exclude(pk=besides.pk)
    if same.exists():
        text = _("The project already has a season named “%(name)s”. Choose another name.")
        raise SeasonNameTakenError(text % {"name": name})


def _insert(project: Project, item_set: ItemSet, texts: SeasonTexts, terms: SeasonTerms, by: User) -> Season:
    wanted = slugify(texts.name)[:SLUG_LENGTH].strip("-") or "season"
    number = 0
    while True:
        number += 1
        slug = wanted if number == 1 else f"{wanted}-{number}"
        if slug in TAKEN or Season.objects.filter(slug=slug).exists():
            continue
        try:
            # Another project may take the address in between.
            with transaction.atomic():
                return Season.objects.create(
                    project=project,
                    item_set=item_set,
                    slug=slug,
                    created_by=by,
                    **vars(texts),
                    **{name: getattr(terms, name) for name in TERMS},
                )
        except IntegrityError:
            if not Season.objects.filter(slug=slug).exists():
                raise


def _set_languages(season: Season, vectors: Mapping[str, WordVectorSet]) -> None:
    SeasonLanguage.objects.filter(season=season).delete()
    SeasonLanguage.objects.bulk_create(
        SeasonLanguage(season=season, language_id=tag, vectors=chosen, signature=chosen.signature)
        for tag, chosen in sorted(vectors.items())
    )


def _set_door(season: Season, *, by: User, now: datetime) -> None:
    """Keep the invitation in line: it expires at the cut-off, and a season that is no longer open has none."""
    invitation = season.invitation
    if season.access == SeasonAccess.OPEN and invitation is not None:
        Invitation.objects.filter(pk=invitation.pk).update(expires_at=season.ends_at)
        invitation.expires_at = season.ends_at
        return
    if season.access == SeasonAccess.OPEN:
        try:
            season.invitation = invite(
                project=season.project,
                role=Role.PLAYER,
                places=PLACES,
                note=season.name,
                expires_at=season.ends_at,
                created_by=by,
                now=now,
            )
        except ConsentGapsError as refused:
            raise SeasonError(str(refused)) from refused
    elif invitation is not None:
        revoke_invitation(invitation=invitation, by=by, now=now)
        season.invitation = None
    season.save(update_fields=["invitation"])
