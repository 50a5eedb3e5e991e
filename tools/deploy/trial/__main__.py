"""A whole installation tried out, as root on a Debian machine, in about a quarter of an hour:

    python3 -m tools.deploy.trial [--work FOLDER] [--keep]

Builds the image and brings up docker-compose.yml under a project name of its own, with made-up secrets, on ports of its
own where 80 and 443 are taken. Through the proxy over HTTPS: sign-in, an upload, a captioning run, a batch, a backup;
each container killed once while people work; 200 slow connections; a restore; then what the containers may do. Ends
with 0 only if all is as it should be, and takes everything down.

Where no engine answers it installs and starts one. Where images cannot be pulled it makes stand-ins out of Debian's
packages, and says so: they show that our files work with these versions, not that the published images do.

For machines behind a mirror of the package index, TRIAL_PIP_CONF names pip's configuration and TRIAL_AUTHORITIES a file
of certificate authorities, to which `cert = /run/secrets/authorities` in the first refers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tools.deploy.trial import confinement
from tools.deploy.trial.engine import REGISTRY_NAME, ContainerEngine, package_index, provide_images
from tools.deploy.trial.installation import TrialInstallation
from tools.deploy.trial.log import FailedError, TrialLog
from tools.deploy.trial.story import BACKUP, TrialStory

T = TypeVar("T")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("/var/tmp/crosslens-trial"), help="folder for all it makes")  # noqa: S108
    parser.add_argument("--keep", action="store_true", help="leave the installation and the engine running")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("Run this as root: it kills processes of containers, and may install and start an engine.")
    work: Path = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    log = TrialLog(work / "trial.log")
    engine = ContainerEngine(log, work)
    # Ended from outside, it still takes everything down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended."))
    try:
        InstallationTrial(log, engine).run()
    finally:
        if not options.keep:
            remove_all_but_log(log, engine)
        log.show("\n" + log.summary())
        log.show(f"The whole log: {log.path}")
    return 1 if not log.findings or any(not is_right for is_right, _what, _seconds in log.findings) else 0


class InstallationTrial:
    def __init__(self, log: TrialLog, engine: ContainerEngine) -> None:
        self.log, self.engine = log, engine

    def run(self) -> None:
        if not self.step(self.start):
            return
        if not (site := self.installed()):
            return
        story = TrialStory(site)
        for part in (story.sign_in, story.upload, story.caption, story.whole_batch):
            if not self.step(part):
                return
        for part in (story.back_up, *story.kills(), story.slow_connections, story.nothing_lost):
            self.step(part)
        self.step(story.restore)
        self.step(story.nothing_lost)
        for check in (
            confinement.check_rights,
            confinement.check_limits,
            confinement.check_role,
            confinement.check_redis,
            confinement.check_networks,
        ):
            self.step(lambda: check(site), name=check.__name__)  # noqa: B023
        self.step(lambda: confinement.check_backups(site, BACKUP), name="check_backups")

    def installed(self) -> TrialInstallation | None:
        pip, authorities = package_index(self.engine.work)
        site = TrialInstallation(self.engine, pip=pip, authorities=authorities)
        site.down()

        def images() -> str:
            are_standins = provide_images(self.engine, pip=pip, authorities=authorities)
            return "bases pinned by digest: " + ("STAND-INS from Debian's packages" if are_standins else "as published")

        def build() -> str:
            site.build()
            return "the image is built, every package by its hash"

        def up() -> str:
            site.up()
            return "the compose file is up, /readyz says ok"

        return site if all(self.step(part) for part in (images, build, up)) else None

    def start(self) -> str:
        self.engine.start()
        return f"Docker {self.engine.version} answers"

    def step(self, part: Callable[[], str], name: str = "") -> bool:
        began = time.monotonic()
        try:
            what, is_right = part(), True
        except (FailedError, OSError, ValueError, LookupError) as error:
            what, is_right = f"{name or part.__name__}: {type(error).__name__}: {error}", False
        self.log.found(is_right, what, time.monotonic() - began)
        return is_right


def remove_all_but_log(log: TrialLog, engine: ContainerEngine) -> None:
    """Nothing is left but the log, and Debian in its folder, which the next trial takes up."""
    try:
        pip, authorities = package_index(engine.work)
        if engine.version:
            TrialInstallation(engine, pip=pip, authorities=authorities).down()
            engine.docker("rm", "--force", REGISTRY_NAME, may_fail=True)
            engine.docker("image", "rm", "--force", "crosslens-trial", may_fail=True)
    except FailedError as error:
        log.show(f"Not everything was taken down: {error}")
    is_ours = engine.process is not None
    engine.stop()
    if is_ours:
        # An engine leaves these behind.
        log.run(["umount", engine.work / "engine/run/netns/default"], may_fail=True)
        log.run(["ip", "link", "delete", "docker0"], may_fail=True)
        shutil.rmtree(engine.work / "engine", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
