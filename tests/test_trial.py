"""The script that tries a whole installation: what can be held of it without an engine."""

from __future__ import annotations

import ast
import email.message
import os
import sys
import zipfile
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from core.images.rules.limits import MAX_UPLOAD_BYTES
from tests.servers import ROOT
from tools.deploy.trial import annotators, images
from tools.deploy.trial.__main__ import InstallationTrial, main
from tools.deploy.trial.annotators import AnnotatorCrowd, TrialAnnotator
from tools.deploy.trial.browser import FormParser, PageAnswer, TrialBrowser
from tools.deploy.trial.engine import ContainerEngine
from tools.deploy.trial.log import FailedError, TrialLog
from tools.scripts.checks.sources import files_in

FOLDER = ROOT / "tools" / "deploy" / "trial"
PAGE = """
<form method="get"><input name="q"></form>
<form method="post" action="/collections/new/">
  <input type="hidden" name="csrfmiddlewaretoken" value="t&amp;t"><input name="name" value="old">
  <textarea name="description">Two
lines</textarea>
  <select name="shared"><option value="">Everybody</option><option value="7" selected>Trial</option></select>
  <select name="first"><option value="1">One</option><option value="2">Two</option></select>
  <input type="checkbox" name="on" checked><input type="checkbox" name="off">
  <input type="radio" name="level" value="a"><input type="radio" name="level" value="b" checked>
  <input type="file" name="images"><input type="submit" name="send" value="Send">
</form>
"""


def test_a_form_is_sent_as_a_browser_would() -> None:
    search, form = FormParser(PAGE).forms

    assert (search.method, form.method, form.action) == ("get", "post", "/collections/new/")
    assert dict(form.fields) == {
        "csrfmiddlewaretoken": "t&t",
        "name": "old",
        "description": "Two\nlines",
        "shared": "7",
        "first": "1",
        "on": "on",
        "level": "b",
    }
    assert {"off", "images"} <= form.names


class Replies(TrialBrowser):
    """Answers what it is told to, in order."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)

    def post(self, path: str, *_fields: Any, **_more: Any) -> PageAnswer:
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        headers = email.message.Message()
        headers["Location"] = reply
        return PageAnswer(302, headers, "")  # type: ignore[arg-type]


def post_again(browser: TrialBrowser) -> str:
    annotator = TrialAnnotator("ann", browser, 1)
    return annotator._again(lambda: browser.post("/x/", {}).location)


def test_annotators_try_again_while_a_server_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotators, "RETRY_S", 0)
    away = (ConnectionRefusedError(), FailedError("POST /x/: 502 instead of 302: "))

    assert post_again(Replies(*away, "/done/")) == "/done/"


def test_annotators_do_not_hide_that_they_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotators, "RETRY_S", 0)

    with pytest.raises(FailedError, match="403"):
        post_again(Replies(FailedError("POST /x/: 403 instead of 302: "), "/done/"))


def test_annotators_do_not_try_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotators, "PATIENCE_S", 0)

    with pytest.raises(FailedError, match="was refused for 0 s"):
        post_again(Replies(ConnectionRefusedError(), "/done/"))


def test_a_crowd_tells_of_who_gave_up(tmp_path: Any) -> None:
    annotator = TrialAnnotator("ann", Replies(FailedError("POST /x/: 403 instead of 302: ")), 1)

    with AnnotatorCrowd(TrialLog(tmp_path / "log"), [annotator]) as crowd:
        pass

    assert crowd.errors == ["ann: POST /x/: 403 instead of 302: "]


def test_a_step_that_fails_is_in_the_summary_and_the_others_go_on(tmp_path: Any) -> None:
    log = TrialLog(tmp_path / "log")
    trial = InstallationTrial(log, ContainerEngine(log, tmp_path))

    def killed() -> str:
        raise FailedError("it does not come back")

    assert trial.step(lambda: "signed in") is True
    assert trial.step(killed, name="web killed") is False
    first, second, last = log.summary().splitlines()
    assert first.startswith("PASS")
    assert second.startswith("FAIL")
    assert second.endswith("web killed: FailedError: it does not come back")
    assert last.startswith("1 passed, 1 failed in")


def test_a_command_that_fails_is_told_by_its_last_line(tmp_path: Any) -> None:
    log = TrialLog(tmp_path / "log")

    with pytest.raises(FailedError, match="ended with 3: no room"):
        log.run(["sh", "-c", "echo begun; echo no room >&2; exit 3"])
    assert "begun" in log.path.read_text()


def test_images_are_images_each_its_own_and_few_bytes() -> None:
    packed = images.archive(3)

    with zipfile.ZipFile(BytesIO(packed)) as files:
        contents = [files.read(name) for name in files.namelist()]
    assert len(set(contents)) == 3
    for content in contents:
        with Image.open(BytesIO(content)) as opened:
            opened.load()
            assert (opened.format, opened.size) == ("PNG", (images.WIDTH, images.HEIGHT))
    assert len(packed) / 3 * 10_000 < MAX_UPLOAD_BYTES


def test_the_trial_needs_nothing_but_python() -> None:
    """It is started on machines that have nothing of ours installed."""
    imported = set()
    for path in files_in(str(FOLDER.relative_to(ROOT))):
        if path.name == "inside.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])

    assert imported - {"tools"} <= sys.stdlib_module_names


def test_the_trial_says_at_once_that_it_needs_root(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["trial", "--work", str(tmp_path / "work")])

    with pytest.raises(SystemExit, match="Run this as root"):
        main()
    assert not (tmp_path / "work").exists()
