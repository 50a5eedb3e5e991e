"""The library speaks English by itself, and a program's languages where one gives it translations."""

from __future__ import annotations

from django.utils import translation

from crosslens_metrics.formats.records import not_utf8
from crosslens_metrics.messages import gettext, ngettext
from tests.metrics.test_library_alone import run_alone


def test_the_platforms_languages_reach_the_library():
    with translation.override("ar"):
        said = not_utf8()

    assert said != not_utf8() == "Holds characters that are not valid UTF-8. Save the file as UTF-8."


def test_without_a_program_around_it_the_library_speaks_english():
    said = run_alone(
        "from crosslens_metrics.messages import gettext, ngettext\n"
        "print(gettext('The file is empty.'), ngettext('one', 'many', 1), ngettext('one', 'many', 2))"
    )

    assert said == "The file is empty. one many\n"
    assert (gettext("no such message"), ngettext("one", "many", 2)) == ("no such message", "many")
