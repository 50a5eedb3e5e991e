"""Prepare the page of a training: its curves, options and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from charts import texts
from charts.plots import DrawnPlot, curve_plot
from research.inference.models import Training, TrainingStep
from research.inference.selectors.runs import TrainingDetails
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
