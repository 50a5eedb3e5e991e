"""What researchers see of a traceback: where it failed, and nothing of the installation."""

from __future__ import annotations

import pytest
from django.utils import timezone

from research.inference.services import steering
from research.inference.services.tracebacks import FIRST, LAST, without_secrets
from tests.inference.fake_runs import make_run

KEY = "a-key-that-nobody-sees"


def cleaned(text: str) -> str:
    return without_secrets(text, folders=["/srv/crosslens", "/srv/crosslens/var"], secrets=[KEY, "abc"])


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('File "/opt/x/.venv/lib/python3.11/site-packages/torch/nn.py", line 3', 'File "torch/nn.py", line 3'),
        ('File "/usr/lib/python3.11/json/decoder.py", line 3', 'File "json/decoder.py", line 3'),
        ('File "/srv/crosslens/research/inference/tasks.py", line 3', 'File "research/inference/tasks.py", line 3'),
        ("no file /srv/crosslens/var/models/blip/config.json", "no file models/blip/config.json"),
        (f"refused {KEY}!", "refused …!"),
        ("an abc of errors", "an abc of errors"),
        ("Authorization: Bearer eyJhbGciOiJIUzI1", "Authorization: Bearer …"),
        ("api_key='0123', next", "api_key='…', next"),
        ("wrong key sk-0123456789abcdef", "wrong key …"),
        ("postgres://user:word@db:5432/name", "postgres://…db:5432/name"),
        ("a token is missing", "a token is missing"),
    ],
)
def test_files_are_named_from_where_they_matter_and_secrets_are_hidden(written, kept):
    assert cleaned(written) == kept


def test_a_long_one_keeps_its_beginning_and_its_end():
    lines = cleaned("\n".join(f"line {number}" for number in range(500))).splitlines()

    assert len(lines) == FIRST + LAST + 1
    assert (lines[0], lines[FIRST - 1], lines[FIRST].strip(), lines[-1]) == ("line 0", "line 14", "…", "line 499")
    assert len(cleaned("x" * 5000)) < 500


@pytest.mark.django_db
@pytest.mark.usefixtures("fakes")
def test_the_log_of_a_run_has_no_key_of_an_endpoint_nor_of_the_hub(settings, monkeypatch):
    settings.CAPTION_ENDPOINT_KEYS = {"lab": KEY}
    monkeypatch.setenv("HF_TOKEN", "another-of-these")
    run = make_run(1)

    text = f'File "{settings.BASE_DIR}/research/inference/tasks.py"\nRuntimeError: {KEY} another-of-these'
    steering.log_event(run, "It failed.", traceback=text, now=timezone.now())

    assert run.events.last().traceback == 'File "research/inference/tasks.py"\nRuntimeError: … …'
