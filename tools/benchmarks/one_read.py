"""How often a page answers that reads one row by Django's ORM: what a machine can do at most with the same tools.

    python -m tools.benchmarks.one_read [--people 16] [--seconds 5]

It has no middleware and no template, and is served as the platform is. Rates of different machines can be compared as
multiples of it, and so can pages. The driver is the load's; `p50` of one person alone is that page's time.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp

from tools.benchmarks.harness import BASE, OPTIONS, arguments, print_result, served_platform, summary

VAR = "ONE_READ_VAR"


def settings_for(var: str) -> dict[str, Any]:
    return {
        "ALLOWED_HOSTS": ["127.0.0.1"],
        "DATABASES": {
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": Path(var) / "db.sqlite3", "CONN_MAX_AGE": None}
        },
        "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
        "INSTALLED_APPS": ["django.contrib.contenttypes", "django.contrib.auth"],
        "ROOT_URLCONF": __name__,
        "SECRET_KEY": "measured in a benchmark and nowhere else",
        "USE_TZ": True,
    }


def make_application() -> Any:
    """Make the application; everything of Django is imported here, as the driver needs none of it."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    var = os.environ[VAR]
    settings.configure(**settings_for(var))
    django.setup()
    from django.contrib.auth.models import User
    from django.core.handlers.asgi import ASGIHandler
    from django.http import HttpRequest, HttpResponse
    from django.urls import path

    def page(_request: HttpRequest, _path: str) -> HttpResponse:
        return HttpResponse(f"Hello, {User.objects.get(username='reader').first_name}")

    globals()["urlpatterns"] = [path("<path:_path>", page)]
    if not (Path(var) / "db.sqlite3").exists():
        call_command("migrate", verbosity=0)
        User.objects.create(username="reader", first_name="Ada")
    return ASGIHandler()


async def _ask(people: int, seconds: float) -> list[float]:
    times: list[float] = []
    stop = time.perf_counter() + seconds

    async def loop(session: aiohttp.ClientSession) -> None:
        while (began := time.perf_counter()) < stop:
            async with session.get(f"{BASE}/page") as response:
                await response.read()
                response.raise_for_status()
            times.append(time.perf_counter() - began)

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(loop(session) for _ in range(people)))
    return times


def main() -> None:
    options = arguments(__doc__, people=16, seconds=5.0)
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        os.environ[VAR] = var
        make_application()
        command = f"{sys.executable} -m granian {OPTIONS} --factory tools.benchmarks.one_read:make_application"
        with served_platform({VAR: var}, command):
            many = asyncio.run(_ask(options.people, options.seconds))
            alone = asyncio.run(_ask(1, options.seconds))
    per_s = round(len(many) / options.seconds, 1)
    result = {"per_s": per_s, "people": options.people, "times": summary(many), "alone": summary(alone)}
    print_result(
        result, f"A page with one read: {per_s} a second to {options.people} at once; {result['alone']} to one alone"
    )


if __name__ == "__main__":
    main()
