"""Setting up comparisons: their images, in what order, with which gold pairs.

Pairs are made in the background, some at a time, so that nobody's judging waits. Callers queue `tasks.fill_comparison`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from core.allocation.models import Pool, Task
from core.allocation.services.lifecycle import change_replication as change_replication_of_pool
from core.conversation.selectors import withdrawn_images
from core.images.models import Collection, CollectionImage
from core.languages.models import Language
from core.people.defaults import default_text
from core.people.models import Project, TextKind, User
from core.people.services import audit_log
from research.inference.models import CaptioningModel, ModelCaption
from research.selection.rules.image_filters import ImageFilterError, parse
from research.selection.selectors.subsets import images_of
from sxs_eval.models import Comparison, EqualCaptions, GoldPair, Instructions, Pair
from sxs_eval.rules.judging import are_equal
from sxs_eval.selectors.planning import ComparisonSetting, over_same_images

SHUFFLE_KEYS = 2**31
PAIRS_PER_INSERT = 2000
MAX_DRAWN_GOLD_PAIRS = 100
ATTENTION = ("gold_percent", "repeat_percent", "checks_before_pause", "failures_percent")


class ComparisonError(Exception):
    """The change is not allowed; the message says why and what to do."""


@dataclass(frozen=True)
class PoolSettings:
    """Settings of a comparison that can be changed while it is judged."""

    batch_size: int
    lease_s: int
    is_open: bool
    gold_percent: int
    repeat_percent: int
    checks_before_pause: int
    failures_percent: int


def create_comparison(
    *,
    project: Project,
    language: Language,
    base: CaptioningModel,
    test: CaptioningModel,
    collection: Collection,
    setting: ComparisonSetting,
    by: User | None,
    chosen_by: str = "",
    with_pairs: bool = False,
) -> Comparison:
    """Make a comparison. Without `with_pairs`, `fill_comparison` makes its pairs later in the background.

    Raises ComparisonError: the two models are one, or the image filter cannot be applied to the language.
    """
    if base == test:
        raise ComparisonError(_("A model cannot be compared with itself. Choose another base or test model."))
    with transaction.atomic():
        # A subset that the filter names cannot be deleted until the comparison is there.
        audit_log.lock(project, by)
        try:
            images_of(parse(setting.images), project=project, language=language)
        except ImageFilterError as error:
            raise ComparisonError(str(error)) from error
        if not Instructions.objects.filter(project=project).exists():
            Instructions.objects.create(
                project=project, version=1, body=default_text(TextKind.INSTRUCTIONS), created_by=by
            )
        settings = asdict(setting)
        pool = Pool.objects.create(**{name: settings.pop(name) for name in ("replication", "batch_size", "lease_s")})
        made = Comparison.objects.create(
            project=project,
            language=language,
            base=base,
            test=test,
            collection=collection,
            pool=pool,
            awaits_pairs=True,
            created_by=by,
            chosen_by=chosen_by,
            **settings,
        )
    if with_pairs:
        fill_comparison(comparison_id=made.pk)
        made.refresh_from_db()
    return made


def create_comparisons(
    *,
    project: Project,
    languages: Iterable[Language],
    base: CaptioningModel,
    test: CaptioningModel,
    collection: Collection,
    setting: ComparisonSetting,
    by: User | None,
    now: datetime,
    chosen_by: str = "",
) -> tuple[list[Comparison], list[Language]]:
    """Make a comparison in each of `languages`; also return those compared so already, which stay as they are.

    So submitting a form twice makes its comparisons once. `fill_comparison` makes their pairs. `chosen_by` is the
    metric whose scores chose the pair of models.

    Raises ComparisonError: the two models are one, or the image filter cannot be applied to one of the languages.
    """
    made, already = [], []
    with transaction.atomic():
        audit_log.lock(project, by)
        same = over_same_images(project=project, collection=collection, setting=setting)
        same = same.filter(base=base, test=test, scale=setting.scale, source="")
        there = set(same.values_list("language", flat=True))
        for language in languages:
            if language.pk in there:
                already.append(language)
                continue
            comparison = create_comparison(
                project=project,
                language=language,
                base=base,
                test=test,
                collection=collection,
                setting=setting,
                by=by,
                chosen_by=chosen_by,
            )
            made.append(comparison)
            record_change("comparison.added", comparison, by, now, asdict(setting) | {"chosen_by": chosen_by})
    return made, already


def fill_comparison(*, comparison_id: int) -> int:
    """Make the pairs that a comparison lacks, then its gold pairs; return how many pairs.

    It is safe to stop it half-way or run it twice at once: it adds only what is missing.
    """
    comparison = Comparison.objects.select_related("pool").get(pk=comparison_id)
    chosen, left_out = _chosen_images(comparison)
    added = 0
    for images in _chunks(chosen, PAIRS_PER_INSERT):
        with transaction.atomic(durable=True):
            # Other calls that make pairs of this comparison wait here.
            comparison = Comparison.objects.select_for_update(no_key=True).get(pk=comparison_id)
            added += _add_missing_pairs(comparison, images)
    with transaction.atomic():
        comparison = Comparison.objects.select_for_update(no_key=True).get(pk=comparison_id)
        if comparison.gold_percent and not comparison.gold_pairs.exists():
            _draw_gold_pairs(comparison)
        Comparison.objects.filter(pk=comparison_id).update(left_out=left_out, awaits_pairs=False, filled_at=Now())
    return added


def _chosen_images(comparison: Comparison) -> tuple[list[int], int]:
    """Return the images of a comparison, and how many are left out as they lack a caption of one of the models.

    A subset is the first images described by both, in an order that depends only on the seed and the keys: comparisons
    of other models or languages with the same seed use the same images if all are described.
    """
    try:
        entries = list(_entries(comparison).order_by("key").values_list("image_id", flat=True))
    except ImageFilterError:
        # The subset or the language left the project since; the pairs that there are stay.
        return [], comparison.left_out
    described = _described(comparison, comparison.base_id) & _described(comparison, comparison.test_id)
    if comparison.subset is not None:
        random.Random(f"{comparison.seed}").shuffle(entries)
    # Only now: what is left out of results must not change which others are drawn.
    images_out = set(comparison.collection.entries.left_out().values_list("image_id", flat=True))
    images_out |= set(withdrawn_images(comparison.project_id, comparison.language_id))
    entries = [image for image in entries if image not in images_out]
    chosen = [image for image in entries if image in described][: comparison.subset]
    reached = entries.index(chosen[-1]) + 1 if len(chosen) == comparison.subset else len(entries)
    return chosen, sum(1 for image in entries[:reached] if image not in described)


def _entries(comparison: Comparison) -> QuerySet[CollectionImage]:
    entries = CollectionImage.objects.filter(collection=comparison.collection_id)
    only = images_of(parse(comparison.images), project=comparison.project, language=comparison.language)
    return entries if only is None else entries.filter(image__in=only)


def _described(comparison: Comparison, model_id: int) -> set[int]:
    return set(
        ModelCaption.objects.in_use()
        .filter(model=model_id, language=comparison.language_id, image__entries__collection=comparison.collection_id)
        .values_list("image_id", flat=True)
    )


def _add_missing_pairs(comparison: Comparison, images: Sequence[int]) -> int:
    there = set(Pair.objects.filter(comparison=comparison, image__in=images).values_list("image_id", flat=True))
    missing = [image for image in images if image not in there]
    if comparison.subset is not None:
        # Images that were described since may come before those drawn; the subset keeps its size.
        missing = missing[: max(0, comparison.subset - Pair.objects.filter(comparison=comparison).count())]
    captions = {
        (caption.model_id, caption.image_id): caption
        for caption in ModelCaption.objects.in_use().filter(
            model__in=[comparison.base_id, comparison.test_id], language=comparison.language_id, image__in=missing
        )
    }
    pairs = [
        Pair(
            comparison=comparison,
            image_id=image,
            base_caption=captions[comparison.base_id, image],
            test_caption=captions[comparison.test_id, image],
        )
        for image in missing
    ]
    replication = Pool.objects.values_list("replication", flat=True).get(pk=comparison.pool_id)
    shown = [pair for pair in pairs if not _counts_unseen(comparison, pair)]
    tasks = Task.objects.bulk_create(
        Task(pool_id=comparison.pool_id, shuffle_key=_shuffle_key(comparison, pair), places=replication)
        for pair in shown
    )
    for pair, task in zip(shown, tasks, strict=True):
        pair.task = task
    return len(Pair.objects.bulk_create(pairs))


def _counts_unseen(comparison: Comparison, pair: Pair) -> bool:
    return comparison.equal_captions == EqualCaptions.SIMILAR and are_equal(
        pair.base_caption.text, pair.test_caption.text
    )


def _shuffle_key(comparison: Comparison, pair: Pair) -> int:
    return random.Random(f"{comparison.seed}:{comparison.pk}:{pair.image_id}").randrange(SHUFFLE_KEYS)


def _draw_gold_pairs(comparison: Comparison) -> None:
    """(ours) Pair a caption of the image with one of quite another image, from either model: the first is better.

    Drawn by the seed; managers look through them and switch off those where that is not true.
    """
    pairs = list(
        Pair.objects.filter(comparison=comparison).order_by("image_id").select_related("base_caption", "test_caption")
    )
    rng = random.Random(f"{comparison.seed}:gold")
    drawn = rng.sample(pairs, min(len(pairs), MAX_DRAWN_GOLD_PAIRS))
    golds = []
    for pair in drawn:
        other = rng.choice(pairs)
        better = rng.choice([pair.base_caption, pair.test_caption]).text
        worse = rng.choice([other.base_caption, other.test_caption]).text
        own = (pair.base_caption.text, pair.test_caption.text)
        if other is not pair and not any(are_equal(worse, text) for text in own):
            golds.append(
                GoldPair(
                    comparison=comparison,
                    image_id=pair.image_id,
                    better=better,
                    worse=worse,
                    other_image_id=other.image_id,
                )
            )
    GoldPair.objects.bulk_create(golds)


def change_comparison(*, comparison: Comparison, settings: PoolSettings, by: User, now: datetime) -> Comparison:
    """Change how a comparison is judged from now on; judgements and open batches stay as they are.

    Raises ComparisonError: it is from a file, and would be opened.
    """
    with transaction.atomic():
        comparison = Comparison.objects.select_for_update(no_key=True).get(pk=comparison.pk)
        if comparison.source and settings.is_open:
            raise ComparisonError(_("The judgements of this comparison are from a file. It cannot be opened."))
        Pool.objects.filter(pk=comparison.pool_id).update(
            batch_size=settings.batch_size, lease_s=settings.lease_s, is_open=settings.is_open
        )
        needs_gold = settings.gold_percent and not comparison.gold_pairs.exists()
        for name in ATTENTION:
            setattr(comparison, name, getattr(settings, name))
        comparison.save(update_fields=ATTENTION)
        if needs_gold:
            _draw_gold_pairs(comparison)
        record_change("comparison.changed", comparison, by, now, asdict(settings))
    return comparison


def change_replication(*, comparison: Comparison, replication: int, by: User, now: datetime) -> int:
    """Change the number of raters per pair; return how many pairs already have more places taken."""
    with transaction.atomic():
        comparison = Comparison.objects.select_for_update(no_key=True).get(pk=comparison.pk)
        above = change_replication_of_pool(pool=comparison.pool, replication=replication)
        # After the tasks: the audit log is locked last.
        if comparison.pool.replication != replication:
            record_change("comparison.changed", comparison, by, now, {"replication": replication})
        return above


def name_of(comparison: Comparison) -> str:
    """Return its name in the audit log: without its models, which not everybody may know."""
    return f"comparison {comparison.pk}, {comparison.language_id}"


def record_change(action: str, comparison: Comparison, by: User | None, now: datetime, details: dict[str, Any]) -> None:
    about = name_of(comparison)
    audit_log.record(project=comparison.project, action=action, about=about, by=by, now=now, details=details)


def record_looks(comparisons: Iterable[Comparison], complete: Mapping[int, int]) -> None:
    """Record that results over so many complete images were seen, by comparison, unless they were at its last look."""
    unseen = [one for one in comparisons if complete[one.pk] and one.looks[-1:] != [complete[one.pk]]]
    if not unseen:
        return
    with transaction.atomic():
        locked = Comparison.objects.select_for_update(no_key=True).order_by("pk").only("looks")
        now = {one.pk: one for one in locked.filter(pk__in=[one.pk for one in unseen])}
        for one in now.values():
            if one.looks[-1:] != [complete[one.pk]]:
                one.looks.append(complete[one.pk])
        Comparison.objects.bulk_update(now.values(), ["looks"])
    for one in unseen:
        one.looks = now[one.pk].looks if one.pk in now else one.looks


def ask_for_missing_pairs(*, comparison_ids: Iterable[int]) -> None:
    """Mark comparisons to be checked for images that both models have described since.

    Raises ComparisonError: one is from a file.
    """
    if Comparison.objects.filter(pk__in=list(comparison_ids)).exclude(source="").exists():
        raise ComparisonError(_("The judgements of this comparison are from a file. It gets no more pairs."))
    Comparison.objects.filter(pk__in=list(comparison_ids)).update(awaits_pairs=True)


def publish_instructions(*, project: Project, body: str, by: User, now: datetime) -> Instructions:
    """Publish the next version of the instructions for raters; open batches keep theirs."""
    with transaction.atomic():
        audit_log.lock(project, by)
        last = Instructions.objects.filter(project=project).order_by("-version").first()
        version = last.version + 1 if last else 1
        audit_log.record(project=project, action="instructions.published", about=f"version {version}", by=by, now=now)
        return Instructions.objects.create(project=project, version=version, body=body, created_by=by)


def _chunks(values: Iterable[int], size: int) -> Iterator[list[int]]:
    rest = iter(values)
    while chunk := list(islice(rest, size)):
        yield chunk
