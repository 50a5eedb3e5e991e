"""The images of docs/screenshots, taken in Chromium of a demo of its own: `make screenshots`.

Nothing of var/ is touched: the demo runs in a temporary folder, on a free port, and is thrown away afterwards.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

VAR = tempfile.TemporaryDirectory(prefix="crosslens_")
os.environ |= {"CROSSLENS_VAR": VAR.name, "DJANGO_SETTINGS_MODULE": "config.settings"}
django.setup()

from config import ROOT  # noqa: E402
from tests.servers import embedded_environment, find_chromium, free_port, wait_for_port  # noqa: E402
from tools.demo import games as game  # noqa: E402
from tools.demo import places  # noqa: E402
from tools.demo.content import PROJECT_NAME  # noqa: E402
from tools.demo.evaluations import IN_THE_MIDDLE  # noqa: E402
from tools.demo.people import MANAGER, PASSWORD  # noqa: E402
from tools.demo.photographs import PHOTOGRAPHS  # noqa: E402
from tools.demo.texts import CAPTIONS, TEXTS  # noqa: E402

FOLDER = ROOT / "docs" / "screenshots"
MAX_BYTES = 150_000
# The first start fetches the photographs.
START_S = 600
WIDE, PHONE = (1200, 800), (390, 844)
KEY_OF = {texts.english: key for key, texts in TEXTS.items()}
COMPARED = {
    tuple(sorted((brief, rich)))
    for captions in CAPTIONS.values()
    for brief, rich, *_others in captions.values()
    if brief != rich
}
ARABIC = "قطة مخططة بعينين خضراوين تنظر إلى الجانب، ويظهر وجهها عن قرب."
JAPANESE = "木のテーブルの上に、小さなスプーンを添えた赤茶色のエスプレッソカップが置かれている。"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _demo() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-background-networking"]
        )
        for name, take in SHOTS.items():
            _keep(name, take(browser, address))
        browser.close()
    (FOLDER / "README.md").write_text(_credits(), encoding="utf-8")


@contextmanager
def _demo() -> Iterator[str]:
    """The address of a demo as it is after its first start."""
    port = free_port()
    command = [sys.executable, "manage.py", "demo", "--port", str(port)]
    process = subprocess.Popen(command, env=embedded_environment(Path(VAR.name)), cwd=ROOT)
    try:
        wait_for_port(port, process, timeout_s=START_S)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _signed_in(
    browser: Browser, address: str, username: str, *, size: tuple[int, int] = WIDE, dark: bool = False
) -> Page:
    context = browser.new_context(
        base_url=address,
        viewport={"width": size[0], "height": size[1]},
        is_mobile=size == PHONE,
        has_touch=size == PHONE,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        locale="en-GB",
    )
    page = context.new_page()
    page.goto("/accounts/login/")
    page.fill("[name=login]", username)
    page.fill("[name=password]", PASSWORD)
    page.press("[name=password]", "Enter")
    page.wait_for_url(lambda url: "/login/" not in url)
    return page


def _image(page: Page) -> bytes:
    # Images further down are loaded when they come near.
    page.wait_for_load_state("networkidle")
    return page.screenshot(animations="disabled", caret="hide")


def _work(browser: Browser, address: str) -> bytes:
    page = _signed_in(browser, address, "bernd-de")
    page.goto("/work/")
    return _image(page)


def _rate(browser: Browser, address: str) -> bytes:
    page = _signed_in(browser, address, "lucia-es")
    _go_on(page)
    return _image(page)


def _write_in_the_dark(browser: Browser, address: str) -> bytes:
    page = _signed_in(browser, address, "bernd-de", dark=True)
    _go_on(page)
    page.locator(".steps a.is-done").nth(4).click()
    page.wait_for_url("**/write/**")
    return _image(page)


def _write_on_a_phone(browser: Browser, address: str, username: str, key: str, text: str) -> bytes:
    page = _signed_in(browser, address, username, size=PHONE)
    page.goto("/work/")
    page.locator("form[action$='/take/'] button").click()
    position = _rate_all(page)[key]
    page.locator("#rate [name=open]").click()
    page.locator("#confirm button[value=open]").click()
    page.wait_for_url("**/write/**")
    page.goto(f"{page.url.rstrip('/').rpartition('/')[0]}/{position}/")
    page.locator("#text").press_sequentially(text)
    page.wait_for_selector(".steps [aria-current].is-done")
    page.wait_for_timeout(1500)
    page.evaluate("scrollTo(0, 0)")
    return _image(page)


def _rate_all(page: Page) -> dict[str, str]:
    """Rate every caption; returns where in the batch each photograph is."""
    positions = {}
    for item in page.locator(".rate__item").all():
        positions[KEY_OF[item.locator("[data-english]").inner_text()]] = item.get_attribute("data-position") or ""
        item.locator("label.level").nth(1).click()
    page.wait_for_function(
        "document.querySelector('.rate progress').value === document.querySelector('.rate progress').max"
    )
    return positions


def _go_on(page: Page) -> None:
    """From the list of work to where the open batch stands."""
    page.goto("/work/")
    page.locator(".card a.button--primary").first.click()


def _project(browser: Browser, address: str) -> bytes:
    page = _signed_in(browser, address, MANAGER)
    page.goto("/projects/")
    page.get_by_role("link", name=PROJECT_NAME).first.click()
    return _image(page)


def _compare(browser: Browser, address: str, username: str, size: tuple[int, int]) -> bytes:
    """The next two different captions of one image, in a batch taken now where there is none."""
    page = _signed_in(browser, address, username, size=size)
    page.goto("/compare/")
    page.locator(".card a.button--primary, form[action$='/take/'] button").first.click()
    page.wait_for_selector("#trial")
    while {tuple(sorted(page.locator("[data-caption]").all_inner_texts()))}.isdisjoint(COMPARED):
        number = page.locator("[data-number]").inner_text()
        page.locator("button.answer").first.click()
        page.wait_for_function("number => document.querySelector('[data-number]').innerText !== number", arg=number)
    page.wait_for_timeout(500)
    return _image(page)


def _report(browser: Browser, address: str) -> bytes:
    page = _signed_in(browser, address, MANAGER, size=(1200, 1250))
    page.goto("/evaluations/")
    page.get_by_role("link", name=PROJECT_NAME).first.click()
    page.get_by_role("link", name="German").first.click()
    page.wait_for_selector("svg")
    return _image(page)


def _play(browser: Browser, address: str) -> bytes:
    """A turn after its second guess: the sentence is the one in which the demo's player was left."""
    page = _signed_in(browser, address, game.IN_THE_MIDDLE)
    page.goto("/game/demo-season/")
    page.locator("form[action$='/next/'] button").click()
    page.locator("[name=guess]").fill("table")
    page.keyboard.press("Enter")
    page.get_by_text("Guess 3 of 3").wait_for()
    page.wait_for_timeout(1500)
    return _image(page)


def _by_place(browser: Browser, address: str, path: str, size: tuple[int, int], *, to: str = "") -> bytes:
    """A page of the dataset by place, below `to` if it is given."""
    page = _signed_in(browser, address, MANAGER, size=size)
    page.goto("/projects/")
    page.get_by_role("link", name=places.PROJECT_NAME).first.click()
    page.goto(f"{page.url}{path}")
    if to:
        page.locator(to).first.evaluate("element => element.scrollIntoView()")
    return _image(page)


SHOTS: dict[str, Callable[[Browser, str], bytes]] = {
    "work": _work,
    "rate": _rate,
    "write-dark": _write_in_the_dark,
    "write-arabic": lambda browser, address: _write_on_a_phone(browser, address, "layla-ar", "cat", ARABIC),
    "write-japanese": lambda browser, address: _write_on_a_phone(browser, address, "haruka-ja", "coffee", JAPANESE),
    "project": _project,
    "compare": lambda browser, address: _compare(browser, address, IN_THE_MIDDLE, WIDE),
    "compare-arabic": lambda browser, address: _compare(browser, address, "salma-ar", PHONE),
    "compare-hindi": lambda browser, address: _compare(browser, address, "meera-hi", PHONE),
    "compare-japanese": lambda browser, address: _compare(browser, address, "yuki-ja", PHONE),
    "report": _report,
    "play": _play,
    "language-map": lambda browser, address: _by_place(browser, address, "where-spoken/?language=hi", WIDE, to="h1"),
    "selection": lambda browser, address: _by_place(browser, address, "selections/1/", (1200, 1500)),
    "release-images": lambda browser, address: _by_place(browser, address, "releases/1/images/?language=hi", WIDE),
    "release-image": lambda browser, address: _by_place(browser, address, "releases/1/images/3/", PHONE, to="dl"),
}


def _keep(name: str, png: bytes) -> None:
    """Store the image as large and with as many colours as fit into MAX_BYTES."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    for scale, colours in itertools.product((1, 0.85, 0.7, 0.6, 0.5), (256, 128, 64)):
        smaller = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS)
        file = io.BytesIO()
        smaller.quantize(colours, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        if file.tell() <= MAX_BYTES:
            (FOLDER / f"{name}.png").write_bytes(file.getvalue())
            sys.stdout.write(
                f"{name}.png: {smaller.width} x {smaller.height}, {colours} colours, {file.tell()} bytes\n"
            )
            return
    raise RuntimeError(f"{name}.png has more than {MAX_BYTES} bytes at half its size already.")


def _credits() -> str:
    lines = [
        "# Screenshots",
        "",
        "Made by `make screenshots` from the demo. The photographs in them:",
        "",
        "| photograph | by | licence | source |",
        "| --- | --- | --- | --- |",
    ]
    for photograph in PHOTOGRAPHS:
        licence, url = photograph.licence
        lines.append(f"| {photograph.title} | {photograph.author} | [{licence}]({url}) | {photograph.source} |")
    lines += ["", "The drawings in the game are Twemoji by Twitter, Inc and other contributors, CC BY 4.0."]
    lines += ["", "They are shown smaller, with fewer colours, and partly cut off by the edge of the screen."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
