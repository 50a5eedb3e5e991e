"""People without pause, against a running server: `python -m tools.benchmarks.load`.

    python -m tools.benchmarks.load --kind caption|judge --target ID --cookies JSON [--people 16] [--seconds 20]

ID is that of a round or of a comparison; the cookies of people who are signed in come from `prepare`. Each annotator
takes a batch, rates every caption with a request of its own as the page does, opens screen 2 with its first image, and
saves a caption of each image as the page's script does, which brings the next; after the last the batch is submitted.
Every step is timed apart. The first seconds, in which each process imports its pages and makes its SQL, do not count.

An annotator's task is one image captioned, all the steps before it included, a rater's is one pair judged.
"""

from __future__ import annotations

import asyncio
import collections
import json
import re
import sys
import time
from typing import Any

import aiohttp

from tools.benchmarks.harness import BASE, THROUGH_PROXY, arguments, print_result, summary

REVISION = re.compile(r'name="revision"\s+value="(\d+)"')
JUDGING = re.compile(r"/judging/[0-9a-f-]{36}/")
PAIR = re.compile(r'action="(/judging/[0-9a-f-]{36}/\d+/)"')
BATCH = re.compile(r"/batches/([0-9a-f-]{36})/")

ACCEPTED = {"judge": "application/json", "save": "application/json"}
WARM_S = 3.0


class UnexpectedAnswerError(Exception):
    """An answer that is not what the step should give."""


class SimulatedPerson:
    """Somebody with a session, whose requests are timed by their kind."""

    def __init__(self, number: int, base: str, target: str, session: aiohttp.ClientSession) -> None:
        self.number, self.base, self.target, self.session = number, base, target, session
        self.times: dict[str, list[float]] = collections.defaultdict(list)

    async def _request(self, kind: str, method: str, path: str, expected: int, **data: str) -> tuple[str, str]:
        token = next((c.value for c in self.session.cookie_jar if c.key.endswith("csrftoken")), "")
        headers = THROUGH_PROXY | {"X-CSRFToken": token, "Accept": ACCEPTED.get(kind, "text/html")}
        began = time.perf_counter()
        async with self.session.request(
            method, self.base + path, data=data or None, headers=headers, allow_redirects=False
        ) as response:
            body = await response.text(errors="replace")
        self.times[kind].append(time.perf_counter() - began)
        if response.status != expected:
            raise UnexpectedAnswerError(f"{kind}: {response.status} instead of {expected}: {body[:120]!r}")
        return body, response.headers.get("Location", "")

    async def one_task(self) -> bool:
        """Do one thing that is counted; False when nothing is left."""
        raise NotImplementedError


class SimulatedAnnotator(SimulatedPerson):
    batch = page = ""
    positions: tuple[int, ...] = ()

    async def prepare(self) -> bool:
        """Take a batch, rate it, open screen 2; False when nothing is left."""
        _, location = await self._request("take", "POST", f"/rounds/{self.target}/take/", 302)
        batch = BATCH.search(location)
        if not batch:
            return False
        self.batch = f"/batches/{batch[1]}"
        page, _ = await self._request("rating page", "GET", f"{self.batch}/rate/", 200)
        positions = sorted({int(number) for number in re.findall(r'name="rating-(\d+)"', page)})
        for position in positions:
            await self._request("rate", "POST", f"{self.batch}/rate/{position}/", 200, rating="GOOD", active_ms="900")
        await self._request("open", "POST", f"{self.batch}/write/open/", 302)
        self.page, _ = await self._request("first image", "GET", f"{self.batch}/write/{positions[0]}/", 200)
        self.positions = tuple(positions)
        return True

    async def one_task(self) -> bool:
        if not self.positions and not await self.prepare():
            return False
        position, *following = self.positions
        revision = REVISION.search(self.page)
        if not revision:
            raise UnexpectedAnswerError(f"no image on the page: {self.page[:120]!r}")
        answer, _ = await self._request(
            "save",
            "POST",
            f"{self.batch}/write/{position}/draft/",
            200,
            text=f"Ein kleiner Hund läuft neben dem Ball Nummer {position} über die Wiese.",
            revision=revision[1],
            active_ms="2000",
            confirms="yes",
            **({"ahead": str(following[0])} if following else {}),
        )
        self.page, self.positions = json.loads(answer)["ahead"], tuple(following)
        if not self.positions:
            await self._request("submit batch", "POST", f"{self.batch}/submit/", 302)
        return True


class SimulatedRater(SimulatedPerson):
    """Judges as the page's script does: each answer is one request, and the page has the pairs."""

    batch = ""
    pairs: tuple[str, ...] = ()

    async def one_task(self) -> bool:
        if not self.pairs:
            _, location = await self._request("take", "POST", f"/compare/{self.target}/take/", 302)
            batch = JUDGING.search(location)
            if not batch:
                return False
            self.batch = batch[0]
            page, _ = await self._request("first pair", "GET", self.batch, 200)
            self.pairs = tuple(PAIR.findall(page))
            if not self.pairs:
                raise UnexpectedAnswerError(f"no pair on the page: {page[:120]!r}")
        pair, *following = self.pairs
        here = [one.rstrip("/").rpartition("/")[2] for one in following] or [""]
        answer = {"choice": str(self.number % 4 - 1), "active_ms": "2000", "shown": here[0], "last": here[-1]}
        body, _ = await self._request("judge", "POST", pair, 200, **answer)
        self.pairs = (*following, *PAIR.findall(json.loads(body).get("ahead", "")))
        return True


async def run(
    kind: type[SimulatedPerson], base: str, target: str, people: int, seconds: float, cookies: list[dict[str, str]]
) -> dict[str, Any]:
    timeout = aiohttp.ClientTimeout(total=60)
    sessions = [
        # The server is told that a proxy asked by HTTPS, and marks its cookies as secure.
        aiohttp.ClientSession(
            cookies=cookies[number],
            cookie_jar=aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=[base]),
            timeout=timeout,
        )
        for number in range(people)
    ]
    annotators = [kind(number, base, target, session) for number, session in enumerate(sessions)]
    tasks, errors = 0, collections.Counter[str]()
    began = time.perf_counter() + WARM_S
    stop = began + seconds

    async def loop(annotator: SimulatedPerson) -> None:
        nonlocal tasks
        while time.perf_counter() < stop:
            try:
                if not await annotator.one_task():
                    return
                tasks += 1
            except (UnexpectedAnswerError, aiohttp.ClientError, TimeoutError) as error:
                errors[str(error)[:200]] += 1
                if errors.total() > 50:
                    return

    async def forget() -> None:
        nonlocal tasks
        await asyncio.sleep(WARM_S)
        tasks = 0
        for annotator in annotators:
            annotator.times.clear()

    await asyncio.gather(forget(), *map(loop, annotators))
    wall_s = time.perf_counter() - began
    for session in sessions:
        await session.close()
    kinds: dict[str, list[float]] = collections.defaultdict(list)
    for annotator in annotators:
        for name, times in annotator.times.items():
            kinds[name] += times
    # The share of each person's time that went into fetching and sending captions, as a peer's tasks are measured.
    writing_s = sum(kinds.get("first image", [])) + sum(kinds.get("save", []))
    return {
        "people": people,
        "wall_s": round(wall_s, 1),
        "tasks_per_s": round(tasks / wall_s, 1),
        "answers_per_s": round((tasks + len(kinds.get("rate", []))) / wall_s, 1),
        "writing_per_s": round(tasks * people / writing_s, 1) if writing_s else 0.0,
        "requests_per_s": round(sum(map(len, kinds.values())) / wall_s, 1),
        "steps": {name: summary(times) for name, times in kinds.items()},
        "errors": dict(errors),
    }


def main() -> None:
    options = arguments(__doc__, kind="caption", target="", people=16, seconds=20.0, cookies="[]")
    work = {"caption": SimulatedAnnotator, "judge": SimulatedRater}[options.kind]
    cookies = json.loads(options.cookies)
    result = asyncio.run(run(work, BASE, options.target, options.people, options.seconds, cookies))
    if not result["tasks_per_s"]:
        sys.exit(f"Nobody did anything, so nothing was measured. Errors, and how often: {result['errors']}")
    print_result(result)


if __name__ == "__main__":
    main()
