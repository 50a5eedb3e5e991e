"""One word per thing: words that docs/GLOSSARY.md retires come back neither in the interface nor in names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest

from tests.servers import ROOT

CATALOGUE = ROOT / "locale" / "ar" / "LC_MESSAGES" / "django.po"
PRODUCT = (
    "allocation", "annotation", "charts", "config", "crosslens_metrics", "demo", "gapgame", "images", "inference",
    "languages", "operations", "people", "scoring", "sxs_eval", "tabular",
)  # fmt: skip
RETIRED = {
    r"\bin (your|his|her|their|our|nobody's|somebody's|one person's) hands?\b": "assigned",
    r"\bin hand\b": "assigned",
    r"\bhand(s|ed|ing)?( \w+)? in\b": "submit",
    r"\b(give|gives|gave|given|giving)( \w+)? back\b": "return",
    r"\b(take|takes|took|taken|taking)( \w+)? up( again)?\b": "resume",
    r"\blaps(e|es|ed|ing)\b": "expire",
    r"\btime (ran|has run|had run) out\b": "expired",
    r"\b(become|becomes|became) of\b": "say what happens",
    r"\bas you like\b(?!\.)": "optional",
    r"\bat present\b": "now, or nothing",
    r"\b(send|sends|sent)( \w+)? back\b": "return for correction",
    r"\bstandings?\b": "status, or leaderboard",
    r"\bblockers?\b": "missing requirements",
    r"\b(is|are|was|were|be) told\b": "say it to the person: you",
    r"\bpictures?\b": "image",
}
"""Words that the interface does not use, and what it says instead."""
GUIDES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("annotators", "game", "importing", "managers", "planning", "raters", "releases")
    ),
]
"""Guides that use no retired word either."""
MISNOMERS = re.compile(r"(Refused|Problem|Standing|Blocker)$")


@pytest.mark.parametrize("retired", RETIRED)
def test_the_interface_uses_no_retired_word(retired: str) -> None:
    messages = [entry.msgid for entry in polib.pofile(str(CATALOGUE)) if not entry.obsolete]
    # Names in braces are the program's, and what is quoted is an example of somebody's words.
    texts = [re.sub(r"%\(\w+\)\w|\{\w*\}|`[^`]*`|“[^”]*”", "", message) for message in messages]
    assert len(texts) > 3000
    assert [text for text in texts if re.search(retired, text, re.IGNORECASE)] == [], f"say: {RETIRED[retired]}"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
@pytest.mark.parametrize("retired", RETIRED)
def test_the_guides_use_no_retired_word(guide: Path, retired: str) -> None:
    text = re.sub(r"^```.*?^```$|`[^`]*`", "", guide.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    words = re.sub(r"\s+", " ", text)
    found = [
        words[max(match.start() - 40, 0) : match.end() + 40] for match in re.finditer(retired, words, re.IGNORECASE)
    ]
    assert found == [], f"say: {RETIRED[retired]}"


def test_the_glossary_names_only_classes_that_exist() -> None:
    glossary = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:[a-z_]+\.)*([A-Z][a-z]\w+)`", glossary))
    classes = {node.name for _, node in _classes()}
    assert len(named) > 40
    assert named - classes == {"Error"}


def test_a_retired_word_would_be_found() -> None:
    for sentence in ("What is in hand?", "Hand it in.", "This was given back.", "Take it up again", "A picture"):
        assert any(re.search(retired, sentence, re.IGNORECASE) for retired in RETIRED), sentence


def _classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for app in PRODUCT:
        for path in (ROOT / app).rglob("*.py"):
            if "migrations" not in path.parts:
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.ClassDef):
                        yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def test_exceptions_end_in_error_and_nothing_else_is_named_for_what_it_refuses() -> None:
    wrong = []
    for place, node in _classes():
        bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        is_exception = any(base.endswith(("Error", "Exception")) for base in bases)
        if (is_exception and not node.name.endswith(("Error", "Exception"))) or MISNOMERS.search(node.name):
            wrong.append(place)
    assert wrong == []


def test_a_module_is_imported_by_its_own_name() -> None:
    """No `from a import b as b`, so that callers find b somewhere else."""
    wrong = []
    for app in PRODUCT:
        for path in (ROOT / app).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    wrong += [f"{path}:{node.lineno}" for name in node.names if name.name == name.asname]
    assert wrong == []
