"""Create, set up, start, stop and delete corpora that are built on the platform; one transaction each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from corpora.models import CorpusBuild, CorpusExclusion, CorpusStep, ExclusionKind, StepState
from corpora.selectors.corpus_configs import config_of
from corpora.services.corpus_jobs import advance
from images.services import file_storage
from parallel_text.config import ConfigError
from parallel_text.step_names import STEP_NAMES
from people.models import Project, User
from people.services import audit_log


class CorpusRefusedError(Exception):
    """It cannot be done; the message says why and what to do."""


def slug_of(name: str) -> str:
    """Return the slug of a corpus with this name."""
    return slugify(name)[:80].strip("-") or "corpus"


def create_build(
    *,
    project: Project,
    name: str,
    configuration: Mapping[str, Any] | None = None,
    by: User | None,
    now: datetime,
) -> CorpusBuild:
    """Create a corpus without files.

    Raises
    ------
    CorpusRefusedError
        Where the project has a corpus of this name.
    """
    slug = slug_of(name)
    with transaction.atomic():
        audit_log.lock(project, by)
        if CorpusBuild.objects.filter(project=project, slug=slug).exists():
            raise CorpusRefusedError(
                _("The project already has a corpus “%(slug)s”. Choose another name.") % {"slug": slug}
            )
        build = CorpusBuild.objects.create(
            project=project,
            slug=slug,
            name=name,
            configuration=dict(configuration or {}),
            created_at=now,
            created_by=by,
        )
        CorpusStep.objects.bulk_create(
            CorpusStep(build=build, position=position, name=step) for position, step in enumerate(STEP_NAMES, start=1)
        )
        record(build, "created", by=by, now=now)
    return build


def configure(*, build: CorpusBuild, configuration: Mapping[str, Any], by: User | None, now: datetime) -> None:
    """Replace the settings. What depends on those that changed is built again at the next start."""
    with transaction.atomic():
        build = locked(build, by)
        if build.configuration == configuration:
            return
        build.configuration = dict(configuration)
        build.save(update_fields=["configuration"])
        record(build, "changed", by=by, now=now, settings=build.configuration)


def start(
    *,
    build: CorpusBuild,
    steps: Collection[str] = STEP_NAMES,
    again: bool = False,
    by: User | None,
    now: datetime,
) -> None:
    """Bring steps up to date in the background, one after the other. Chunks that are written stay.

    Parameters
    ----------
    build : CorpusBuild
    steps : collection of str
        Those of `STEP_NAMES` that are to be done.
    again : bool
        Do them even where they are up to date: an aligner may draw at random.
    by : User, optional
    now : datetime

    Raises
    ------
    CorpusRefusedError
        Where files are missing, or the settings are wrong.
    """
    with transaction.atomic():
        build = locked(build, by)
        try:
            config_of(build)
        except ConfigError as error:
            raise CorpusRefusedError(str(error)) from error
        rows = build.steps.filter(name__in=steps)
        # Whoever has a job of these steps loses the lease with it, and writes nothing more.
        for row in rows:
            row.jobs.all().delete()
        rows.update(state=StepState.WAITING, again=again, error="")
        advance(build, now=now)
        first = next((name for name in STEP_NAMES if name in steps), "")
        record(build, "started", by=by, now=now, step=first, again=again)


def start_from(*, build: CorpusBuild, step: str, by: User | None, now: datetime) -> None:
    """Do a step and all those after it again.

    Raises
    ------
    CorpusRefusedError
    """
    start(build=build, steps=STEP_NAMES[STEP_NAMES.index(step) :], again=True, by=by, now=now)


def stop(*, build: CorpusBuild, by: User | None, now: datetime) -> None:
    """Stop building. Chunks that are written stay, and the next start continues after them."""
    with transaction.atomic():
        build = locked(build, by)
        going = build.steps.filter(state__in=[StepState.RUNNING, StepState.WAITING])
        if not going.exists():
            return
        for row in going:
            row.jobs.all().delete()
        going.update(state=StepState.IDLE)
        record(build, "stopped", by=by, now=now)


def delete_build(*, build: CorpusBuild, by: User | None, now: datetime) -> None:
    """Delete a corpus with all its files."""
    with transaction.atomic():
        build = locked(build, by)
        record(build, "deleted", by=by, now=now)
        build.delete()
        transaction.on_commit(lambda: file_storage.remove_all(build.folder))


def strike_out(
    *,
    build: CorpusBuild,
    kind: ExclusionKind,
    word: str = "",
    synset: str = "",
    image: str = "",
    reason: str = "",
    by: User | None,
    now: datetime,
) -> CorpusExclusion:
    """Strike a word, a sense or an image out of a corpus, and build again what depends on it.

    Raises
    ------
    CorpusRefusedError
        Where it has been struck out already.
    """
    with transaction.atomic():
        build = locked(build, by)
        about = {"word": word, "synset": synset, "image": image}
        try:
            with transaction.atomic():
                made = CorpusExclusion.objects.create(build=build, kind=kind, **about, reason=reason, at=now, by=by)
        except IntegrityError as error:
            raise CorpusRefusedError(_("That has been struck out already.")) from error
        record(build, "struck-out", by=by, now=now, kind=str(kind), reason=reason, **about)
        _rebuild(build, by=by, now=now)
    return made


def restore(*, exclusion: CorpusExclusion, by: User | None, now: datetime) -> None:
    """Take back what was struck out, and build again what depends on it."""
    with transaction.atomic():
        build = locked(exclusion.build, by)
        about = {"word": exclusion.word, "synset": exclusion.synset, "image": exclusion.image}
        if not CorpusExclusion.objects.filter(pk=exclusion.pk).delete()[0]:
            return
        record(build, "restored", by=by, now=now, kind=exclusion.kind, **about)
        _rebuild(build, by=by, now=now)


def _rebuild(build: CorpusBuild, *, by: User | None, now: datetime) -> None:
    """Start a corpus that has been built before; its fingerprints tell which steps depend on the change."""
    if build.steps.exclude(state=StepState.IDLE).exists():
        start(build=build, by=by, now=now)


def locked(build: CorpusBuild, by: User | None) -> CorpusBuild:
    """Lock a corpus, after its project, until the transaction ends.

    Raises
    ------
    CorpusRefusedError
        Where it was deleted.
    """
    audit_log.lock(build.project, by)
    found = CorpusBuild.objects.select_for_update(no_key=True, of=("self",)).filter(pk=build.pk).first()
    if found is None:
        raise CorpusRefusedError(_("This corpus was deleted."))
    return found


def record(build: CorpusBuild, verb: str, *, by: User | None, now: datetime, **details: Any) -> None:
    """Log a change of a corpus. Call within its transaction."""
    action = f"corpus.{verb}"
    audit_log.record(project=build.project, action=action, about=build.slug, by=by, now=now, details=details)
