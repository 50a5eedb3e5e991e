"""Register encoders, and store the facts that a worker learns by loading one."""

from __future__ import annotations

from typing import Protocol, Unpack

from django.utils.translation import gettext as _

from core.people.models import Project, User
from core.people.permissions import usable_in
from research.inference.backends.captioners import BackendSettingsError
from research.inference.backends.encoders import EncoderSettingsError, EncoderSubject, LoadedEncoder
from research.inference.backends.registry import encoder_named, encoders
from research.inference.models import Encoder
from research.inference.services import model_cache
from research.inference.services.models import ModelRegistration, save_new
from research.inference.services.worker_status import DEFAULT


def register(*, by: User | None, **about: Unpack[ModelRegistration]) -> Encoder:
    """Register an encoder for runs and scores. Nothing is loaded.

    Raises EncoderSettingsError where the name is taken, there is no such backend, or it does not take the source or an
    option.
    """
    name, source = about["name"].strip(), about.get("source", "").strip()
    if not name:
        raise EncoderSettingsError(_("Give the encoder a name."))
    encoder = Encoder(**about | {"name": name, "source": source}, created_by=by)
    try:
        encoder_named(encoder.backend).check(encoder.spec)
    except BackendSettingsError as refused:
        raise EncoderSettingsError(str(refused)) from refused
    taken = _("There is already an encoder named “%(name)s”. Choose another name.") % {"name": name}
    return save_new(encoder, name_taken=EncoderSettingsError(taken))


def queue_of(encoder: Encoder) -> str:
    """Name the queue of workers that can load it; the default queue if its backend is not installed here."""
    try:
        return encoder_named(encoder.backend).queue
    except EncoderSettingsError:
        return DEFAULT


def subjects_of(encoder: Encoder) -> frozenset[EncoderSubject]:
    """List what it can encode; nothing if its backend is not installed here."""
    try:
        return encoder_named(encoder.backend).subjects(encoder.spec)
    except EncoderSettingsError:
        return frozenset()


def visual_encoders(project: Project | None = None) -> list[Encoder]:
    """List the encoders that map captions into a space of image features; those that `project` may use, if given."""
    backends = encoders()
    return [
        one
        for one in Encoder.objects.filter(usable_in(project)).order_by("name")
        if one.backend in backends and backends[one.backend].is_visual and EncoderSubject.CAPTIONS in subjects_of(one)
    ]


def load(encoder: Encoder) -> LoadedEncoder:
    """Load the encoder with its weights, or take it from the cache. It takes long and needs no database.

    Raises EncoderSettingsError or research.inference.backends.encoders.ExtraMissingError.
    """
    key = ("vectors", encoder.backend, encoder.source, encoder.options)
    loaded: LoadedEncoder = model_cache.cached(key, lambda: encoder_named(encoder.backend).load(encoder.spec))
    _check_same(encoder, loaded)
    return loaded


class EncoderFacts(Protocol):
    """What is known about an encoder after loading it."""

    @property
    def signature(self) -> str: ...

    @property
    def space(self) -> str: ...

    @property
    def dimensions(self) -> int: ...


def keep_facts(encoder: Encoder, facts: EncoderFacts) -> None:
    """Store the facts of a loaded encoder. If different ones are stored already, the encoder is refused.

    Raises EncoderSettingsError.
    """
    values = {"signature": facts.signature, "space": facts.space, "dimensions": facts.dimensions}
    if not Encoder.objects.filter(pk=encoder.pk, signature="").update(**values):
        encoder.refresh_from_db()
        _check_same(encoder, facts)
    for name, value in values.items():
        setattr(encoder, name, value)


def _check_same(encoder: Encoder, facts: EncoderFacts) -> None:
    if encoder.signature in ("", facts.signature):
        return
    raise EncoderSettingsError(
        _(
            "The files of “%(name)s” have changed since its vectors were made (then %(then)s, now %(now)s). "
            "Put the old ones back, or register the new ones as another encoder."
        )
        % {"name": encoder.name, "then": encoder.signature, "now": facts.signature}
    )
