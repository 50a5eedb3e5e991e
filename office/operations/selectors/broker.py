"""Queries to the broker, with shorter timeouts than workers'."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE_S = 2.0


class UnreachableError(Exception):
    """The broker does not answer."""


@contextmanager
def _channel() -> Iterator[Any]:
    # Every command imports this module, with the views of errors, and few ask a broker.
    from kombu.exceptions import OperationalError

    from core.jobs.tasks import current_app

    conf = current_app.conf
    options = dict(conf.broker_transport_options or {})
    if "socket_timeout" in options:
        options |= {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S}
    connection = current_app.connection_for_read(transport_options=options)
    broken: tuple[type[BaseException], ...] = (
        *connection.connection_errors,
        *connection.channel_errors,
        OperationalError,
        OSError,
    )
    try:
        yield connection.channel()
    except broken as error:
        raise UnreachableError from error
    finally:
        connection.release()


def messages_waiting(queues: Iterable[str]) -> dict[str, int]:
    with _channel() as channel:
        return {queue: _waiting(channel, queue) for queue in queues}


def _waiting(channel: Any, queue: str) -> int:
    from kombu.exceptions import ChannelError

    try:
        return int(channel.queue_declare(queue, passive=True).message_count)
    except ChannelError:
        # Redis has no empty queues.
        return 0


def require() -> None:
    """Raise UnreachableError if the broker does not answer."""
    with _channel() as channel:
        channel.queue_declare("default", passive=False)
