"""Reading a campaign from TOML, with all that is wrong by its path in the file, and writing it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.validators import ProhibitNullCharactersValidator, validate_email
from django.urls import reverse
from django.utils.translation import gettext as _

from core.people.models import Project
from office.dashboard.formats.campaign_schema import CAMPAIGN, MAX_SEED, POOL_DEFAULTS, Schema
from office.dashboard.selectors.campaign_file import campaign_of

if TYPE_CHECKING:
    from jsonschema import Draft7Validator, ValidationError

MAX_BYTES = 1_000_000
MAX_BITS = 1000
CONTENT_TYPE = "application/toml"
ROUND_TABLES = ("pilot", "pilot_rating", "main", "verification")
TYPES = {
    "string": "a text in quotes",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}


class CampaignFileError(Exception):
    """The file cannot be applied; each of `problems` says where, what and which values would be right."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


def read_campaign(content: bytes) -> dict[str, Any]:
    """Return what a file says, with the defaults of what it does not say; each language has all its rounds.

    Raises CampaignFileError.
    """
    if len(content) > MAX_BYTES:
        raise CampaignFileError([_("The file is larger than 1 MB. A campaign has texts and settings only.")])
    try:
        said = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CampaignFileError([_("The file is not UTF-8. Save it as UTF-8.")]) from error
    except (ValueError, RecursionError) as error:
        raise CampaignFileError([_("This is not TOML: %(reason)s.") % {"reason": error}]) from error
    return completed(said)


def completed(said: dict[str, Any]) -> dict[str, Any]:
    """Return what a campaign says with the defaults of what it does not say, as `read_campaign` does.

    Raises CampaignFileError.
    """
    if problems := list(_problems(said)):
        raise CampaignFileError(problems)
    said["languages"] = [_of_language(said.get("rounds", {}), language) for language in said.get("languages", [])]
    said.pop("rounds", None)
    return dict(_filled(said, CAMPAIGN))


def _problems(said: Mapping[str, Any]) -> Iterator[str]:
    if unreadable := list(_unreadable(said)):
        yield from unreadable
        return
    found = sorted(_validator().iter_errors(said), key=lambda error: [str(one) for one in error.path])
    for error in found:
        yield from _in_words(error)
    rounds = said.get("rounds", {})
    for number, language in enumerate(said.get("languages", []) if not found else []):
        for name in ("collection", "captioners"):
            if name not in language and name not in rounds:
                yield missing(f"languages[{number}].{name}", "or rounds." + name)


def _unreadable(value: Any, *path: str | int) -> Iterator[str]:
    """Say what no key takes: texts that databases cannot store, and numbers of hundreds of digits."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _unreadable(one, *path, key)
    elif isinstance(value, str) and "\0" in value:
        yield f"{path_of(path)}: {ProhibitNullCharactersValidator.message}"
    elif isinstance(value, int) and value.bit_length() > MAX_BITS:
        yield f"{path_of(path)}: …; {_('at most')} {MAX_SEED}."


def _validator() -> Draft7Validator:
    """Return what checks a campaign, by Draft 7; but NaN is below every minimum, and whole numbers have no point."""
    # Only here: it takes a tenth of a second, and nothing else needs it.
    from jsonschema import Draft7Validator, FormatChecker, ValidationError
    from jsonschema.validators import extend

    def minimum(_validator: Any, least: float, value: Any, _schema: Schema) -> Iterator[ValidationError]:
        if isinstance(value, int | float) and not value >= least:
            yield ValidationError("")

    def pattern(_validator: Any, wanted: str, value: Any, _schema: Schema) -> Iterator[ValidationError]:
        # `search`, as Draft 7 has it, would let through a line end after `$`.
        if isinstance(value, str) and not re.fullmatch(wanted, value):
            yield ValidationError("")

    def is_address(value: object) -> bool:
        validate_email(str(value))
        return True

    formats = FormatChecker(formats=())
    formats.checks("email", raises=DjangoValidationError)(is_address)
    types = Draft7Validator.TYPE_CHECKER.redefine("integer", lambda _types, value: type(value) is int)
    kind = extend(Draft7Validator, {"minimum": minimum, "pattern": pattern}, type_checker=types)
    return kind(CAMPAIGN, format_checker=formats)


def missing(path: str, what: str = "") -> str:
    return _("%(path)s is missing") % {"path": path} + (f" ({what})." if what else ".")


def wrong(path: str, value: object, what: str, values: Iterable[object] = ()) -> str:
    """Say what is wrong with a value, and all values that would be right."""
    text = _("%(path)s: %(value)s is not %(what)s") % {"path": path, "value": _shown(value), "what": what}
    known = ", ".join(str(one) for one in values)
    return text + (_("; one of %(values)s.") % {"values": known} if known else ".")


def _shown(value: object) -> str:
    shown = f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"


def _in_words(error: ValidationError) -> Iterator[str]:
    path = path_of(error.absolute_path)
    schema: Schema = error.schema
    value, limit = error.instance, error.validator_value
    match error.validator:
        case "additionalProperties":
            for key in sorted(set(value) - set(schema["properties"])):
                names = ", ".join(schema["properties"])
                yield _("%(path)s: there is no such key; one of %(values)s.") % {
                    "path": path_of([*error.absolute_path, key]),
                    "values": names,
                }
        case "required":
            for key in (one for one in schema["required"] if one not in value):
                # jsonschema reports each key by itself.
                if f"'{key}'" in error.message:
                    yield missing(path_of([*error.absolute_path, key]))
        case "type":
            yield wrong(path, value, TYPES[str(limit)])
        case "minimum" | "maximum":
            sign = _("at least") if error.validator == "minimum" else _("at most")
            yield f"{path}: {_shown(value)}; {sign} {limit}."
        case "minLength" | "minItems":
            yield _("%(path)s is empty.") % {"path": path}
        case "maxLength":
            yield _("%(path)s is longer than %(limit)s characters.") % {"path": path, "limit": limit}
        case "pattern" if "title" not in schema:
            yield wrong(path, value, _("an address that begins with https://"))
        case _:
            yield wrong(path, value, schema.get("title", ""), schema.get("enum", ()))


def path_of(parts: Iterable[str | int]) -> str:
    """Return a path such as `languages[3].main.replication`; items of lists are counted from 0."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _of_language(rounds: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a language: its own before those of all; a round's before those beside the rounds."""
    made = {**POOL_DEFAULTS, **rounds, **own}
    for table in ROUND_TABLES:
        pool = {name: made[name] for name in POOL_DEFAULTS}
        if table in ("pilot_rating", "verification"):
            del pool["replication"]
        made[table] = pool | rounds.get(table, {}) | own.get(table, {})
    return made


def _filled(value: Any, schema: Schema) -> Any:
    if isinstance(value, dict):
        known = schema["properties"]
        defaults = {name: one["default"] for name, one in known.items() if "default" in one}
        return {name: _filled(one, known[name]) for name, one in (defaults | value).items()}
    if isinstance(value, list):
        return [_filled(one, schema["items"]) for one in value]
    return value


def campaign_text(project: Project, *, site: str) -> str:
    """Return the file of a project, with the address at `site` of the schema that editors check it by."""
    schema = urljoin(site, reverse("dashboard:campaign-schema"))
    return f"#:schema {schema}\n\n{write_campaign(campaign_of(project))}"


def write_campaign(campaign: Mapping[str, Any]) -> str:
    """Return the TOML of a campaign: what most languages share stands once, under `rounds`."""
    # Only here, as nothing else needs it.
    import tomli_w

    said = dict(campaign)
    shared, said["languages"] = _shared(said.get("languages", []))
    if shared:
        said["rounds"] = shared
    order = [name for name in CAMPAIGN["properties"] if said.get(name)]
    return tomli_w.dumps({name: said[name] for name in order}, multiline_strings=True)


def _shared(languages: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Split settings of languages into those that most have, and what each has otherwise."""
    shared: dict[str, Any] = {}
    own: list[dict[str, Any]] = [{"tag": one["tag"]} for one in languages]
    for name in dict.fromkeys(name for one in languages for name in one if name != "tag"):
        values = [one.get(name) for one in languages]
        if name in ROUND_TABLES:
            shared[name], tables = _shared([{"tag": "", **(value or {})} for value in values])
            differing: list[Any] = [{key: value for key, value in one.items() if key != "tag"} for one in tables]
        else:
            common = Counter(str(value) for value in values if value is not None).most_common(1)[0][0]
            shared[name] = next(value for value in values if str(value) == common)
            differing = [value if value is not None and value != shared[name] else None for value in values]
        for language, value in zip(own, differing, strict=True):
            if value not in (None, {}):
                language[name] = value
    return shared, own
