"""No value of any key of a campaign file gets further than the check that names it: a walk over the schema."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
import tomli_w
from django.db.models import DecimalField

from office.dashboard.formats.campaign_file import CampaignFileError, completed, path_of, read_campaign
from office.dashboard.formats.campaign_schema import CAMPAIGN, MAX_AMOUNT, Schema
from office.recruitment.models import HourlyRate, Study

Path = tuple[str | int, ...]
HUGE = 10**30
NUMBERS = [math.nan, math.inf, -math.inf, HUGE, -HUGE, 1e300, 0xF**5000]


def leaves(schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    if schema.get("type") == "object":
        for name, one in schema["properties"].items():
            yield from leaves(one, (*path, name))
    elif schema.get("type") == "array":
        yield from leaves(schema["items"], (*path, 0))
    elif schema.get("type") != "boolean":
        yield path, schema


LEAVES = list(leaves(CAMPAIGN))
PATHS = [path_of(path) for path, _schema in LEAVES]


def least(schema: Schema) -> Any:
    """The smallest value that is right."""
    match schema.get("type"):
        case "object":
            return {name: least(schema["properties"][name]) for name in schema.get("required", ())}
        case "array":
            return [least(schema["items"])]
        case "string":
            return "https://x" if "https" in schema.get("pattern", "") else "GBP" if "[A-Z]" in str(schema) else "x"
        case "integer" | "number":
            return schema["minimum"]
    return schema["enum"][0] if "enum" in schema else schema["default"]


def file_with(path: Path, value: Any) -> dict[str, Any]:
    """The smallest file that says it."""
    file = least(CAMPAIGN) | ({"rounds": {"collection": "x", "captioners": ["x"]}} if path[0] == "languages" else {})
    at, schema = file, CAMPAIGN
    for key, after in zip(path, (*path[1:], None), strict=True):
        schema = schema["items"] if isinstance(key, int) else schema["properties"][key]
        if after is None:
            at[key] = value
        elif isinstance(key, str):
            at = at.setdefault(key, least(schema))
        else:
            at = at[key]
    return copy.deepcopy(file)


def problems_of(path: Path, value: Any) -> list[str]:
    with pytest.raises(CampaignFileError) as refused:
        completed(file_with(path, value))
    return refused.value.problems


@pytest.mark.parametrize(("path", "schema"), LEAVES, ids=PATHS)
def test_no_number_is_too_large_too_small_or_none(path, schema):
    is_number = schema.get("type") in ("integer", "number")
    for value in NUMBERS:
        (said, *_more) = problems_of(path, value)
        assert said.startswith(f"{path_of(path)}: "), said
        if is_number:
            assert any(f"at {side} " in said for side in ("least", "most")) or "is not a whole number" in said


@pytest.mark.parametrize(("path", "schema"), LEAVES, ids=PATHS)
def test_no_text_has_what_cannot_be_stored(path, schema):
    (said, *_more) = problems_of(path, "a\0")
    assert said == f"{path_of(path)}: Null characters are not allowed."
    if "maxLength" in schema:
        assert any(path_of(path) in one for one in problems_of(path, "x" * (schema["maxLength"] + 1)))
    if "pattern" in schema:
        assert path_of(path) in problems_of(path, f"{least(schema)}\n")[0]


@pytest.mark.parametrize(("path", "schema"), LEAVES, ids=PATHS)
def test_the_smallest_file_that_says_a_key_is_right(path, schema):
    value = schema["default"] if "email" in str(schema) else least(schema)
    assert completed(file_with(path, value))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rounds.lease_h = nan", "rounds.lease_h: nan; at least 0.25."),
        ("rounds.lease_h = inf", "rounds.lease_h: inf; at most 2160."),
        ("rounds.seed = 1000000000000000000000000000000", f"rounds.seed: {HUGE}; at most 9223372036854775807."),
        ("rounds.verification.captions = 2147483648", "rounds.verification.captions: 2147483648 is not a number of"),
        ("rounds.replication = 2.0", "rounds.replication: 2.0 is not a whole number."),
        ('rates = [{rate = 1e12, currency = "GBP"}]', f"rates[0].rate: {1e12}; at most {MAX_AMOUNT}."),
        ('invitations = [{role = "rater", email = "ann"}]', "invitations[0].email: 'ann' is not an e-mail address."),
        (
            'invitations = [{role = "rater", languages = ["de", "de"]}]',
            "invitations[0].languages: ['de', 'de'] is not a list that names each once.",
        ),
        ("rounds.seed = " + "9" * 5000, "This is not TOML"),
    ],
)
def test_what_would_be_right_is_said(line, said):
    with pytest.raises(CampaignFileError) as refused:
        read_campaign(f'{line}\n[project]\nname = "x"\n'.encode())
    assert refused.value.problems[0].startswith(said), refused.value.problems


def test_an_address_of_mail_and_none_are_right():
    for email in ("ann@example.org", ""):
        file = {"project": {"name": "x"}, "invitations": [{"role": "rater", "email": email}]}
        assert read_campaign(tomli_w.dumps(file).encode())["invitations"][0]["email"] == email


@pytest.mark.parametrize("field", [Study._meta.get_field("reward"), HourlyRate._meta.get_field("rate")])
def test_the_largest_amount_fits_its_column(field):
    assert isinstance(field, DecimalField)
    assert str(MAX_AMOUNT) == "9" * (field.max_digits - field.decimal_places) + "." + "9" * field.decimal_places
