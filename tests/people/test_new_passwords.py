"""Which passwords may be chosen."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth.password_validation import get_password_validators, validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from config.environment import Environment
from core.people.models import User
from core.people.rules.passwords import BreachedPasswordValidator, fault_of, file_has_digest
from tests.clients import client_of
from tests.people.conftest import PASSWORD
from tools.demo.people import PASSWORD as OF_THE_DEMO

BREACHED = "correct horse battery staple"


def digest_of(password: str) -> str:
    return sha1(password.encode(), usedforsecurity=False).hexdigest().upper()


@pytest.fixture
def listed() -> list[str]:
    """Digests in order, that of BREACHED among them."""
    random = [f"{Random(number).getrandbits(160):040X}" for number in range(999)]
    return sorted([*random, digest_of(BREACHED)])


@pytest.fixture
def file(tmp_path: Path, listed: list[str]) -> Path:
    """As Have I Been Pwned gives it out: with how often, and lines that end as in Windows."""
    path = tmp_path / "pwned.txt"
    lines = [f"{digest}:{Random(digest).choice([1, 37, 52256179])}\r\n" for digest in listed]
    path.write_bytes("".join(lines).encode())
    return path


def refusals_of(password: str, user: User | None = None) -> set[str]:
    try:
        validate_password(password, user)
    except ValidationError as refused:
        return {error.code for error in refused.error_list}
    return set()


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("elephants11", "password_too_short"),
        ("password123456", "password_too_common"),
        ("831245970364", "password_entirely_numeric"),
        ("Annabelle-2026", "password_too_similar"),
        ("Crosslens2026!", "password_own"),
        ("caption annotator", "password_own"),
    ],
)
def test_one_that_is_easily_guessed_is_refused(password: str, code: str):
    assert code in refusals_of(password, User(username="annabelle"))


@pytest.mark.parametrize(
    "password",
    ["elephants112", PASSWORD, OF_THE_DEMO, "caption of a giraffe", "大象和长颈鹿一起在河边喝水", "x y" * 40],
)
def test_any_other_of_twelve_characters_is_taken(password: str):
    assert refusals_of(password, User(username="annabelle")) == set()


@pytest.mark.django_db
def test_who_has_a_shorter_one_from_before_still_signs_in(client: Client):
    user = User(username="ann")
    user.set_password("short")
    user.save()
    client.post(reverse("account_login"), {"login": "ann", "password": "short"})
    assert "_auth_user_id" in client.session


def test_every_digest_in_the_file_is_found_and_no_other(file: Path, listed: list[str]):
    assert all(file_has_digest(file, digest) for digest in listed)
    beside = {f"{int(digest, 16) + step:040X}" for digest in listed for step in (-1, 1)} - set(listed)
    assert not [digest for digest in (*beside, "0" * 40, "F" * 40) if file_has_digest(file, digest)]


@pytest.mark.parametrize("count", range(5))
def test_short_files_and_last_lines_without_an_end_are_read_whole(tmp_path: Path, listed: list[str], count: int):
    path = tmp_path / "few.txt"
    path.write_text("\n".join(listed[:count]).lower())
    assert [file_has_digest(path, digest) for digest in listed[: count + 1]] == [True] * count + [False]


def test_a_look_into_a_file_of_any_size_is_quick(tmp_path: Path):
    path = tmp_path / "long.txt"
    # Of 100 GB, of which the disk holds what is written at both ends.
    with path.open("wb") as long:
        long.write(f"{'0' * 40}:1\n".encode())
        long.seek(10**11)
        long.write(f"\n{'F' * 40}:1\n".encode())
    assert file_has_digest(path, "F" * 40)


def test_a_password_in_the_file_is_refused_and_the_reason_is_told(file: Path):
    validator = BreachedPasswordValidator(path=str(file))
    with pytest.raises(ValidationError, match="data breach"):
        validator.validate(BREACHED)
    validator.validate("incorrect horse battery staple")


def test_where_the_file_is_gone_passwords_can_still_be_changed_and_the_log_says_so(tmp_path: Path, caplog: Any):
    BreachedPasswordValidator(path=str(tmp_path / "gone.txt")).validate(BREACHED)
    assert "BREACHED_PASSWORDS cannot be read" in caplog.text


def test_the_environment_names_the_file(file: Path, tmp_path: Path):
    assert Environment({"BREACHED_PASSWORDS": str(file)}, tmp_path).breached_passwords() == str(file)
    assert Environment({}, tmp_path).breached_passwords() == ""


def test_a_file_that_is_sorted_otherwise_is_told_from_one_that_is_not(file: Path, tmp_path: Path):
    lines = file.read_bytes().splitlines(keepends=True)
    other = tmp_path / "by-prevalence.txt"
    other.write_bytes(b"".join(reversed(lines)))
    assert fault_of(file) is None
    assert fault_of(other) == "is not sorted by digest"


@pytest.mark.django_db
def test_the_page_says_what_is_asked_for_and_why_one_is_refused(ann_with_password: User, file: Path, monkeypatch: Any):
    named = [*configured.AUTH_PASSWORD_VALIDATORS, {
        "NAME": "core.people.rules.passwords.BreachedPasswordValidator", "OPTIONS": {"path": str(file)}
    }]  # fmt: skip
    monkeypatch.setattr(
        "django.contrib.auth.password_validation.get_default_password_validators",
        lambda: get_password_validators(named),
    )
    client = client_of(ann_with_password)
    page = client.get(reverse("account_change_password")).content.decode()
    assert "at least 12 characters" in page
    assert "appeared in a data breach" in page
    given = {"oldpassword": PASSWORD, "password1": BREACHED, "password2": BREACHED}
    refused = client.post(reverse("account_change_password"), given).content.decode()
    assert "data breach at another site" in refused
