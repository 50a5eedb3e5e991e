"""`correlate FILE.csv --human COLUMN --metric COLUMN ...`: how far metrics stand in for people."""

from __future__ import annotations

import csv
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from crosslens_metrics.commands.running import CommandFailedError, Write, whole_number, write_report
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.formats.tables import read_table
from crosslens_metrics.reports.correlations import RESAMPLES, correlations_of
from crosslens_metrics.reports.evaluation_points import MIN_IMAGES, EvaluationColumns, PointRules

COLUMNS = {
    "base_model": "one model of each evaluation",
    "test_model": "the other one",
    "language": "its language",
    "images": "its complete images",
    "chosen_by": "metrics by whose scores it was planned",
}
HELP = "Correlate automatic differences with people's: Pearson, Spearman, Kendall (tau-b) and Matthews."


def group(text: str) -> tuple[str, list[str]]:
    """A column and its values, as in `language=zh,en`."""
    column, sign, values = text.partition("=")
    # A value that holds a comma stands in quotation marks, as in the file.
    apart = next(csv.reader([values], skipinitialspace=True), [])
    named = list(dict.fromkeys(value.strip() for value in apart if value.strip()))
    if not sign or not column.strip() or not named:
        raise ArgumentTypeError(f"must be a column and its values, as in language=zh,en,hi,es, not {text}")
    return column.strip(), named


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="one evaluation a row; docs/researchers.md tells more")
    parser.add_argument("--human", required=True, metavar="COLUMN", help="people's gain")
    parser.add_argument(
        "--metric", required=True, nargs="+", action="extend", metavar="COLUMN", help="differences of a metric"
    )
    parser.add_argument(
        "--no-flip", action="store_false", dest="flip", help="one point per evaluation, not both of m1-m2 and m2-m1"
    )
    parser.add_argument(
        "--group", type=group, metavar="COLUMN=VALUE,...", help="also over these evaluations, and over the rest"
    )
    for name, what in COLUMNS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="COLUMN", help=f"{what} (default {name}, if there)")
    parser.add_argument(
        "--min-images",
        type=whole_number(0, 10**9),
        default=MIN_IMAGES,
        help="leave out evaluations with fewer (default %(default)s)",
    )
    parser.add_argument("--weights", choices=["images"], help="count each evaluation as often as it has images")
    parser.add_argument("--with-chosen", action="store_true", help="keep evaluations that the metric itself chose")
    parser.add_argument(
        "--as-published",
        action="store_true",
        help="as in the papers: no minimum of images, no weights, intervals over evaluations alone",
    )
    parser.add_argument("--skip-missing", action="store_true", help="leave out evaluations without a figure")
    parser.add_argument("--digits", type=whole_number(1, 12), default=2, help="printed (default %(default)s)")
    parser.add_argument(
        "--resamples",
        type=whole_number(100, 100_000),
        default=RESAMPLES,
        help="bootstrap resamples of evaluations (default %(default)s)",
    )
    parser.add_argument("--seed", type=whole_number(-(2**63), 2**63 - 1), default=0, help="default 0")
    parser.add_argument("--no-intervals", action="store_true", help="only the coefficients, no intervals and tests")
    parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")


def run(options: Namespace, *, write: Write, note: Write) -> None:
    """Write the report on a table.

    Raises CommandFailedError.
    """
    if options.as_published and options.weights:
        raise CommandFailedError("The papers' tables have no weights: leave out --weights or --as-published.")
    named = {name: getattr(options, name) for name in COLUMNS}
    asked = [
        options.human,
        *options.metric,
        *([options.group[0]] if options.group else []),
        *filter(None, named.values()),
    ]
    rules = PointRules(options.flip, options.min_images, options.weights is not None, options.with_chosen)
    try:
        report = correlations_of(
            read_table(options.file, asked=[*asked, *filter(None, named.values())]),
            human=options.human,
            metrics=options.metric,
            group=options.group,
            rules=PointRules.as_published(flip=options.flip) if options.as_published else rules,
            columns=EvaluationColumns(**named),
            skip_missing=options.skip_missing,
            resamples=None if options.no_intervals else options.resamples,
            seed=options.seed,
        )
    except FileRefusedError as error:
        raise CommandFailedError(f"{options.file}:\n{error}") from error
    write_report(write, report, digits=options.digits, for_programs=options.for_programs)
