"""Times in the zone of whoever looks, numbers and money."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import timezone, translation

from core.languages.rules.cldr import money_text
from core.languages.rules.page_languages import PAGE_LANGUAGES
from core.people.templatetags.moments import date_in_words, moment_without_year

NOW = datetime(2026, 11, 23, 17, 30, tzinfo=UTC)
EVENING = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def shown(tag: str, at: datetime, zone: str = "", form: str = "") -> str:
    request = RequestFactory().get("/")
    if zone:
        request.COOKIES["timezone"] = zone
    template = Template("{% load moments %}{% " + f"{tag} at {form}" + " %}")
    return template.render(Context({"request": request, "at": at}))


def plain(text: str) -> str:
    """`text` with ordinary spaces: CLDR has several kinds that do not break."""
    return re.sub(r"[\u00a0\u202f]", " ", text)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("", "today, 18:00 UTC (23 November 2026)"),
        ("Europe/Paris", "today, 19:00 CET (23 November 2026)"),
        ("Asia/Kolkata", "today, 23:30 GMT+5:30 (23 November 2026)"),
        ("Asia/Kathmandu", "today, 23:45 GMT+5:45 (23 November 2026)"),
        # It is the 24th there already.
        ("Asia/Tokyo", "today, 03:00 GMT+9 (24 November 2026)"),
        ("America/Sao_Paulo", "today, 15:00 GMT-3 (23 November 2026)"),
        ("Nowhere/Land", "today, 18:00 UTC (23 November 2026)"),
        ("../../etc/passwd", "today, 18:00 UTC (23 November 2026)"),
        ("\x00", "today, 18:00 UTC (23 November 2026)"),
    ],
)
def test_a_deadline_is_of_the_day_that_it_is_for_the_person(zone, text):
    assert shown("deadline", EVENING, zone) == f'<time dir="auto" datetime="2026-11-23T18:00:00+00:00">{text}</time>'


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 11, 24, 9, tzinfo=UTC), "tomorrow, 10:00 CET (24 November 2026)"),
        (datetime(2026, 11, 26, 9, tzinfo=UTC), "26 Nov 2026, 10:00 CET"),
        (datetime(2026, 11, 22, 9, tzinfo=UTC), "22 Nov 2026, 10:00 CET"),
        (datetime(2026, 7, 1, 9, tzinfo=UTC), "1 Jul 2026, 11:00 CEST"),
    ],
)
def test_other_days_have_their_date_first(at, text):
    assert f">{text}<" in shown("deadline", at, "Europe/Paris")


def test_what_was_is_shown_with_its_date():
    assert ">23 Nov 2026, 19:00 CET<" in shown("moment", EVENING, "Europe/Paris")


def test_it_is_said_in_the_language_of_the_page():
    with translation.override("ar"):
        assert "اليوم" in shown("deadline", EVENING, "Europe/Paris")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "2026年11月23日 19:00 GMT+1"),
        ("zh-hans", "2026年11月23日 GMT+1 19:00"),
        ("ko", "2026년 11월 23일 오후 7:00 GMT+1"),
        ("hu", "2026. nov. 23. 19:00 CET"),
        ("pl", "23 lis 2026, 19:00 CET"),
        ("hr", "23. stu 2026. 19:00 CET"),
        ("de", "23. Nov. 2026, 19:00 MEZ"),
        ("fi", "23.11.2026 klo 19.00 UTC+1"),
        ("el", "23 Νοε 2026, 7:00 μ.μ. CET"),
        ("fil", "Nob 23, 2026, 7:00 PM GMT+1"),
        ("quz", "23 Nov 2026, 7:00 p.m. GMT+1"),
        ("te", "23, నవం 2026 7:00 PM GMT+1"),
        # By the calendars of Thailand and Iran.
        ("th", "23 พ.ย. 2569 19:00 GMT+1"),
        ("fa", "2 آذر 1405، 19:00 (‎+1 گرینویچ)"),
    ],
)
def test_dates_are_written_as_in_the_language_of_the_page(language, text):
    with translation.override(language):
        assert f">{text}<" in plain(shown("moment", EVENING, "Europe/Paris"))
        later = datetime(2026, 12, 23, 18, 0, tzinfo=UTC)
        assert shown("deadline", later) == shown("moment", later)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "23 Nov, 18:00"),
        ("ja", "11月23日 18:00"),
        ("hu", "nov. 23. 18:00"),
        ("bn", "23 নভে, 6:00 PM"),
    ],
)
def test_a_year_may_be_left_out(language, text):
    with translation.override(language):
        assert plain(moment_without_year(EVENING)) == text


def test_no_date_has_an_english_month_on_a_page_in_another_language():
    english = calendar.month_name[2]
    for language, _own_name in PAGE_LANGUAGES[1:]:
        with translation.override(language):
            written = date_in_words(datetime(2026, 2, 1, tzinfo=UTC))
        assert english not in written, language
        assert re.search("2026|2569|1404", written), language


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "1,234,567"),
        ("de", "1.234.567"),
        ("pl", "1 234 567"),
        ("hi", "12,34,567"),
        ("bn", "12,34,567"),
        ("quz", "1,234,567"),
    ],
)
def test_thousands_are_separated_as_in_the_language_of_the_page(language, text):
    with translation.override(language):
        assert plain(Template("{% load numbers %}{{ value|number }}").render(Context({"value": 1234567}))) == text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "€1,234.50"),
        ("de", "1.234,50 €"),
        ("ar", "\u200f1,234.50 €"),
        ("ja", "€1,234.50"),
        ("hi", "€1,234.50"),
        ("fa", "\u200e€ 1,234.50"),
    ],
)
def test_money_is_written_as_in_the_language_of_the_page(language, text):
    template = Template('{% load numbers %}{{ amount|money:"EUR" }} {{ small|money:"GBP" }}')
    with translation.override(language):
        written = plain(template.render(Context({"amount": Decimal("1234.5"), "small": Decimal(3)})))
    assert written.startswith(text)
    assert "£" in written


def test_money_keeps_the_fraction_that_is_promised():
    for amount, text in ((Decimal("13.5"), "HUF 13.50"), (Decimal(13), "HUF 13"), (Decimal("0.46"), "HUF 0.46")):
        assert plain(money_text(amount, "HUF", "en")) == text


def test_a_form_may_be_shorter_and_a_date_is_that_of_the_place():
    late = datetime(2026, 11, 23, 20, 0, tzinfo=UTC)
    assert ">24 Nov, 05:00:00 GMT+9<" in shown("moment", late, "Asia/Tokyo", '"MMMdjms"')
    assert ">24 November 2026<" in shown("day", late, "Asia/Tokyo")
    assert ">23 November 2026<" in shown("day", late)
    template = Template("{% load moments %}{% moment never %}{% day never %}")
    assert template.render(Context({"request": RequestFactory().get("/")})) == ""
