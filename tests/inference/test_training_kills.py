"""A training whose worker is killed for real goes on in another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from django.core.files.storage import default_storage

from research.inference.models import RunState
from research.inference.training.options import TrainingOptions
from tests import servers
from tests.inference.embedded import painted_collection
from tests.inference.test_run_crashes import Place
from tests.inference.trained import examples_of, losses, make_training, work
from tests.torch_extra import needs_torch

pytestmark = [pytest.mark.usefixtures("media"), pytest.mark.process, needs_torch]


@pytest.mark.postgres
@pytest.mark.long(reason="a process is started and killed; what a crash leaves is always tried above")
@pytest.mark.django_db(transaction=True)
def test_a_training_whose_worker_is_killed_is_resumed_by_another_with_the_same_losses(tmp_path, settings):
    settings.TRAININGS_FOLDER = tmp_path / "trainings"
    options = TrainingOptions(steps=120, batch_size=3, validate_every=10, learning_rate=1e-3, max_tokens=6)
    examples = examples_of(painted_collection(6))
    whole, killed = (make_training(examples=examples, name=name, options=options) for name in ("Whole", "Killed"))
    work(whole)
    code = "import sys; from tests.inference.training_process import main; main(int(sys.argv[1]))"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.inference.worker_settings",
        "TEST_WORKER_DATABASE": json.dumps(Place(tmp_path)._database("")),
        "TEST_TRAININGS_FOLDER": str(settings.TRAININGS_FOLDER),
        "TEST_MEDIA": default_storage.path(""),
    }

    command = [sys.executable, "-c", code, str(killed.pk)]
    process = subprocess.Popen(command, cwd=servers.ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 35:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed.refresh_from_db()
    assert killed.state == RunState.RUNNING, "it was killed in the middle"
    assert killed.step < 120

    work(killed, worker="two:2", later_s=120)

    assert killed.state == RunState.DONE, killed.error
    assert losses(killed) == losses(whole)
    assert [message for message in killed.events.values_list("message", flat=True) if "Resumed after" in message]
