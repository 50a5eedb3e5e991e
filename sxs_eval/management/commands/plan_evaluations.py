"""`manage.py plan_evaluations SCORES.(csv|jsonl)`: which comparisons are worth raters' time, and what they cost."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from core.images.models import CollectionImage
from core.images.permissions import collections_in
from core.people.management.arguments import project_named
from core.people.models import Project
from crosslens_metrics.commands.running import language_tag, whole_number
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.power import JudgingDesign, MeasuredSpread
from research.selection.management.image_filters import image_filter, image_filter_errors
from research.selection.rules.image_filters import ImageFilter
from research.selection.selectors.subsets import check, images_matching
from sxs_eval.formats.designs import PlannedDesign
from sxs_eval.formats.plans import PaceUsed, PlanReport, read_scores
from sxs_eval.rules import planning
from sxs_eval.rules.pace import MIN_TIMED
from sxs_eval.rules.planning import SmallThresholds, cost_of_session, plan_sessions
from sxs_eval.selectors.planning import measured_pace, spread_of


def number(least: str, most: str) -> Callable[[str], Fraction]:
    """Keep the bounds as they are written, since 0.1 as a float is more than a tenth."""

    def parse(text: str) -> Fraction:
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) or not Fraction(least) <= Fraction(text) <= Fraction(
            most
        ):
            raise ArgumentTypeError(f"must be a number from {least} to {most}, not {text}")
        return Fraction(text)

    return parse


def images(text: str) -> int | ImageFilter:
    return whole_number(1, 10**6)(text) if re.match("-?[0-9]", text) else image_filter(text)


def tags(text: str) -> list[str]:
    return list(dict.fromkeys(language_tag(tag) for tag in text.split(",") if tag.strip()))


class Command(BaseCommand):
    help = "Propose from automatic scores which pairs of models raters should compare, and in which languages."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("scores", type=Path, help=".csv or .jsonl (columns: see docs/planning.md)")
        parser.add_argument(
            "--core", type=tags, default=list(planning.CORE), help=f"languages (default {','.join(planning.CORE)})"
        )
        parser.add_argument(
            "--sets", nargs=2, metavar=("A", "B"), default=(), help="columns of scores, if there are more than two"
        )
        parser.add_argument(
            "--small",
            type=number("0", "1000000"),
            help="score points below which a difference is small "
            f"(default {float(planning.SMALL_POINTS):g}, or 0 where --small-percent is given)",
        )
        parser.add_argument(
            "--small-percent", type=number("0", "100"), help="the same threshold in percent of the larger score"
        )
        parser.add_argument(
            "--images",
            type=images,
            default=planning.IMAGES,
            metavar="N or SPEC",
            help="images per session: a number, or with --project an image filter such as subset:xm600 "
            "(default %(default)s)",
        )
        parser.add_argument(
            "--project", metavar="PROJECT", help="whose images, pace and judgements count; needs the database"
        )
        parser.add_argument(
            "--replication",
            type=whole_number(1, 20),
            default=planning.REPLICATION,
            help="raters per pair (default %(default)s)",
        )
        parser.add_argument(
            "--raters",
            type=whole_number(1, planning.MAX_RATERS),
            help=f"raters who judge in a session, for its power (default {planning.RATERS}, or --replication if more)",
        )
        parser.add_argument(
            "--attention-percent",
            type=whole_number(0, 100),
            default=0,
            help="gold pairs and repeats per 100 pairs (default 0)",
        )
        parser.add_argument(
            "--pace",
            type=number("0.1", "3600"),
            help="seconds per judgement (default: measured from the database, or else assumed)",
        )
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")

    def handle(self, *, scores: Path, core: list[str], for_programs: bool, **options: Any) -> None:
        try:
            file = read_scores(scores, sets=options["sets"])
        except FileProblemsError as refused:
            raise CommandError(str(refused)) from refused
        thresholds = _thresholds(options["small"], options["small_percent"])
        project = project_named(options["project"]) if options["project"] else None
        with image_filter_errors():
            images = _number_of(options["images"], project)
        pace = _pace(options["pace"], project)
        cost = cost_of_session(
            images=images,
            replication=options["replication"],
            attention_percent=options["attention_percent"],
            pace_s=pace.seconds,
        )
        report = PlanReport(
            file=file,
            plan=plan_sessions(file.scores, core=core, thresholds=thresholds),
            core=core,
            thresholds=thresholds,
            cost=cost,
            attention_percent=options["attention_percent"],
            replication=options["replication"],
            pace=pace,
            design=_design(images, options["raters"], options["replication"], project),
        )
        if for_programs:
            self.stdout.write(json.dumps(report.as_json(), ensure_ascii=False, indent=2, allow_nan=False))
            return
        for line in report.lines():
            self.stdout.write(line)


def _thresholds(small: Fraction | None, small_percent: Fraction | None) -> SmallThresholds:
    if small is None:
        small = planning.SMALL_POINTS if small_percent is None else Fraction(0)
    return SmallThresholds(points=small, percent=small_percent)


def _number_of(wanted: int | ImageFilter, project: Project | None) -> int:
    """Count the images of a filter: those of all the project's collections."""
    if isinstance(wanted, int):
        return wanted
    if project is None:
        raise CommandError(f"--images {wanted} needs --project: an image filter is about the images of a project.")
    if wanted.depends_on_language:
        raise CommandError(
            f"--images {wanted} leaves another number of images in each language. Plan on the page, or give a number."
        )
    within = CollectionImage.objects.in_results().filter(collection__in=collections_in(project))
    number = within.filter(image__in=images_matching(check(wanted, project=project), project=project))
    if count := number.values("image").distinct().count():
        return count
    raise CommandError(f"No image is left by --images {wanted}. Check the places and subsets of {project.slug!r}.")


def _design(images: int, raters: int | None, replication: int, project: Project | None) -> PlannedDesign | None:
    raters = raters or max(planning.RATERS, replication)
    if raters < replication:
        raise CommandError(f"--replication {replication} needs as many --raters, not {raters}.")
    if images < 2:
        return None
    spread = spread_of(project) if project else MeasuredSpread()
    return PlannedDesign(JudgingDesign(images, raters, replication), spread)


def _pace(given: Fraction | None, project: Project | None) -> PaceUsed:
    if given is not None:
        return PaceUsed(float(given), "given")
    if _is_database_missing():
        return PaceUsed(planning.PACE_S, "default", note=_("there is no database to measure it from"))
    try:
        measured = measured_pace(project) if project else measured_pace()
    except DatabaseError:
        return PaceUsed(planning.PACE_S, "default", note=_("the database could not be reached"))
    if measured.judgements:
        return PaceUsed(measured.seconds, "measured", measured.judgements, measured=measured)
    note = _("there are fewer than %(number)s judgements to measure it from") % {"number": MIN_TIMED}
    return PaceUsed(planning.PACE_S, "default", note=note)


def _is_database_missing() -> bool:
    """Check for the file: SQLite would create an empty one."""
    return connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists()
