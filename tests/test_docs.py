"""What the documents say is there is there, and what is there they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.utils.text import slugify
from PIL import Image

from annotation.formats.captions import COLUMNS, Layout
from config.variables import OPTIONAL, REQUIRED
from crosslens_metrics.commands.main import COMMANDS as LIBRARY_COMMANDS
from demo.content import PASSWORD, PEOPLE
from demo.photographs import PHOTOGRAPHS
from images.rules.manifests import ALIASES, TEXT_COLUMNS
from tests.servers import ROOT

LARGEST_BYTES = 150_000
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GUIDES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
COMMANDS = sorted(path.stem for path in ROOT.glob("*/management/commands/*.py") if path.stem != "__init__")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def links_of(document: Path) -> list[str]:
    return [link for link in LINK.findall(FENCED.sub("", text_of(document))) if not re.match(r"\w+:", link)]


def headings_of(document: Path) -> set[str]:
    lines = FENCED.sub("", text_of(document)).splitlines()
    return {slugify(line.lstrip("#")) for line in lines if line.startswith("#")}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_in_a_document_leads_somewhere(document: Path) -> None:
    for link in links_of(document):
        path, _, part = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} leads nowhere"
        assert ROOT in [target, *target.parents], f"{link} leads out of the repository"
        if part:
            assert part in headings_of(target), f"{link}: there is no such heading"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_explained(command: str) -> None:
    assert any(f"manage.py {command}" in text_of(guide) for guide in GUIDES)


def test_the_librarys_commands_are_named_and_no_others() -> None:
    guide = (
        text_of(ROOT / "docs" / "researchers.md").partition("## Commands without the platform")[2].partition("\n##")[0]
    )
    assert set(re.findall(r"`(\w+_\w+|correlate)`", guide)) == set(LIBRARY_COMMANDS)
    named = {name for document in DOCUMENTS for name in re.findall(r"crosslens-metrics (\w+)", text_of(document))}
    assert named <= set(LIBRARY_COMMANDS)


def test_no_document_names_a_command_that_is_not_there() -> None:
    named = {name for document in DOCUMENTS for name in re.findall(r"manage\.py (\w+)", text_of(document))}
    assert named <= set(get_commands())


def targets() -> list[str]:
    found = re.search(r"^\.PHONY: (.+)$", text_of(ROOT / "Makefile"), re.MULTILINE)
    assert found is not None
    return found[1].split()


@pytest.mark.parametrize("target", targets())
def test_every_make_target_is_explained(target: str) -> None:
    said = text_of(ROOT / "README.md") + "".join(re.findall(r"@echo \"(.+)\"", text_of(ROOT / "Makefile")))
    assert target == "help" or re.search(rf"\bmake {target}\b", said)


def test_no_document_names_a_make_target_that_is_not_there() -> None:
    named = {name for document in DOCUMENTS for name in re.findall(r"`make ([a-z-]+)", text_of(document))}
    assert named <= set(targets())


@pytest.mark.parametrize("variable", [*REQUIRED, *OPTIONAL])
def test_every_setting_is_in_the_table_of_settings(variable: str) -> None:
    assert f"| `{variable}` |" in text_of(ROOT / "docs" / "settings.md")


def test_every_column_of_a_download_is_explained() -> None:
    guide = text_of(ROOT / "docs" / "managers.md")
    assert [column for column in COLUMNS if f"`{column}`" not in guide] == []
    assert [layout.value for layout in Layout if f"| `{layout.value}` |" not in guide] == []


def test_every_column_of_a_manifest_is_explained() -> None:
    guide = text_of(ROOT / "docs" / "importing.md")
    assert [column for column in (*TEXT_COLUMNS, *ALIASES) if f"`{column}`" not in guide] == []


def test_the_people_whom_the_readme_names_can_sign_in() -> None:
    readme = text_of(ROOT / "README.md")
    named = set(re.findall(r"`(\w+-[a-z]{2})`", readme)) | {"mara"}
    assert named <= {person.username for person in PEOPLE}
    assert f"`{PASSWORD}`" in readme


def test_the_screenshots_are_few_and_small_and_shown() -> None:
    shown = text_of(ROOT / "README.md") + text_of(ROOT / "docs" / "places.md").replace("(", "(docs/")
    images = sorted((ROOT / "docs" / "screenshots").glob("*.png"))
    assert 0 < len(images) <= 16
    for image in images:
        assert image.stat().st_size <= LARGEST_BYTES
        assert f"(docs/screenshots/{image.name})" in shown
        with Image.open(image) as opened:
            assert opened.format == "PNG"


def test_whose_photographs_the_screenshots_show_is_said() -> None:
    said = text_of(ROOT / "docs" / "screenshots" / "README.md")
    assert all(photograph.author in said and photograph.licence[1] in said for photograph in PHOTOGRAPHS)
