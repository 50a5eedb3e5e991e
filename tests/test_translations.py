"""The interface in Arabic: complete, up to date, with the placeholders of the English, and compiled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import polib
import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Round
from people.models import User
from tests import factories, servers
from tests.annotation.submitting import take, write

ROOT = Path(settings.BASE_DIR)
CATALOGUE = ROOT / "locale" / "ar" / "LC_MESSAGES" / "django.po"
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}")
TAG = re.compile(r"</?[a-z][^>]*>")
# Of Arabic's six forms these are for the one number each: none, one, two. They may say it in words.
FORMS_OF_ONE_NUMBER = {0, 1, 2}


@pytest.fixture(scope="module")
def catalogue() -> polib.POFile:
    return polib.pofile(str(CATALOGUE))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> polib.POFile:
    """What makemessages finds in a copy of the source (it writes next to what it reads)."""
    if not shutil.which("xgettext"):
        servers.missing("gettext (xgettext)")
    copy = tmp_path_factory.mktemp("source")
    for folder in ROOT.iterdir():
        if folder.name != "tests" and (folder.name == "templates" or (folder / "__init__.py").exists()):
            shutil.copytree(folder, copy / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "locale").mkdir()
    subprocess.run(
        [sys.executable, "-m", "django", "makemessages", "--locale", "ar", "--no-location"],
        cwd=copy,
        env={name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
        check=True,
        capture_output=True,
    )
    return polib.pofile(str(copy / CATALOGUE.relative_to(ROOT)))


def keys(file: polib.POFile) -> set[tuple[str | None, str, str]]:
    return {(entry.msgctxt, entry.msgid, entry.msgid_plural) for entry in file if not entry.obsolete}


def forms(entry: polib.POEntry) -> dict[int, str]:
    return entry.msgstr_plural or {-1: entry.msgstr}


def test_messages_are_marked_by_names_that_xgettext_knows():
    """It knows `_` and the functions' own names: what is marked by another name never reaches the catalogue."""
    alias = re.compile(r"\bn?p?gettext(?:_lazy|_noop)? as (?!_\b)\w+")
    files = [file for folder in ROOT.iterdir() if (folder / "__init__.py").exists() for file in folder.rglob("*.py")]
    assert files
    assert [str(file) for file in files if alias.search(file.read_text())] == []


def test_nothing_in_the_source_is_missing_from_the_catalogue(source: polib.POFile, catalogue: polib.POFile):
    assert len(source) > 500
    assert keys(source) - keys(catalogue) == set(), "run: make messages, then translate what is new"


def test_the_catalogue_holds_nothing_that_left_the_source(source: polib.POFile, catalogue: polib.POFile):
    assert keys(catalogue) - keys(source) == set(), "run: make messages"
    assert catalogue.obsolete_entries() == []


def test_everything_is_translated_and_nothing_is_a_guess(catalogue: polib.POFile):
    assert [entry.msgid for entry in catalogue if entry.fuzzy] == []
    assert [entry.msgid for entry in catalogue if not all(forms(entry).values())] == []
    assert [entry.msgid for entry in catalogue if entry.msgid_plural and set(forms(entry)) != set(range(6))] == []


def test_placeholders_and_tags_are_those_of_the_english(catalogue: polib.POFile):
    wrong = []
    for entry in catalogue:
        for number, text in forms(entry).items():
            english = entry.msgid_plural or entry.msgid
            wanted, found = Counter(PLACEHOLDER.findall(english)), Counter(PLACEHOLDER.findall(text))
            if found != wanted and not (number in FORMS_OF_ONE_NUMBER and found < wanted):
                wrong.append((text, "placeholders"))
            if Counter(TAG.findall(english)) != Counter(TAG.findall(text)):
                wrong.append((text, "tags"))
    assert wrong == []


def test_the_compiled_catalogue_is_the_one_that_is_committed(catalogue: polib.POFile):
    compiled = polib.mofile(str(CATALOGUE.with_suffix(".mo")))

    def texts(file: polib._BaseFile) -> dict[tuple[str | None, str], dict[int, str]]:
        return {(entry.msgctxt, entry.msgid): forms(entry) for entry in file}

    assert texts(compiled) == texts(catalogue), "run: make messages"


# The pages


def in_arabic(client: Client) -> Client:
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "ar"
    return client


def is_in_arabic(page: str, words: str) -> bool:
    return '<html lang="ar" dir="rtl">' in page and words in page


@pytest.fixture
def round() -> Round:
    return factories.make_round(language="ar", images=2)


@pytest.fixture
def annotator(round: Round) -> User:
    return factories.make_annotator(round)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("people:home-show", "صور موصوفة بلغات كثيرة"),
        ("account_login", "تسجيل الدخول"),
        ("account_reset_password", "استعادة كلمة المرور"),
    ],
)
def test_somebody_who_is_signed_out_reads_arabic_from_right_to_left(client: Client, name: str, words: str):
    assert is_in_arabic(in_arabic(client).get(reverse(name)).content.decode(), words)


@pytest.mark.django_db
def test_the_browser_s_language_is_enough(client: Client):
    page = client.get(reverse("people:home-show"), headers={"Accept-Language": "ar-EG,ar;q=0.9,en;q=0.5"})
    assert is_in_arabic(page.content.decode(), "أهلًا بك")


@pytest.mark.django_db
def test_an_annotator_writes_in_arabic_on_a_page_in_arabic(client: Client, round: Round, annotator: User):
    batch = take(round, annotator, now=timezone.now() - timedelta(minutes=1))
    write(batch, annotator, "قطة نائمة على كرسي", now=timezone.now())
    client.force_login(annotator)

    page = in_arabic(client).get(reverse("annotation:caption-write", args=[batch.pk, 1])).content.decode()

    assert is_in_arabic(page, "صِف الصورة")
    assert 'lang="ar" dir="rtl"' in page.partition("<textarea")[2].partition(">")[0]


@pytest.mark.django_db
def test_an_outsider_is_refused_in_arabic(client: Client, round: Round, annotator: User):
    batch = take(round, annotator, now=timezone.now())
    client.force_login(factories.make_user())

    page = in_arabic(client).get(reverse("annotation:caption-write", args=[batch.pk, 1]))

    assert page.status_code == 404
    assert is_in_arabic(page.content.decode(), "لا شيء هنا")


@pytest.mark.django_db
def test_counts_of_work_follow_arabic_grammar(client: Client, round: Round, annotator: User):
    take(round, annotator, now=timezone.now())
    client.force_login(annotator)
    assert "لديك صورتان." in in_arabic(client).get(reverse("annotation:work-show")).content.decode()
