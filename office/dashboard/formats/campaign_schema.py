"""What the file of a campaign may hold, declared once as a JSON Schema: checks, defaults and editors go by it.

Draft 7, the newest that editors of TOML know. `title` names what a value is in messages: “is not a level”.
"""

from __future__ import annotations

from typing import Any

from annotation.models import Rating
from annotation.rules.campaign import PILOT_IMAGES, REVIEWERS_PER_CAPTION, VERIFIED_CAPTIONS
from core.allocation.forms import MAX_BATCH_SIZE, MAX_LEASE_H, MAX_REPLICATION, MIN_LEASE_H
from core.people.models import OnWithdrawal, Role
from crosslens_metrics.reports.evaluation_points import ANY_METRIC
from crosslens_metrics.scales import SCALES, SEVEN_POINTS
from crosslens_metrics.scoring import FIGURES
from office.dashboard.selectors.campaign_file import ALL, MAX_VALID_DAYS
from office.practice.models import PracticeKind
from office.practice.rules.beginning import DRAWINGS
from office.practice.rules.grading import BETTER, SIMILAR
from office.recruitment.models import MAX_ADDRESS_CHARACTERS, WorkRole
from office.recruitment.rules.panels import PanelKind
from research.selection.rules.image_filters import MAX_FILTER_CHARACTERS
from sxs_eval.models import EqualCaptions
from sxs_eval.rules.judging import CHECKS_BEFORE_PAUSE, FAILURES_PERCENT

Schema = dict[str, Any]

MAX_INTEGER = 2**31 - 1
MAX_SEED = 2**63 - 1
MAX_AMOUNT = 999_999.99
DIALECT = "http://json-schema.org/draft-07/schema#"


def _table(properties: Schema, *, required: tuple[str, ...] = (), description: str = "") -> Schema:
    made = {"type": "object", "additionalProperties": False, "properties": properties}
    return made | ({"required": list(required)} if required else {}) | _about(description)


def _tables(properties: Schema, *, required: tuple[str, ...] = (), description: str = "") -> Schema:
    return {"type": "array", "items": _table(properties, required=required)} | _about(description)


def _about(description: str) -> Schema:
    return {"description": description} if description else {}


def _text(description: str = "", *, longest: int = 0, shortest: int = 0, **more: Any) -> Schema:
    limits = {"maxLength": longest} if longest else {}
    return {"type": "string", **limits, **({"minLength": shortest} if shortest else {}), **_about(description), **more}


def _number(description: str = "", *, least: int = 1, most: int = MAX_INTEGER, **more: Any) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most, **_about(description), **more}


def _choice(title: str, values: list[Any], description: str = "", **more: Any) -> Schema:
    return {"title": title, "enum": list(values), **_about(description), **more}


def _flag(description: str, *, default: bool) -> Schema:
    return {"type": "boolean", "default": default, **_about(description)}


_SLUG = _text(longest=50, pattern=r"^[A-Za-z0-9_-]+$", title="a short name of letters, digits, - and _")
_TAG = _text("Tag of a language, such as sw or pt-BR.", shortest=1, longest=35)
_MODELS = {"type": "array", "minItems": 1, "items": _text("Name of a model.", shortest=1)}
_LEASE: Schema = {
    "type": "number",
    "minimum": float(MIN_LEASE_H),
    "maximum": MAX_LEASE_H,
    "description": "Hours after which a batch expires.",
}
_POOL: Schema = {
    "replication": _number("Different people for each image, caption or pair.", most=MAX_REPLICATION),
    "batch_size": _number("Images, captions or pairs that one person takes at once.", most=MAX_BATCH_SIZE),
    "lease_h": _LEASE,
}
_ROUND = _POOL | {"qualified_only": _flag("Whether only qualified people get new batches.", default=False)}


def _rating_round(captions: int | str) -> Schema:
    drawn = {
        "title": f"a number of captions from 1 to {MAX_INTEGER}, or “{ALL}”",
        "anyOf": [_number(), {"const": ALL}],
        "description": "Captions to rate, one for each image, drawn at random.",
        "default": captions,
    }
    reviewers = _ROUND["replication"] | {"default": REVIEWERS_PER_CAPTION}
    return _table(_ROUND | {"captions": drawn, "replication": reviewers})


_ROUNDS: Schema = {
    "collection": _SLUG | {"description": "Short name of the collection, as in its address."},
    "captioners": _MODELS | {"description": "Models whose English captions are rated."},
    "seed": _number("For what is drawn at random; drawn itself if it is not given.", least=-MAX_SEED, most=MAX_SEED),
    **_POOL,
    "pilot": _table(
        _ROUND
        | {
            "images": _number("Images drawn for the pilot.", default=PILOT_IMAGES),
            "skip_reason": _text("Why there is no pilot; empty if there is one.", default=""),
        }
    ),
    "pilot_rating": _rating_round(ALL),
    "main": _table(_ROUND),
    "verification": _rating_round(VERIFIED_CAPTIONS),
}
POOL_DEFAULTS: Schema = {"replication": 2, "batch_size": 15, "lease_h": 24}

_IMAGE: Schema = {
    "collection": _SLUG,
    "image": _text("Key of the image in the collection; without a collection, its SHA-256.", shortest=1),
    "language": _TAG | {"default": "en"},
    "caption": _text(shortest=1),
    "why": _text("Markdown.", default=""),
}
_DRAWING: Schema = {"drawing": _choice("a drawing", list(DRAWINGS), "Instead of an image: one that every project has.")}
_LEVEL = _choice("a level", Rating.values)


def _practice(more: Schema, *required: str) -> Schema:
    return _table(
        {
            "required": _flag("Whether nobody gets the work before they passed.", default=True),
            "pass_percent": _number("Right answers needed, in per cent.", most=100, default=80),
            "tries": _number(most=10, default=2),
            "examples": _tables(_IMAGE | _DRAWING | more, required=("caption", *required)),
        },
        required=("examples",),
    )


_PERCENT: Schema = {"least": 0, "most": 50, "default": 0}
_ADDRESS = _text("An address of the panel.", longest=MAX_ADDRESS_CHARACTERS, pattern="^(https://.+)?$", default="")
_MONEY: Schema = {"type": "number", "minimum": 0, "maximum": MAX_AMOUNT}
_CURRENCY = _text("Three letters, such as GBP.", pattern="^[A-Z]{3}$", title="a currency of three letters")
_PARAMETER = _text(pattern=r"^[\w.-]{0,50}$", title="a name of a parameter")
_TAGS = {"type": "array", "items": _TAG, "default": [], "uniqueItems": True, "title": "a list that names each once"}
_EMAIL: Schema = {"title": "an e-mail address", "anyOf": [{"const": ""}, {"format": "email"}]}

_PARTS: Schema = {
    "project": _table(
        {
            "slug": _SLUG | {"description": "Short name in addresses. A file applied to a project keeps its own."},
            "name": _text(shortest=1, longest=120),
            "description": _text(default=""),
        },
        required=("name",),
    ),
    "consent": _table(
        {
            "text": _text("Markdown.", shortest=1),
            "licence": _text("Stands for {LICENCE} in the text.", longest=200, default=""),
            "contact": _text("Stands for {CONTACT} in the text.", longest=200, default=""),
            "on_withdrawal": _choice("a rule for withdrawal", OnWithdrawal.values, default=OnWithdrawal.CHOOSE.value),
        },
        required=("text",),
    ),
    "guidelines": _table(
        {
            "rating": _text("Markdown.", shortest=1),
            "writing": _text("Markdown.", shortest=1),
            "examples": _tables(_IMAGE | {"level": _LEVEL}, required=("image", "caption", "level")) | {"default": []},
        },
        required=("rating", "writing"),
    ),
    "instructions": _table({"text": _text("Markdown, for raters.", shortest=1)}, required=("text",)),
    "practice": _table(
        {
            PracticeKind.RATING.value: _practice({"answer": _LEVEL, "also_right": _TAGS | {"items": _LEVEL}}, "answer"),
            PracticeKind.WRITING.value: _practice(
                {"mentions": {"type": "array", "items": _text("Words for one thing, with | between."), "default": []}}
            ),
            PracticeKind.COMPARING.value: _practice(
                {"other_caption": _text(shortest=1), "answer": _choice("an answer", [BETTER, SIMILAR])},
                "other_caption",
                "answer",
            ),
        }
    ),
    "rounds": _table(_ROUNDS, description="Settings of all languages; [[languages]] may have others."),
    "languages": _tables({"tag": _TAG, **_ROUNDS}, required=("tag",)),
    "comparisons": _tables(
        {
            "languages": _TAGS | {"minItems": 1},
            "base": _text("Name of the base model.", shortest=1),
            "test": _text("Name of the test model.", shortest=1),
            "collection": _SLUG,
            "subset": _number("How many images are drawn by the seed; all if it is not given."),
            "images": _text("An image filter; empty for all.", longest=MAX_FILTER_CHARACTERS, default=""),
            "seed": _number(least=-MAX_SEED, most=MAX_SEED, default=0),
            "scale": _choice("a scale", list(SCALES), default=SEVEN_POINTS.points),
            "equal_captions": _choice("a rule", EqualCaptions.values, default=EqualCaptions.SHOWN.value),
            "replication": _POOL["replication"] | {"default": 3},
            "batch_size": _POOL["batch_size"] | {"default": 20},
            "lease_h": _LEASE | {"default": 4},
            "gold_percent": _number(**_PERCENT),
            "repeat_percent": _number(**_PERCENT),
            "checks_before_pause": _number(default=CHECKS_BEFORE_PAUSE, most=32767),
            "failures_percent": _number(least=0, most=100, default=FAILURES_PERCENT),
            "chosen_by": _choice(
                "a metric",
                [ANY_METRIC, *FIGURES],
                f"Metric by whose scores the models were chosen, {ANY_METRIC} for any other; not given if none were. "
                "The comparison is no evidence for that metric.",
            ),
        },
        required=("languages", "base", "test", "collection"),
    ),
    "invitations": _tables(
        {
            "role": _choice("a role", Role.values),
            "languages": _TAGS,
            "email": _text("The link is sent there.", longest=254, default="", **_EMAIL),
            "note": _text(longest=200, default=""),
            "places": _number(most=MAX_INTEGER, default=1),
            "valid_days": _number(most=MAX_VALID_DAYS, default=14),
        },
        required=("role",),
        description="Links by which people join. Accounts are not in the file.",
    ),
    "studies": _tables(
        {
            "name": _text(shortest=1, longest=100),
            "panel": _choice("a panel", PanelKind.values, default=PanelKind.PROLIFIC.value),
            "role": _choice("a role", WorkRole.values, default=WorkRole.ANNOTATOR.value),
            "languages": _TAGS | {"minItems": 1},
            "places": _number("How many people can take part.", most=MAX_INTEGER),
            "batches": _number("Batches for each person.", most=1000),
            "person_parameter": _PARAMETER | {"description": "Who the person is; the panel's usual one if not given."},
            "session_parameter": _PARAMETER,
            "done_url": _ADDRESS | {"minLength": 1},
            "screened_out_url": _ADDRESS,
            "failed_url": _ADDRESS,
            "currency": _CURRENCY | {"default": "GBP"},
            "reward": _MONEY,
            "rate": _MONEY,
            "is_open": _flag("Whether new people can begin.", default=True),
        },
        required=("name", "languages", "places", "batches", "done_url", "reward", "rate"),
        description="Addresses that a panel sends people to.",
    ),
    "rates": _tables(
        {"language": _TAG, "rate": _MONEY, "currency": _CURRENCY},
        required=("rate", "currency"),
        description="What an hour costs; without a language, in all others.",
    ),
}

CAMPAIGN: Schema = {
    "$schema": DIALECT,
    "title": "a campaign of Crosslens",
    **_table(_PARTS, required=("project",)),
}
