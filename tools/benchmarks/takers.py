"""How many batches people of one language take a second, all at once: `python -m tools.benchmarks.takers`.

    python -m tools.benchmarks.takers [--images 20000] [--at-once 1 ...] [--seconds 8]

Run in the environment of the database to measure; best in an empty one. The web server is the platform's own. Each
person takes a batch of 15 of the same round, returns it, and takes the next, without pause. In the end no task may have
more takers than places, nor anybody the same task twice.
"""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import Any

import aiohttp
import django

django.setup()

from django.db import connection, connections

from tools.benchmarks import seed
from tools.benchmarks.harness import (
    BASE,
    THROUGH_PROXY,
    TOKEN,
    arguments,
    largest_process_mb,
    print_result,
    served_platform,
    summary,
)
from tools.benchmarks.load import BATCH, UnexpectedAnswerError
from tools.benchmarks.prepare import wrongly_taken_tasks

AT_ONCE = (1, 16, 64, 256, 500)


def main() -> None:
    options = arguments(__doc__, images=20_000, at_once=0, seconds=8.0)
    at_once = (options.at_once,) if options.at_once else AT_ONCE
    seed.migrate()
    round = seed.make_round("takers", options.images)
    people = seed.make_annotators(round, max(at_once))
    cookies = [seed.signed_in(person) for person in people]
    seed.analyse()
    connections.close_all()
    rates: dict[int, dict[str, Any]] = {}
    with served_platform({}) as server:
        for number in at_once:
            rates[number] = asyncio.run(_take(round.pk, cookies[:number], options.seconds))
        megabytes = largest_process_mb(server)
    exact = wrongly_taken_tasks()
    lines = [f"Taking a batch of a round with {options.images:,} images, {connection.vendor}, and returning it:"]
    for number, rate in rates.items():
        times = f"p50 {rate['take']['median_ms']:7.1f} ms   p95 {rate['take']['p95_ms']:7.1f} ms"
        lines.append(f"  {number:3} people  {rate['per_s']:6.1f}/s   {times}   errors: {rate['errors']}")
    lines.append(f"  replication: {exact}   largest process: {megabytes} MB")
    result = {"database": connection.vendor, "images": options.images, "takers": rates, "replication": exact}
    print_result(result | {"largest_process_mb": megabytes}, "\n".join(lines))


async def _take(round_id: int, cookies: list[dict[str, str]], seconds: float) -> dict[str, Any]:
    times: list[float] = []
    errors = 0
    began = time.perf_counter()
    stop = began + seconds

    async def post(session: aiohttp.ClientSession, path: str) -> str:
        headers = {"X-CSRFToken": TOKEN}
        async with session.post(BASE + path, headers=headers | THROUGH_PROXY, allow_redirects=False) as response:
            await response.read()
            if response.status != HTTPStatus.FOUND:
                raise UnexpectedAnswerError(f"{path}: {response.status}")
            return response.headers["Location"]

    async def loop(cookie: dict[str, str]) -> None:
        nonlocal errors
        timeout = aiohttp.ClientTimeout(total=120)
        async with aiohttp.ClientSession(cookies=cookie, timeout=timeout) as session:
            while time.perf_counter() < stop:
                asked = time.perf_counter()
                batch = BATCH.search(await post(session, f"/rounds/{round_id}/take/"))
                times.append(time.perf_counter() - asked)
                # Without a batch the answer leads back to the list of work: nothing was free.
                errors += batch is None
                if batch:
                    await post(session, f"/batches/{batch[1]}/return/")

    await asyncio.gather(*map(loop, cookies))
    per_s = round(len(times) / (time.perf_counter() - began), 1)
    return {"per_s": per_s, "take": summary(times), "errors": errors}


if __name__ == "__main__":
    main()
