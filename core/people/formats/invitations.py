"""Lists of addresses to invite, and the list of invitations as CSV."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.languages.models import Language
from core.people.models import Invitation, Role
from core.people.rules.roles import JUDGES
from core.people.selectors.invitations import InvitationRow
from crosslens_metrics.formats.lines import MAX_CHARACTERS_SHOWN, LineFields, LineReader
from crosslens_metrics.formats.problems import LineError
from crosslens_metrics.language_tags import ALIASES
from tabular.downloads import BYTE_ORDER_MARK, csv_line

MAX_LINES = 1000
MAX_NAMED = 4
MAX_ADDRESS_CHARACTERS = Invitation._meta.get_field("email").max_length or 0
MAX_NOTE_CHARACTERS = Invitation._meta.get_field("note").max_length or 0
HEAD = (
    "role", "languages", "address", "note", "places", "places_taken", "state", "mails_sent", "last_mail", "reason",
    "valid_until", "link",
)  # fmt: skip


@dataclass(frozen=True)
class AddressLine:
    number: int
    address: str
    role: Role
    languages: list[Language]
    note: str

    @property
    def tags(self) -> list[str]:
        return [language.pk for language in self.languages]


def read_addresses(
    content: bytes, *, role: Role, languages: Iterable[Language], invited: Collection[tuple[str, str]] = ()
) -> list[AddressLine]:
    """Read lines of address, languages, role and note. All problems are raised together, with their lines.

    - `role`: of lines without one.
    - `languages`: those that lines may name, by tag or name.
    - `invited`: addresses in lower case that have an open invitation, each with its role.

    Raises crosslens_metrics.formats.problems.FileProblemsError.
    """
    lines: list[AddressLine] = []
    seen: dict[tuple[str, str], int] = {}
    known = _by_name(languages)
    with LineReader() as reader:
        for count, record in enumerate(reader.records(BytesIO(content), column="address", is_csv=True), start=1):
            if count > MAX_LINES:
                text = _("The list has more than %(most)s lines. Split it.")
                reader.refuse(text % {"most": MAX_LINES})
                break
            with reader.line(record):
                line = _line(record.number, LineFields(record.value, is_csv=True), role, known)
                key = (line.address.lower(), line.role.value)
                if key in seen:
                    text = _("This address is also in line %(number)s. Put all its languages in one line.")
                    raise LineError(text % {"number": seen[key]})
                seen[key] = record.number
                if key in invited:
                    raise LineError(
                        _("This address already has an open invitation for this role. Remove the line, or revoke that "
                          "invitation first.")
                    )  # fmt: skip
                lines.append(line)
        if not lines and not reader.problems:
            reader.refuse(_("The list names no address. Write each in a line below the first."))
    return lines


def _line(number: int, fields: LineFields, role: Role, known: Mapping[str, Language]) -> AddressLine:
    address = fields.text("address", needed=True, longest=MAX_ADDRESS_CHARACTERS)
    try:
        validate_email(address)
    except ValidationError as error:
        text = _("“%(address)s” is no e-mail address. Correct it.")
        raise LineError(text % {"address": address[:MAX_CHARACTERS_SHOWN]}) from error
    given = fields.one_of("role", ("", *Role.values), any_case=True)
    role = Role(given) if given else role
    languages = _languages(fields.text("languages"), known)
    if role in JUDGES and not languages:
        raise LineError(_("languages is empty. Annotators and raters need at least one, such as de."))
    return AddressLine(number, address, role, languages, fields.text("note", longest=MAX_NOTE_CHARACTERS, is_name=True))


def _by_name(languages: Iterable[Language]) -> dict[str, Language]:
    known = {}
    for language in languages:
        for name in (language.tag, language.english_name, language.own_name, language.name):
            known[name.casefold()] = language
    return known | {alias: known[tag] for alias, tag in ALIASES.items() if tag in known}


def _languages(text: str, known: Mapping[str, Language]) -> list[Language]:
    """Read tags or names, between commas, semicolons or bars. Tags may also be between blanks."""
    found: dict[str, Language] = {}
    for part in filter(None, (part.strip() for part in re.split(r"[,;|/]", text))):
        for name in [part] if part.casefold() in known else part.split():
            language = known.get(name.casefold())
            if language is None:
                said = _("There is no language “%(name)s” here. Write its tag, such as de, or its English name.")
                raise LineError(said % {"name": name[:MAX_CHARACTERS_SHOWN]})
            found[language.tag] = language
    return list(found.values())


def invitations_as_csv(rows: Iterable[tuple[InvitationRow, str]]) -> Iterator[str]:
    """Write each invitation with its link; closed ones have none."""
    yield BYTE_ORDER_MARK + csv_line(HEAD)
    for row, link in rows:
        one, mail = row.invitation, row.mail
        yield csv_line((
            one.role, " ".join(language.tag for language in one.languages.all()), one.email, one.note, one.places,
            one.places_taken, row.state.value, row.sent, mail.state if mail else "", mail.reason if mail else "",
            _as_iso(one.expires_at), link if row.is_open else "",
        ))  # fmt: skip


def links_as_text(rows: Iterable[tuple[InvitationRow, str]]) -> str:
    """Write languages, role and link of each open invitation in a line, to be pasted into a message."""
    return "\n".join(f"{_in_short(row.languages)}, {row.role}, {link}" for row, link in rows if row.is_open)


def _in_short(languages: Sequence[str]) -> str:
    if len(languages) > MAX_NAMED:
        text = ngettext("%(number)s language", "%(number)s languages", len(languages))
        return text % {"number": len(languages)}
    return " / ".join(languages) or "–"


def _as_iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
