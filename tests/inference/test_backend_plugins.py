"""Backends of others: the package in the documentation works as it stands, and a broken one takes nothing down."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError, Decoding, ModelSpec
from research.inference.models import IMPORTED, TRANSLATED
from tests.commands import output_of
from tests.inference.captioned import texts
from tests.servers import ROOT

DOCUMENT = ROOT / "docs" / "backends.md"
SPEC = ModelSpec("Model", "", {})
WHOLE = """
    name, title, queue = "{name}", "Title", "default"
    def check(self, spec): {check}
    def languages(self, spec): return {languages}
    def load(self, spec): return None
"""


def files_of_the_document() -> dict[str, str]:
    """The files that it shows: a name in a line of its own, then what is in it."""
    files = re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return dict(files)


def install(source: Path, target: Path) -> None:
    """Install the package of the documentation into a folder."""
    source.mkdir()
    for name, text in files_of_the_document().items():
        (source / name).write_text(text, "utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target), str(source)]
    subprocess.run([*pip, *alone], check=True, timeout=120)


def test_the_package_of_the_documentation_is_two_short_files():
    files = files_of_the_document()

    assert set(files) == {"pyproject.toml", "crosslens_horizon.py"}
    assert len(files["crosslens_horizon.py"].splitlines()) < 65


@pytest.mark.process
def test_the_package_of_the_documentation_is_listed_and_writes_captions(packages, tmp_path):
    install(tmp_path / "source", packages.folder)
    registry._discovered.cache_clear()

    backend = registry.backend_named("horizon")
    spec = ModelSpec("Horizon", "", {"margin": 9})
    backend.check(spec)
    registry.check_decoding(backend, spec, Decoding(beams=3))
    captioner = backend.load(spec)
    light = Image.new("RGB", (40, 40), "navy")
    light.paste("white", (0, 0, 40, 20))
    prepared = [captioner.prepare(image) for image in (light, light.rotate(180), Image.new("RGB", (30, 30), "red"))]
    found = captioner.caption(prepared, keys=["a", "b", "c"], language="de", decoding=Decoding())
    captioner.close()
    assert texts(found) == [
        "Der Himmel ist heller als der Boden.",
        "Der Boden ist heller als der Himmel.",
        "Both halves are alike.",
    ]
    with pytest.raises(BackendSettingsError, match="Horizon has one option: margin, a whole number"):
        backend.check(ModelSpec("Horizon", "", {"margin": "much"}))
    assert (sorted(backend.languages(spec)), registry.package_of(backend)) == (["de", "en"], "crosslens-horizon")
    listed = output_of("list_backends")
    assert re.search(
        r"horizon: Horizon \(which half is lighter\); 2 languages .*from the package crosslens-horizon", listed
    )
    assert "palette: Palette" in listed
    assert "Left out" not in listed


class Packages:
    """Packages made by hand, each with a module and entry points in the two groups."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self, name: str, code: str, *, entry: str = "one", group: str = registry.BACKENDS_GROUP, at: str = "Backend"
    ) -> None:
        module = f"plugin_{name.replace('-', '_')}"
        (self.folder / f"{module}.py").write_text(code, "utf-8")
        about = self.folder / f"{name.replace('-', '_')}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[{group}]\n{entry} = {module}:{at}\n")
        importlib.invalidate_caches()
        registry._discovered.cache_clear()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    (tmp_path / "packages").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    yield Packages(tmp_path / "packages")
    monkeypatch.undo()
    registry._discovered.cache_clear()
    for module in [name for name in sys.modules if name.startswith(("plugin_", "crosslens_horizon"))]:
        del sys.modules[module]


def whole(name: str, *, check: str = "pass", languages: str = "{'en': 'en'}") -> str:
    return f"class Backend:{WHOLE.format(name=name, check=check, languages=languages)}"


BROKEN = {
    "a missing module": ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "a syntax error": ("class Backend(", "SyntaxError"),
    "an end of everything": ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
    "no such class": ("", "AttributeError"),
    "no class": ("Backend = 5", "TypeError"),
    "a class that cannot be made": ("class Backend:\n    def __init__(self): 1 / 0", "ZeroDivisionError"),
    "no name": ("class Backend: pass", "its name is None"),
    "a name with blanks": (whole("My backend"), "its name is 'My backend'"),
    "a reserved name": (whole("imported"), "its name is 'imported'"),
    "our name": (whole("palette"), "there is another backend named palette"),
    "needs that are no names": (whole("sky") + "    needs = 'torch'\n", "its needs are 'torch'"),
    "no methods": ("class Backend:\n    name = title = 'a'", "it has no queue, check, languages, load"),
}


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        *((kind, registry.BACKENDS_GROUP) for kind in BROKEN),
        *((kind, registry.TRANSLATORS_GROUP) for kind in ("our name", "no methods")),
    ],
)
def test_a_broken_package_is_left_out_and_told_about(packages, caplog, kind, group):
    code, why = BROKEN[kind]
    if group == registry.TRANSLATORS_GROUP:
        code, why = code.replace("palette", "endpoint"), why.replace("palette", "endpoint")
    ours = (set(registry.backends()), set(registry.translators()))

    packages.add("broken-one", code, group=group)

    assert (set(registry.backends()), set(registry.translators())) == ours
    (left_out,) = registry.broken_backends()
    assert (left_out.entry, left_out.package, left_out.group) == ("one", "broken-one", group)
    assert why in left_out.reason
    assert f"one of the package broken-one is left out: {left_out.reason}" in caplog.text
    listed = output_of("list_backends")
    assert f"Left out: one ({group}) of the package broken-one: {left_out.reason}" in listed


def test_who_asks_for_what_is_left_out_is_told_why(packages):
    packages.add("broken-one", "import nowhere_at_all", entry="sky")

    with pytest.raises(
        BackendSettingsError,
        match=r"broken-one brings it, but: ModuleNotFoundError.*Available: .*palette",
    ):
        registry.backend_named("sky")
    with pytest.raises(BackendSettingsError, match=r"No backend 'earth' is installed here\. Available"):
        registry.backend_named("earth")


def test_of_two_packages_with_the_same_name_one_counts_whatever_they_were_installed_after(packages):
    packages.add("second", whole("sky"))
    packages.add("first", whole("sky"))

    assert registry.package_of(registry.backend_named("sky")) == "first"
    assert [one.package for one in registry.broken_backends()] == ["second"]


def test_what_a_backend_of_others_raises_on_a_page_is_a_refusal(packages, caplog):
    packages.add("clumsy", whole("clumsy", check="1 / 0", languages="['en']").replace("None", "{}['weights']"))
    backend = registry.backend_named("clumsy")

    with pytest.raises(BackendSettingsError, match=r"clumsy of the package clumsy failed \(ZeroDivisionError\)"):
        backend.check(SPEC)
    with pytest.raises(BackendSettingsError, match="does not say which languages"):
        backend.languages(SPEC)
    with pytest.raises(BackendSettingsError, match=r"failed \(KeyError\)"):
        backend.load(SPEC)
    assert "ZeroDivisionError: division by zero" in caplog.text
    listed = output_of("list_backends")
    assert "clumsy: Title; the languages of its models" in listed


def test_a_decoding_is_looked_at_by_those_that_look(packages):
    looks = (
        whole("strict")
        + "    def check_decoding(self, spec, decoding): 1 / decoding.beams\n    needs = ('nowhere.at_all', 'json')\n"
    )
    packages.add("strict", looks)
    packages.add("easy", whole("easy"))
    strict, easy = registry.backend_named("strict"), registry.backend_named("easy")

    registry.check_decoding(strict, SPEC, Decoding())
    registry.check_decoding(easy, SPEC, Decoding(beams=0))
    with pytest.raises(BackendSettingsError, match="ZeroDivisionError"):
        registry.check_decoding(strict, SPEC, Decoding(beams=0))
    assert (registry.missing_modules(strict), registry.missing_modules(easy)) == (["nowhere.at_all"], [])
    listed = output_of("list_backends")
    assert "from the package strict; needs nowhere.at_all, not installed\n" in listed


def test_a_package_brings_a_translator(packages):
    packages.add("words", whole("words", languages="{'de': 'deu'}"), group=registry.TRANSLATORS_GROUP)

    assert registry.translator_named("words").languages(SPEC) == {"de": "deu"}
    with pytest.raises(BackendSettingsError, match="No backend 'words'"):
        registry.backend_named("words")


def test_names_of_models_that_nothing_runs_are_reserved():
    assert {*registry.RESERVED} == {IMPORTED, TRANSLATED}


def test_endpoints_are_listed_with_the_state_of_their_keys_and_without_them(settings: Any):
    settings.CAPTION_ENDPOINTS = {"lab": "http://gpu7:8000/v1", "open-ai": "https://x/v1", "big": "https://y/v1"}
    settings.CAPTION_ENDPOINT_KEYS = {"lab": "none", "big": "sk-secret"}
    listed = output_of("list_backends")

    assert "Endpoint lab: needs no key" in listed
    assert "Endpoint open-ai: its key is missing: set CAPTION_ENDPOINT_KEY_OPEN_AI" in listed
    assert "Endpoint big: its key is set" in listed
    assert "secret" not in listed
    assert "gpu7" not in listed
