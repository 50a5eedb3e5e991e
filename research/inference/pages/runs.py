"""Prepare the pages of runs and trainings: decoding and options, what one would do, what failed, curves and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from charts import texts
from charts.plots import DrawnPlot, curve_plot
from core.images.models import Collection, CollectionImage
from core.languages.models import Language
from core.languages.rules.registry import ENGLISH
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, Run, RunFailure, Training, TrainingStep
from research.inference.rules.runs import variant_name
from research.inference.selectors.models import ascribed_to, counts_in
from research.inference.selectors.runs import TrainingDetails, reasons_of
from research.inference.training.options import RateSchedule, TrainingMethod, TrainingPrecision, TrainingTargets

MEBIBYTE = 2**20
OPTION_LABELS = {
    "method": gettext_lazy("Weights to train"),
    "targets": gettext_lazy("What it learns to write"),
    "steps": gettext_lazy("Steps"),
    "batch_size": gettext_lazy("Captions per step"),
    "learning_rate": gettext_lazy("Learning rate"),
    "schedule": gettext_lazy("Learning rate schedule"),
    "warmup_steps": gettext_lazy("Warm-up steps"),
    "validate_every": gettext_lazy("Steps between validations"),
    "patience": gettext_lazy("Patience"),
    "max_tokens": gettext_lazy("Maximum tokens in validation"),
    "weight_decay": gettext_lazy("Weight decay"),
    "lora_rank": gettext_lazy("LoRA rank"),
    "lora_alpha": gettext_lazy("LoRA alpha"),
    "lora_dropout": gettext_lazy("LoRA dropout"),
    "precision": gettext_lazy("Precision"),
    "seed": gettext_lazy("Seed"),
}
"""Of the options of a training."""
CHOICE_LABELS = {
    "schedule": (
        (RateSchedule.LINEAR, gettext_lazy("linear decay to 0")),
        (RateSchedule.COSINE, gettext_lazy("cosine decay to 0")),
        (RateSchedule.CONSTANT, gettext_lazy("constant")),
    ),
    "method": (
        (TrainingMethod.FULL, gettext_lazy("all weights")),
        (TrainingMethod.LORA, gettext_lazy("LoRA: small matrices beside the linear layers")),
    ),
    "targets": (
        (TrainingTargets.PLAIN, gettext_lazy("captions")),
        (TrainingTargets.PIVOT, gettext_lazy("an English stabiliser, a separator and the caption")),
        (TrainingTargets.CONSISTENT, gettext_lazy("the same with one stabiliser for all captions of an image")),
    ),
    "precision": (
        (TrainingPrecision.AUTO, gettext_lazy("fastest for the device (bfloat16 on a GPU that has it)")),
        (TrainingPrecision.FLOAT32, "float32"),
        (TrainingPrecision.BFLOAT16, "bfloat16"),
        (TrainingPrecision.FLOAT16, "float16"),
    ),
}
"""Of the values of those that are chosen from a few."""


def run_plan(
    *,
    model: CaptioningModel,
    collection: Collection,
    images: int,
    languages: Sequence[Language],
    decoding: Decoding,
    name: str,
) -> dict[str, Any]:
    """Say whose the captions will be (`name`), and count those to make, those that are there and, where English ones
    are translated, images that lack one.
    """
    if not model.is_pivot:
        decoding = replace(decoding, is_consistent=False)
    whose, base = ascribed_to(model, decoding), model.variant_of or model
    counts = counts_in(whose, collection) if whose is not None else {}
    stored = sum(counts.get(language.tag, 0) for language in languages)
    english = model.english_model
    lacking = images - counts_in(english, collection).get(ENGLISH, 0) if english is not None else 0
    return {
        "name": whose.name if whose else name or variant_name(base.name, decoding.stored(), base.decoding),
        "is_variant": whose is None or whose.variant_of_id is not None,
        "is_new_variant": whose is None,
        "to_make": images * len(languages) - stored,
        "there": stored,
        "lacking": lacking,
        "english": english.name if english is not None else "",
    }


def failures_page(run: Run, page: Iterable[RunFailure], shown: QuerySet[RunFailure]) -> dict[str, Any]:
    """Prepare failures with keys of their images, empty where one has left the collection, and the commonest reasons.

    `assigned` are of images that the viewer works on: they are not shown.
    """
    failures = list(page)
    entries = CollectionImage.objects.filter(
        collection=run.collection_id, image__in=[failure.image_id for failure in failures]
    )
    keys = dict(entries.values_list("image_id", "key"))
    return {
        "lines": [(failure, keys.get(failure.image_id, "")) for failure in failures],
        "reasons": reasons_of(shown),
        "assigned": max(0, run.failures.count() - shown.count()),
    }


def decoding_lines(stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List names and values of the settings, in the order of the form; none if nothing is decoded yet."""
    if not stored:
        return []
    decoding = Decoding.from_stored(stored)
    lines = [(_("Beams"), str(decoding.beams))]
    lines += [(_("Tokens"), _("%(low)s to %(high)s") % {"low": decoding.min_tokens, "high": decoding.max_tokens})]
    if decoding.beams > 1:
        lines.append((_("Length penalty"), f"{decoding.length_penalty:g}"))
    if decoding.temperature:
        lines.append((_("Temperature"), f"{decoding.temperature:g}"))
        lines.append((_("Top-p"), f"{decoding.top_p:g}"))
        lines.append((_("Seed"), str(decoding.seed)))
    lines.append((_("Precision"), decoding.precision))
    if decoding.is_consistent:
        lines.append((_("Stabiliser"), _("the same for all languages")))
    return lines


def training_page(training: Training, details: TrainingDetails) -> dict[str, Any]:
    """Prepare the plots, each with its id on the page, the options, and what the model is made from besides."""
    plots = [(f"curve-{number}", plot) for number, plot in enumerate(_plots(details), start=1)]
    return {"plots": plots, "options": _options(training.options), "made": _made(training)}


def _options(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    is_lora = options["method"] == TrainingMethod.LORA
    return [
        (str(label), _text(name, options[name]))
        for name, label in OPTION_LABELS.items()
        if is_lora or not name.startswith("lora_")
    ]


def _text(name: str, value: Any) -> str:
    if name in CHOICE_LABELS:
        return str(dict(CHOICE_LABELS[name])[value])
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plots(details: TrainingDetails) -> list[DrawnPlot]:
    steps = [
        _step_plot(_("Loss"), details.curve, lambda one: one.loss, 3),
        _step_plot(_("Images per second"), details.curve, lambda one: one.images_per_s, 1),
        _step_plot(_("Memory in MiB"), details.curve, lambda one: one.memory / MEBIBYTE, 0),
    ]
    ciders = [(float(one.step), one.cider) for one in details.validations]
    return [steps[0], _plot(_("CIDEr in validation"), ciders, 1), *steps[1:]]


def _step_plot(
    title: str, steps: Sequence[TrainingStep], value: Callable[[TrainingStep], float], digits: int
) -> DrawnPlot:
    return _plot(title, [(float(one.step), value(one)) for one in steps], digits)


def _plot(title: str, points: Sequence[tuple[float, float]], digits: int) -> DrawnPlot:
    summary = ""
    if points:
        (first, start), (last, end) = points[0], points[-1]
        summary = _("From %(start)s at step %(first)s to %(end)s at step %(last)s.") % {
            "start": texts.plain_number(start, digits),
            "first": int(first),
            "end": texts.plain_number(end, digits),
            "last": int(last),
        }
    return curve_plot(title, points, summary=summary, x_name=_("Step"))


def _made(training: Training) -> list[tuple[str, str]]:
    """List nothing until a worker has loaded the base."""
    names = {"base_files": _("Files of the base"), "code": _("Code"), "versions": _("Versions")}
    return [(label, training.made[name]) for name, label in names.items() if training.made]
