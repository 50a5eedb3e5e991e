"""Registering encoders, and what becomes known of one when a worker loads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from inference.backends.captioners import BackendRefused, Spec
from inference.backends.encoders import EncoderRefused, Loaded, Subject
from inference.backends.registry import encoder_named
from inference.models import Encoder
from inference.services import loading
from people.models import User


def register(
    *,
    name: str,
    backend: str,
    source: str = "",
    options: Mapping[str, Any] | None = None,
    description: str = "",
    by: User | None,
) -> Encoder:
    """An encoder that runs and scores may name. Nothing is loaded.

    Raises
    ------
    EncoderRefused
        Where the name is taken, there is no such backend, or it does not take the source or an option.
    """
    name, source = name.strip(), source.strip()
    if not name:
        raise EncoderRefused(_("Give the encoder a name."))
    try:
        encoder_named(backend).check(Spec(name, source, dict(options or {})))
    except BackendRefused as refused:
        raise EncoderRefused(str(refused)) from refused
    try:
        with transaction.atomic():
            return Encoder.objects.create(
                name=name,
                backend=backend,
                source=source,
                options=dict(options or {}),
                description=description,
                created_by=by,
            )
    except IntegrityError as error:
        raise EncoderRefused(_("There is an encoder named “%(name)s” already.") % {"name": name}) from error


def spec_of(encoder: Encoder) -> Spec:
    return Spec(encoder.name, encoder.source, encoder.options)


def subjects_of(encoder: Encoder) -> frozenset[Subject]:
    """What it can put into vectors; nothing where its backend is not installed here."""
    try:
        return encoder_named(encoder.backend).subjects(spec_of(encoder))
    except EncoderRefused:
        return frozenset()


def load(encoder: Encoder) -> Loaded:
    """The encoder with its weights, kept for whoever asks next. It takes long, and no database.

    Raises
    ------
    EncoderRefused, inference.backends.encoders.ExtraMissing
    """
    key = ("vectors", encoder.backend, encoder.source, encoder.options)
    found: Loaded = loading.kept(key, lambda: encoder_named(encoder.backend).load(spec_of(encoder)))
    _check_same(encoder, found)
    return found


def keep_facts(encoder: Encoder, loaded: Loaded) -> None:
    """Write down what is known now. What others wrote meanwhile is the same, or the encoder is refused.

    Raises
    ------
    EncoderRefused
    """
    about = {"signature": loaded.signature, "space": loaded.space, "dimensions": loaded.dimensions}
    if not Encoder.objects.filter(pk=encoder.pk, signature="").update(**about):
        encoder.refresh_from_db()
        _check_same(encoder, loaded)
    for name, value in about.items():
        setattr(encoder, name, value)


def _check_same(encoder: Encoder, loaded: Loaded) -> None:
    if encoder.signature in ("", loaded.signature):
        return
    raise EncoderRefused(
        _(
            "The files of “%(name)s” are not those that its vectors were made with (%(then)s; now %(now)s). "
            "Put them back, or register them as another encoder."
        )
        % {"name": encoder.name, "then": encoder.signature, "now": loaded.signature}
    )
