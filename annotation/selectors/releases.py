"""What a release contains, and what keeps a project from making one."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Caption, Release, Round, RoundKind, RoundState
from core.allocation.models import Batch, BatchState
from core.images.models import CollectionImage, Image
from core.images.selectors.attributions import lacks_author, lacks_licence
from core.jobs.models import OPEN_STATES, JobState
from core.jobs.rules.missing_packages import how_to_install_if_missing
from core.people.models import Project

DEFAULT_LICENCE = "CC-BY-4.0"
IMAGES_NAMED = 20
WRITES_TABLES = "pyarrow"
"""The package that writes the tables of a release, which is in the extra `research`."""


def released_rounds(project: Project) -> list[Round]:
    """Return the accepted main rounds, by language."""
    rounds = Round.objects.filter(project=project, kind=RoundKind.MAIN, state=RoundState.ACCEPTED)
    return sorted(
        rounds.select_related("language", "collection", "pool", "guidelines"),
        key=lambda round: (round.language_id, round.number),
    )


def releases_of(project: Project) -> QuerySet[Release]:
    """List all releases, the last first."""
    return Release.objects.filter(project=project).select_related("project", "created_by").order_by("-number")


def settings_of_next(project: Project) -> dict[str, Any]:
    """Return what the next release starts from: the settings of the newest, or else the project's name."""
    before = releases_of(project).first()
    if before is None:
        return {"title": project.name, "licence": DEFAULT_LICENCE, "authors": "", "description": ""}
    settings = {name: getattr(before, name) for name in ("title", "licence", "authors", "description")}
    return settings | {"include_images": before.has_images}


def release_before(release: Release) -> Release | None:
    """Return the last successful release before this one."""
    earlier = Release.objects.filter(project=release.project_id, number__lt=release.number, state=JobState.DONE)
    return earlier.order_by("-number").first()


def images_left_out(project: Project) -> list[list[str]]:
    """Return what a release requested now leaves out: the slug of the collection and the SHA-256 of each image."""
    entries = CollectionImage.objects.left_out().filter(collection__in=project.rounds.values("collection"))
    columns = ("collection__slug", "image__sha256")
    return [list(one) for one in entries.order_by(*columns).values_list(*columns)]


def missing_for_release(project: Project) -> list[str]:
    """Return why no release is possible now, each with what to do; empty if one is."""
    if how := how_to_install_if_missing(WRITES_TABLES):
        return [how]
    rounds = released_rounds(project)
    if not rounds:
        return [_("No main round has been accepted yet. A language is released once its main round is accepted.")]
    captions = Caption.objects.in_results().filter(round__in=rounds)
    if not captions.exists():
        return [_("No caption counts in the accepted rounds, so there is nothing to release.")]
    return [*_in_the_making(project), *_assigned(rounds), *_without_credit(rounds)]


def _in_the_making(project: Project) -> list[str]:
    going = Release.objects.filter(project=project, state__in=OPEN_STATES).first()
    if going is None:
        return []
    return [_("Release %(number)d is still being made. Wait until it is done.") % {"number": going.number}]


def _assigned(rounds: list[Round]) -> list[str]:
    concerned = Round.objects.filter(Q(pk__in=[round.pk for round in rounds]) | Q(verifies__in=rounds))
    concerned = concerned.select_related("language", "verifies")
    by_pool = {round.pool_id: round for round in concerned}
    open_batches = Batch.objects.filter(pool__in=by_pool, state=BatchState.OPEN)
    counts = open_batches.order_by().values_list("pool").annotate(batches=Count("pk"))
    unfinished = sorted((by_pool[pool].language.english_name, by_pool[pool].title, count) for pool, count in counts)
    return [
        ngettext(
            "%(language)s, %(round)s: %(number)d batch is unfinished. Wait for it, or return it.",
            "%(language)s, %(round)s: %(number)d batches are unfinished. Wait for them, or return them.",
            count,
        )
        % {"language": _(language), "round": title, "number": count}
        for language, title, count in unfinished
    ]


def _without_credit(rounds: list[Round]) -> list[str]:
    """Return described images without a licence, or without an author although the licence requires naming one."""
    doubtful = Image.objects.filter(Q(licence="") | Q(author="")).order_by()
    counted = Caption.objects.in_results().filter(round__in=rounds, image__in=doubtful)
    described = Image.objects.filter(pk__in=counted.values("image"))
    problems = []
    if lacking_licence := _keys(described.filter(lacks_licence()), rounds):
        problems.append(_("Licence missing: %(images)s.") % {"images": _named(lacking_licence)})
    if lacking_author := _keys(described.filter(lacks_author()), rounds):
        problems.append(_("Author missing: %(images)s.") % {"images": _named(lacking_author)})
    if problems:
        problems.append(
            _("Fill in what is missing in their collection, or import them again with a manifest that has it.")
        )
    return problems


def _keys(images: QuerySet[Image], rounds: list[Round]) -> list[str]:
    """Return a name for each image: its key in a collection of the rounds, or its hash."""
    collections = {round.collection_id for round in rounds}
    digests = dict(images.values_list("pk", "sha256"))
    entries = CollectionImage.objects.filter(collection__in=collections, image__in=list(digests))
    keys = dict(entries.values_list("image", "key"))
    return sorted(keys.get(image, digest) for image, digest in digests.items())


def _named(keys: list[str]) -> str:
    listed = ", ".join(keys[:IMAGES_NAMED])
    more = len(keys) - IMAGES_NAMED
    if more > 0:
        text = ngettext(
            "%(count)d images: %(listed)s and %(more)d more",
            "%(count)d images: %(listed)s and %(more)d more",
            more,
        )
        return text % {"count": len(keys), "listed": listed, "more": more}
    text = ngettext("%(count)d image: %(listed)s", "%(count)d images: %(listed)s", len(keys))
    return text % {"count": len(keys), "listed": listed}
