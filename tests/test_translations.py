"""The interface in Arabic, from right to left. tools/scripts/checks reads the catalogues."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Round
from core.people.models import User
from tests import factories
from tests.annotation.submitting import take, write


# Of Arabic's six forms these are for the one number each: none, one, two. They may say it in words.
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


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_an_annotator_writes_in_arabic_on_a_page_in_arabic(client: Client, round: Round, annotator: User):
    batch = take(round, annotator, now=timezone.now() - timedelta(minutes=1))
    write(batch, annotator, "قطة نائمة على كرسي", now=timezone.now())
    client.force_login(annotator)

    page = in_arabic(client).get(reverse("annotation:caption-write", args=[batch.pk, 1])).content.decode()

    assert is_in_arabic(page, "صِف الصورة")
    assert 'lang="ar" dir="rtl"' in page.partition("<textarea")[2].partition(">")[0]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_an_outsider_is_refused_in_arabic(client: Client, round: Round, annotator: User):
    batch = take(round, annotator, now=timezone.now())
    client.force_login(factories.make_user())

    page = in_arabic(client).get(reverse("annotation:caption-write", args=[batch.pk, 1]))

    assert page.status_code == 404
    assert is_in_arabic(page.content.decode(), "لا شيء هنا")


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_counts_of_work_follow_arabic_grammar(client: Client, round: Round, annotator: User):
    take(round, annotator, now=timezone.now())
    client.force_login(annotator)
    assert "لديك صورتان." in in_arabic(client).get(reverse("annotation:work-show")).content.decode()
