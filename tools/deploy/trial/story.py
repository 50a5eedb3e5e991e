"""What people do with an installation, step by step; each step returns what it has shown."""

from __future__ import annotations

import hashlib
import http.client
import re
import secrets
import ssl
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from tools.deploy.trial.annotators import AnnotatorCrowd, TrialAnnotator
from tools.deploy.trial.browser import HOST, SlowConnections, TrialBrowser
from tools.deploy.trial.images import archive
from tools.deploy.trial.installation import BACKUPS, PROJECT, SERVICES, TrialInstallation
from tools.deploy.trial.log import FailedError, require

IMAGES = 400
PEOPLE = 6
MANAGER, COLLECTION, BACKUP = "trial-manager", "Trial", "while-people-work"
SLOW, SLOW_FOR_S, MAX_SAVE_S = 200, 45, 5
ENDED_AFTER_S = 35
"""20 s after it began, and at the next byte."""
WEB_PORT, ESTABLISHED = f":{8000:04X}", "01"
BACK_S, SWEPT_S = 180, 90
RUN_S = 600
MEDIA = "find /srv/crosslens/media -type f -exec sha256sum {} + | sort"


class TrialStory:
    def __init__(self, site: TrialInstallation) -> None:
        self.site, self.log = site, site.engine.log
        self.password = secrets.token_urlsafe(24)
        self.manager: TrialBrowser
        self.annotators: list[TrialAnnotator] = []
        self.names = [f"trial-{number}" for number in range(1, PEOPLE + 1)]
        self.trust: ssl.SSLContext
        self.model = self.round = 0
        self.slug = ""

    # What people do

    def sign_in(self) -> str:
        site = self.site
        self.model = site.inside(
            f"make_people(manager={MANAGER!r}, annotators={self.names!r}, password={self.password!r})"
        )
        self.trust = site.trust()
        plain = http.client.HTTPConnection(HOST, site.http, timeout=10)
        plain.request("GET", "/accounts/login/", headers={"Host": HOST})
        require(plain.getresponse().status == 308, "plain HTTP is not sent on to HTTPS")
        self.manager = TrialBrowser(site.https, self.trust)
        page = self.manager.get("/accounts/login/")
        require("max-age=" in page.headers.get("Strict-Transport-Security", ""), "there is no HSTS")
        require(page.headers.get("Server") is None, "the proxy names itself")
        cookies = page.headers.get_all("Set-Cookie") or []
        require(all("Secure" in line for line in cookies), "a cookie is not for HTTPS alone")
        self.manager.get("/readyz", expected=404)
        stranger = TrialBrowser(site.https, self.trust)
        with suppress(FailedError):
            stranger.sign_in(MANAGER, "another password")
            raise LookupError("a wrong password was taken")
        self.manager.sign_in(MANAGER, self.password)
        self.manager.get("/projects/")
        return "sign-in over HTTPS with a certificate of the proxy's own authority; a wrong password is refused"

    def upload(self) -> str:
        where = self.manager.submit("/collections/new/", {"name": COLLECTION, "description": ""}).location
        self.slug = where.split("collection=")[1]
        packed, fields = archive(IMAGES), {"collection": self.slug}
        page = self.manager.submit("/projects/trial/import/", fields, files={"images": ("images.zip", packed)}).location
        states = f"import_states(slug={self.slug!r}, within_s={RUN_S})"
        require(self.site.inside(states)["images"] == 0, "images are imported before anybody saw the preview")
        self.manager.submit(page, {"source": ""})
        told = self.site.inside(states)
        require(told == {"states": ["done"], "images": IMAGES, "sized": IMAGES}, f"the import: {told}")
        return f"a manager's upload of {IMAGES} images in a zip of {len(packed) // 1000} kB, with all sizes made"

    def caption(self) -> str:
        self._finish(self._start_run(["en"]), IMAGES)
        return f"a captioning run to its end: {IMAGES} English captions"

    def whole_batch(self) -> str:
        names, slug = self.names, self.slug
        about = f"slug={slug!r}, annotators={names!r}, model={self.model}"
        self.round = self.site.inside(f"make_round({about})")
        for name in self.names:
            browser = TrialBrowser(self.site.https, self.trust)
            browser.sign_in(name, self.password)
            self.annotators.append(TrialAnnotator(name, browser, self.round))
        first = self.annotators[0]
        require(first.whole_batch(), "there was no batch to take")
        require(first.failures == 0, "something failed on the way")
        shown = first.browser.get("/work/history/").text
        require(first.texts[-1] in shown or str(len(first.texts)) in shown, "the batch is not in the history")
        return f"an annotator's whole batch: {len(first.texts)} captions rated, described and submitted"

    def back_up(self) -> str:
        with AnnotatorCrowd(self.log, self.annotators) as crowd:
            began = time.monotonic()
            crowd.wait_for_saves(5, since=began, limit_s=60)
            self.site.manage("backup", f"{BACKUPS}/{BACKUP}")
            saved = len(crowd.saves_since(began))
            self.site.manage("restore", "--check", f"{BACKUPS}/{BACKUP}")
        require(not crowd.errors, "; ".join(crowd.errors))
        return f"a backup while people work ({saved} captions saved meanwhile), whole when read again"

    # What goes wrong

    def kills(self) -> list[Callable[[], str]]:
        return [self._kill_of(service) for service in SERVICES]

    def _kill_of(self, service: str) -> Callable[[], str]:
        def kill() -> str:
            return self._kill(service)

        kill.__name__ = f"{service} killed"
        return kill

    def _kill(self, service: str) -> str:
        languages = {"worker": ["de", "es", "fr"], "redis": ["ar", "hi", "ja", "zh"]}.get(service, [])
        with AnnotatorCrowd(self.log, self.annotators) as crowd:
            crowd.wait_for_saves(3, since=time.monotonic(), limit_s=90)
            before = self.site.inspect(service)
            run = self._start_run(languages) if languages else 0
            began, killed_at = time.monotonic(), datetime.now(UTC).isoformat()
            self.site.kill(before)
            if run:
                # Its captions take a second on a fast machine, less than asking for its state here.
                query = f"SELECT coalesce(finished_at > '{killed_at}', true) FROM inference_run WHERE id = {run};"
                require(self.site.query(query) == ["t"], "the run was over before")
            self.site.wait(f"{service} is started again", lambda: self._is_anew(service, before), BACK_S)
            started_s = time.monotonic() - began
            self.site.wait_until_ready()
            ready_s = time.monotonic() - began
            if service == "beat":
                self.site.wait("a sweep is sent", self._is_swept, SWEPT_S)
            longest = max(crowd.saves_since(began), default=0)
            crowd.wait_for_saves(5, since=time.monotonic(), limit_s=120)
            longest = max([longest, *crowd.saves_since(began)])
        require(not crowd.errors, "; ".join(crowd.errors))
        more = ""
        if run:
            self._finish(run, IMAGES * len(languages))
            more = f"; the run of {IMAGES * len(languages)} captions that was on came to its end, none twice"
        return (
            f"{service} killed: runs again after {started_s:.0f} s, all ready after {ready_s:.0f} s, "
            f"longest wait for a save {longest:.1f} s{more}"
        )

    def _is_anew(self, service: str, before: dict[str, dict[str, object]]) -> bool:
        now = self.site.inspect(service)
        return bool(now["State"]["Running"]) and now["State"]["StartedAt"] != before["State"]["StartedAt"]

    def _is_swept(self) -> bool:
        """Whether a worker was sent a sweep since the beat of now has started."""
        since = self.site.inspect("beat")["State"]["StartedAt"]
        return "sweep_" in self.site.compose("logs", "--no-log-prefix", "--since", since, "worker")

    def slow_connections(self) -> str:
        with AnnotatorCrowd(self.log, self.annotators) as crowd:
            crowd.wait_for_saves(5, since=time.monotonic(), limit_s=60)
            failed = sum(each.failures for each in self.annotators)
            with SlowConnections(SLOW, self.site.https, self.trust) as slow:
                self.site.wait(f"{SLOW} connections are open", lambda: slow.opened == SLOW, 30)
                began = time.monotonic()
                longest = self._longest_page(SLOW_FOR_S)
                saves, ended, held = crowd.saves_since(began), list(slow.ended_s), self._held()
                memory = self.site.engine.docker(
                    "stats", "--no-stream", "--format", "{{.MemUsage}}", self.site.container("proxy")
                )
            failed = sum(each.failures for each in self.annotators) - failed
        require(not crowd.errors and not failed, f"{failed} requests failed; {'; '.join(crowd.errors)}")
        require(len(saves) >= 10, f"only {len(saves)} captions were saved")
        slowest = max(saves)
        require(slowest < MAX_SAVE_S, f"the slowest save took {slowest:.1f} s")
        require(held < SLOW // 10, f"{held} connections to web are held")
        require(len(ended) == SLOW // 2, f"{len(ended)} of {SLOW // 2} connections with large bodies were ended")
        require(max(ended) < ENDED_AFTER_S, f"the last of them was ended after {max(ended):.0f} s")
        return (
            f"{SLOW} slow connections: {len(saves)} captions saved meanwhile, median {statistics.median(saves):.2f} s, "
            f"slowest {slowest:.1f} s; slowest page {longest:.1f} s; after {SLOW_FOR_S} s web has {held} connections, "
            f"those with large bodies were ended after {min(ended):.0f} to {max(ended):.0f} s; memory of the proxy "
            f"{memory.strip()}"
        )

    def _held(self) -> int:
        """Connections that web has from the proxy."""
        lines = self.site.execute("web", "cat", "/proc/net/tcp").splitlines()[1:]
        fields = [line.split() for line in lines]
        return sum(local.endswith(WEB_PORT) and state == ESTABLISHED for _, local, _, state, *_ in fields)

    def _longest_page(self, seconds: float) -> float:
        longest, until = 0.0, time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            TrialBrowser(self.site.https, self.trust).get("/accounts/login/")
            longest = max(longest, time.monotonic() - began)
            time.sleep(0.5)
        return longest

    # What is left

    def nothing_lost(self) -> str:
        texts = [text for each in self.annotators for text in each.texts]
        batches = [batch for each in self.annotators for batch in each.batches]
        told = self.site.inside(f"missing({texts!r}, {batches!r})")
        lost = {name: told[name] for name in ("lost", "double", "not_submitted")}
        require(not any(lost.values()), f"of {len(texts)} confirmed captions: {lost}")
        return f"all {len(texts)} captions whose saving was confirmed, and all {len(batches)} batches, are there once"

    def restore(self) -> str:
        """Into a new database and an empty storage; then rows and files are what they were."""
        site, path = self.site, f"{BACKUPS}/before-restore"
        site.compose("stop", "proxy", "web", "worker", "beat")
        rows, files = self._rows(), self._files()
        site.manage("backup", path)
        site.compose("rm", "--stop", "--force", "postgres", "proxy", "web", "worker", "beat", "migrate")
        site.engine.docker("volume", "rm", f"{PROJECT}_postgres", f"{PROJECT}_media")
        site.manage("restore", path)
        require(self._files() == files, "the files are not those of before")
        after = self._rows()
        differing = [table for table in rows if after.get(table) != rows[table]]
        require(after.keys() == rows.keys() and not differing, f"tables that differ: {differing}")
        site.up()
        self.trust = site.trust()
        self.manager.get("/projects/")
        TrialBrowser(site.https, self.trust).sign_in(MANAGER, self.password)
        count = sum(int(row.split("|")[0]) for row in rows.values())
        return (
            f"a restore into a new database and an empty storage: {count} rows of {len(rows)} tables and "
            f"{len(files)} files, each the same; who was signed in still is"
        )

    def _rows(self) -> dict[str, str]:
        """Count and checksum of each table."""
        named = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename;"
        tables = self.site.query(named)
        digest = "count(*), md5(coalesce(string_agg(each::text, E'\\n' ORDER BY each::text), ''))"
        sql = "\n".join(f"SELECT '{table}', {digest} FROM public.\"{table}\" AS each;" for table in tables)
        return dict(line.split("|", 1) for line in self.site.query(sql))

    def _files(self) -> dict[str, str]:
        lines = self.site.compose("run", "--rm", "-T", "--entrypoint", "sh", "manage", "-c", MEDIA).splitlines()
        digests = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
        self.log.say(f"Files: {len(digests)}, {hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()}")
        return digests

    def _start_run(self, languages: list[str]) -> int:
        path = f"/models/runs/new/?model={self.model}&collection={self.slug}"
        where = self.manager.submit(path, {"languages": languages}).location
        run = re.search(r"/models/runs/(\d+)/", where)
        if run is None:
            raise FailedError(f"the run leads to {where}")
        return int(run[1])

    def _finish(self, run: int, captions: int) -> None:
        told = self.site.inside(f"run_state(run={run}, within_s={RUN_S})")
        wanted = {"state": "done", "captions": captions, "several": 0}
        require(told == wanted, f"the run: {told}")
