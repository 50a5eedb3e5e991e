"""Jobs of building a corpus: each step is planned, done in chunks and finished, by as many workers as there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpora.models import StepState
from corpora.selectors.corpus_folders import folder_of
from corpora.services import corpus_builds
from parallel_text.building import STEP_NAMES
from tests.corpora.building import NOUNS, make_corpus, work_off
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def test_a_corpus_is_built_step_by_step(tmp_path: Path) -> None:
    build = make_corpus(tmp_path)

    corpus_builds.start(build=build, by=None, now=NOW)
    work_off(build)

    assert [(step.state, step.error) for step in build.steps.all()] == [(StepState.DONE, "")] * len(STEP_NAMES)
    instances = [json.loads(line) for line in folder_of(build).read("instances.jsonl").read_text().splitlines()]
    assert len(instances) == 60
    assert {each["lemma"]: each["languages"]["es"] for each in instances} == NOUNS
