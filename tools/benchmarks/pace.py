"""How long a rating and a caption take people on a slow network: `python -m tools.benchmarks.pace`.

    python -m tools.benchmarks.pace [--people 10] [--images 5] [--latency-ms 800] [--bytes-per-s 6000]

Run in the environment of an empty database. Ten people on a phone's screen, with a browser each, rate and describe a
batch of `--images`: the same texts, read and typed at the same pace. First with a network that loses no time, which is
the baseline, then ten others with one of this latency, there and back, and this many bytes a second each way. A rating
or caption takes until the next can be read or typed. Where pages wait for no answer, both take the same.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO

import django

django.setup()

from django.db import connections
from PIL import Image as Pillow
from playwright.async_api import Browser, Page, async_playwright, expect

from annotation.models import Round
from core.images.rules.sizes import sizes_of
from core.images.services import file_storage
from tests.browser.network import Network
from tests.servers import find_chromium
from tools.benchmarks import seed
from tools.benchmarks.harness import BASE, arguments, print_result, served_platform

TEXT = "Ein kleiner Hund läuft neben dem roten Ball Nummer {number} über die Wiese."
READING_S, KEY_MS = 1.0, 60
PHONE = {"width": 390, "height": 664}
AWAKE = "html:not([data-deaf])"
PATIENCE_MS = 120_000


@dataclass
class Pace:
    """Seconds of each rating and of each caption, of all people."""

    ratings: list[float] = field(default_factory=list)
    captions: list[float] = field(default_factory=list)


def main() -> None:
    options = arguments(__doc__, people=10, images=5, latency_ms=800, bytes_per_s=6000)
    seed.migrate()
    # Everybody has a batch, on either network.
    round = seed.make_round("pace", 2 * options.people * options.images, batch_size=options.images)
    make_files(round)
    cookies = [seed.signed_in(person) for person in seed.make_annotators(round, 2 * options.people)]
    connections.close_all()
    with served_platform({}):
        network = Network(BASE)
        quick = asyncio.run(work(network.address, cookies[: options.people], options.images))
        network.latency_s, network.bytes_per_s = options.latency_ms / 1000, float(options.bytes_per_s)
        slow = asyncio.run(work(network.address, cookies[options.people :], options.images))
    network.down()
    medians = {
        what: {"baseline_s": statistics.median(before), "s": statistics.median(after)}
        for what, before, after in (
            ("rating", quick.ratings, slow.ratings),
            ("caption", quick.captions, slow.captions),
        )
    }
    lines = [
        f"{options.people} people, {options.latency_ms} ms and {options.bytes_per_s} bytes/s, to no delay (medians):"
    ]
    for what, one in medians.items():
        ratio = one["s"] / one["baseline_s"]
        lines.append(f"  {what:8} {one['s']:6.2f} s   baseline {one['baseline_s']:6.2f} s   ratio {ratio:.2f}")
    print_result({"people": options.people, **medians}, "\n".join(lines))


def make_files(round: Round) -> None:
    """Give each image its sizes, in one colour."""
    for entry in round.collection.entries.select_related("image"):
        for size, shape in sizes_of(entry.image.width, entry.image.height).items():
            content = BytesIO()
            Pillow.new("RGB", shape, (90, 140, 60)).save(content, "WEBP")
            file_storage.put(file_storage.size_name(entry.image.public_id, size), content.getvalue())


async def work(address: str, cookies: Sequence[dict[str, str]], images: int) -> Pace:
    """Let everybody work at once."""
    pace = Pace()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        await asyncio.gather(*(do_batch(browser, address, one, images, pace) for one in cookies))
        await browser.close()
    return pace


async def do_batch(browser: Browser, address: str, cookies: dict[str, str], images: int, pace: Pace) -> None:
    context = await browser.new_context(viewport=PHONE, base_url=address, locale="en-GB")  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    await context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies.items()])
    page = await context.new_page()
    await page.goto("/work/")
    await page.locator("form[action$='/take/'] button").click()
    await page.locator("#start").click()
    await rate(page, images, pace)
    await page.locator("#rate [name=open]").click()
    await page.locator("#confirm [value=open]").click()
    await page.wait_for_url("**/write/1/")
    await page.wait_for_load_state("networkidle")
    await write(page, images, pace)
    await context.close()


async def rate(page: Page, images: int, pace: Pace) -> None:
    await page.wait_for_load_state("networkidle")
    for number in range(1, images + 1):
        await page.locator(AWAKE).wait_for()
        began = time.perf_counter()
        await asyncio.sleep(READING_S)
        await page.keyboard.press("2")
        if number < images:
            await page.locator(f"#item-{number + 1}.is-current").wait_for()
            pace.ratings.append(time.perf_counter() - began)
    await expect(page.locator(".rate__item [data-state=saved]")).to_have_count(images, timeout=PATIENCE_MS)


async def write(page: Page, images: int, pace: Pace) -> None:
    for number in range(1, images):
        began = time.perf_counter()
        await page.locator("#text").press_sequentially(TEXT.format(number=number), delay=KEY_MS)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"**/write/{number + 1}/")
        await expect(page.locator("#text")).to_have_value("")
        pace.captions.append(time.perf_counter() - began)


if __name__ == "__main__":
    main()
