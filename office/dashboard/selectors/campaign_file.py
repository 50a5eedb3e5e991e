"""A project as the file of a campaign says it: settings, texts and invitations; no accounts and no work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from annotation.models import GuidelineExample, Round, RoundKind, RoundState
from core.allocation.models import Pool
from core.images.models import CollectionImage
from core.people.models import ConsentText, Invitation, Project
from core.people.permissions import usable_in
from office.practice.models import PracticeItem, PracticeKind, PracticeSet
from office.recruitment.models import HourlyRate, Study
from sxs_eval.models import Comparison, Instructions

ALL = "all"
MAX_VALID_DAYS = 3650
STUDY_FIELDS = (
    "name", "panel", "role", "places", "batches", "person_parameter", "session_parameter", "done_url",
    "screened_out_url", "failed_url", "currency", "is_open",
)  # fmt: skip
SHARED_BY_COMPARISONS = (
    "subset", "images", "seed", "scale", "equal_captions", "gold_percent", "repeat_percent", "checks_before_pause",
    "failures_percent",
)  # fmt: skip


def _consent(text: ConsentText) -> dict[str, Any]:
    about = {name: getattr(text, name) for name in ("on_withdrawal", "licence", "contact")}
    return {"text": text.body, **about}


def campaign_of(project: Project) -> dict[str, Any]:
    consent = project.consent_texts.order_by("-version").first()
    instructions = Instructions.objects.filter(project=project).order_by("-version").first()
    parts: dict[str, Any] = {
        "project": {"slug": project.slug, "name": project.name, "description": project.description},
        "consent": _consent(consent) if consent else {},
        "guidelines": _guidelines(project),
        "instructions": {"text": instructions.body} if instructions else {},
        "practice": _practice(project),
        "languages": [language_of(rounds) for rounds in rounds_by_language(project).values()],
        "comparisons": _comparisons(project),
        "invitations": [invitation_of(one) for one in invitations_of(project)],
        "studies": [study_of(one) for one in Study.objects.filter(project=project).prefetch_related("languages")],
        "rates": [_rate_of(one) for one in HourlyRate.objects.filter(project=project)],
    }
    # An empty table keeps the practice that projects begin with out of one that is made from the file.
    return {name: plain_lines(part) for name, part in parts.items() if part or name == "practice"}


def plain_lines(value: Any) -> Any:
    """Return texts with line ends as in the file; forms of a browser send others."""
    if isinstance(value, dict):
        return {name: plain_lines(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain_lines(one) for one in value]
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def rounds_by_language(project: Project) -> dict[str, dict[str, Round]]:
    """Return the rounds that each language is at, by their table in the file: the last of each kind."""
    rounds = Round.objects.filter(project=project, source="").order_by("language", "number")
    related = rounds.select_related("pool", "collection", "language", "verifies").prefetch_related("captioners")
    found: dict[str, dict[str, Round]] = {}
    ratings: dict[int, Round] = {}
    for round in related:
        if round.verifies_id is None:
            found.setdefault(round.language_id, {})[str(round.kind)] = round
        elif round.state != RoundState.SKIPPED or round.verifies_id not in ratings:
            ratings[round.verifies_id] = round
    for of_language in found.values():
        for kind, table in ((RoundKind.PILOT, "pilot_rating"), (RoundKind.MAIN, "verification")):
            verified = of_language.get(kind)
            if verified is not None and verified.pk in ratings:
                of_language[table] = ratings[verified.pk]
    return {tag: of_language for tag, of_language in found.items() if "main" in of_language}


def language_of(rounds: Mapping[str, Round]) -> dict[str, Any]:
    main = rounds["main"]
    captioners = [model.name for model in main.captioners.all()]
    said: dict[str, Any] = {"tag": main.language_id, "collection": main.collection.slug, "captioners": captioners}
    said |= {"seed": main.seed} | {table: round_of(round, table) for table, round in rounds.items()}
    return dict(plain_lines(said))


def round_of(round: Round, table: str) -> dict[str, Any]:
    said: dict[str, Any] = {**_pool_of(round.pool), "qualified_only": round.needs_qualification}
    if table == "pilot":
        if round.state == RoundState.SKIPPED:
            return said | {"skip_reason": round.reason}
        return said | {"skip_reason": "", "images": round.sample_size}
    return said if table == "main" else said | {"captions": round.sample_size or ALL}


def _pool_of(pool: Pool) -> dict[str, Any]:
    hours = pool.lease_s / 3600
    return {
        "replication": pool.replication,
        "batch_size": pool.batch_size,
        "lease_h": int(hours) if hours.is_integer() else hours,
    }


def _guidelines(project: Project) -> dict[str, Any]:
    last = project.guidelines.order_by("-version").first()
    if last is None:
        return {}
    examples = list(last.examples.select_related("image").order_by("position"))
    return {"rating": last.rating, "writing": last.writing, "examples": _examples(project, examples, ("level",))}


_PRACTICE_FIELDS = {
    PracticeKind.RATING: ("answer", "also_right"),
    PracticeKind.WRITING: ("mentions",),
    PracticeKind.COMPARING: ("other_caption", "answer"),
}
SEPARATORS = {"also_right": ",", "mentions": "\n"}


def _practice(project: Project) -> dict[str, Any]:
    newest = {one.kind: one for one in PracticeSet.objects.filter(project=project).order_by("version")}
    said = {}
    for kind, fields in _PRACTICE_FIELDS.items():
        if kind in newest:
            practice = newest[kind]
            items = list(practice.items.select_related("image").order_by("position"))
            said[kind.value] = {
                "required": practice.is_required,
                "pass_percent": practice.pass_percent,
                "tries": practice.tries,
                "examples": _examples(project, items, fields),
            }
    return said


def _examples(
    project: Project, rows: Sequence[GuidelineExample] | Sequence[PracticeItem], fields: Iterable[str]
) -> list[dict[str, Any]]:
    entries = CollectionImage.objects.filter(
        usable_in(project, "collection__"), image__in=[row.image_id for row in rows]
    )
    # The oldest comes last, and so wins: later ones may be copies.
    places = {one.image_id: one for one in entries.select_related("collection").order_by("-pk")}
    said = []
    for row in rows:
        example: dict[str, Any] = {
            **_shown_image(row, places),
            "language": row.language_id,
            "caption": row.caption,
            "why": row.why,
        }
        for name in fields:
            value = getattr(row, name)
            example[name] = [one for one in value.split(SEPARATORS[name]) if one] if name in SEPARATORS else value
        said.append(example)
    return said


def _shown_image(row: GuidelineExample | PracticeItem, places: Mapping[int, CollectionImage]) -> dict[str, str]:
    if row.image is None:
        return {"drawing": row.drawing}
    place = places.get(row.image.pk)
    return {"collection": place.collection.slug, "image": place.key} if place else {"image": row.image.sha256}


def comparison_of(comparison: Comparison) -> dict[str, Any]:
    said = {name: getattr(comparison, name) for name in SHARED_BY_COMPARISONS}
    said |= {"base": comparison.base.name, "test": comparison.test.name, "collection": comparison.collection.slug}
    said |= {"chosen_by": comparison.chosen_by} if comparison.chosen_by else {}
    return {name: value for name, value in (said | _pool_of(comparison.pool)).items() if value is not None}


def comparisons_of(project: Project) -> list[Comparison]:
    related = ("base", "test", "collection", "pool", "language")
    judged_here = Comparison.objects.in_results().filter(project=project, source="")
    return list(judged_here.select_related(*related).order_by("pk"))


def _comparisons(project: Project) -> list[dict[str, Any]]:
    """Return the comparisons of a project; those that differ by language only are one table."""
    tables: list[dict[str, Any]] = []
    for comparison in comparisons_of(project):
        said = comparison_of(comparison)
        like = (one for one in tables if one == said | {"languages": one["languages"]})
        same = next((one for one in like if comparison.language_id not in one["languages"]), None)
        if same is None:
            tables.append(same := {"languages": [], **said})
        same["languages"].append(comparison.language_id)
    return tables


def invitations_of(project: Project) -> list[Invitation]:
    open_ones = Invitation.objects.filter(project=project, revoked_at=None)
    return list(open_ones.order_by("pk").prefetch_related("languages"))


def invitation_of(invitation: Invitation) -> dict[str, Any]:
    return {
        "role": invitation.role,
        "languages": sorted(language.pk for language in invitation.languages.all()),
        "email": invitation.email,
        "note": invitation.note,
        "places": invitation.places,
        "valid_days": min(max((invitation.expires_at - invitation.created_at).days, 1), MAX_VALID_DAYS),
    }


def study_of(study: Study) -> dict[str, Any]:
    said = {name: getattr(study, name) for name in STUDY_FIELDS}
    said |= {"reward": _plain(study.reward), "rate": _plain(study.rate)}
    return said | {"languages": sorted(language.pk for language in study.languages.all())}


def _rate_of(rate: HourlyRate) -> dict[str, Any]:
    said = {"rate": _plain(rate.rate), "currency": rate.currency}
    return said | ({"language": rate.language_id} if rate.language_id else {})


def _plain(amount: Decimal) -> int | float:
    return int(amount) if amount == int(amount) else float(amount)
