"""What the error of a mail server means: whether the message can be sent once more without arriving twice."""

from __future__ import annotations

from smtplib import SMTPRecipientsRefused, SMTPResponseException

TEMPORARY = range(400, 500)


def is_temporary(error: OSError) -> bool:
    """Whether the server refused the message for now. A connection that broke may have been too late to stop it."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code in TEMPORARY for code, _said in error.recipients.values())
    return isinstance(error, SMTPResponseException) and error.smtp_code in TEMPORARY


def said_by(error: OSError) -> str:
    """Return what the server said, or what kind of error it was."""
    if isinstance(error, SMTPRecipientsRefused):
        return "; ".join(f"{code} {_text(said)}" for code, said in error.recipients.values())
    if isinstance(error, SMTPResponseException):
        return f"{error.smtp_code} {_text(error.smtp_error)}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _text(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said
