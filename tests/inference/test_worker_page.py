"""The page of workers: who is there, what each has in use and does, and which queue nobody listens to."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.inference.watched import make_worker
from tests.sxs_eval.judged import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def address():
    return reverse("inference:worker-list")


def test_each_worker_says_what_it_has_in_use_and_what_it_does(researcher, address, run):
    gigabyte = 2**30
    make_worker(
        device="NVIDIA H200",
        software="PyTorch 2.13.0",
        memory=3 * gigabyte,
        device_memory=20 * gigabyte,
        device_memory_total=80 * gigabyte,
        device_busy=0.934,
        rate=12.34,
        gpus=2,
        packages="peft,torch",
        run=run,
    )
    response = researcher.get(address)
    text = text_of(response)
    for said in (
        "NVIDIA H200",
        "PyTorch 2.13.0",
        "3.0 GB",
        "20.0 GB / 80.0 GB",
        "93%",
        "12.3 a second",
        "Fake model",
        "GPUs 2",
        "peft, torch",
    ):
        assert said in text
    assert '<progress value="25" max="100" aria-label="Device memory">' in response.text
    assert f'<a href="{reverse("inference:run-show", args=[run.pk])}">Run {run.pk}</a>' in response.text


def test_what_a_worker_does_not_know_of_itself_is_left_out(researcher, address):
    make_worker()
    text = text_of(researcher.get(address))
    assert "None" not in text
    assert "Device usage" not in text
    assert "No run right now" in text


@pytest.mark.parametrize(("software", "is_told"), [("no PyTorch", True), ("PyTorch 2.13.0, transformers 5", False)])
def test_a_worker_without_pytorch_says_how_to_get_it(researcher, address, software, is_told):
    make_worker(software=software)
    assert ("pip install -r requirements/gpu.txt" in text_of(researcher.get(address))) is is_told
    assert ("pip install" in text_of(researcher.get(address))) is is_told


def test_a_queue_that_nobody_listens_to_comes_with_the_command_that_changes_it(researcher, address):
    make_worker(queues="default")
    make_worker("gone:2", queues="gpu", silent_s=600)
    text = text_of(researcher.get(address))
    assert "celery --app config worker --queues gpu" in text
    assert "celery --app config worker --queues default" not in text


def test_who_fell_silent_stands_below_and_who_did_a_day_ago_nowhere(researcher, address):
    make_worker("there:1")
    make_worker("silent:2", silent_s=600)
    make_worker("forgotten:3", silent_s=2 * 24 * 3600)
    response = researcher.get(address)
    text = text_of(response)
    assert text.index("there:1") < text.index("Gone") < text.index("silent:2")
    assert "10 minutes" in text
    assert "forgotten:3" not in text


def test_the_part_that_asks_for_itself_again_is_sent_alone(researcher, address):
    make_worker()
    part = researcher.get(address, headers={"HX-Request": "true"})
    assert part.text.strip().startswith('<div id="workers"')
    assert "<html" not in part.text
    assert "<html" in researcher.get(address).text
