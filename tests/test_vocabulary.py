"""One word per thing: no message, guide, docstring, comment or name has a word that docs/GLOSSARY.md retires."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest

from tests.servers import ROOT
from tests.sources import PRODUCT, files_in

CATALOGUE = ROOT / "locale" / "ar" / "LC_MESSAGES" / "django.po"

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
        for name in ("annotators", "game", "importing", "managers", "places", "planning", "raters", "releases")
    ),
]
"""Guides that use no retired word either."""
RETIRED_IN_NAMES = re.compile(
    r"(?:^|_)(pictures?|standings?|showings?|sen[dt]_back|g[ai]ven?_back|take[ns]?_up|hands?|handed|lapse[ds]?|blockers?"
    r"|meetings?|met|own_data|told|slots?)(?:_|$)"
)
ALLOWED = {
    "demo": {"picture", "pictures"},  # its images are photographs, as the glossary allows
    "operations": {"slots"},  # numbers of processes, not places of tasks
}
"""Retired words that an app may use in prose and names, in a sense of their own."""
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


@pytest.mark.parametrize("app", PRODUCT)
def test_docstrings_and_comments_use_no_retired_word(app: str) -> None:
    prose = [(place, re.sub(r"`[^`]*`", "", text)) for place, text in _prose(app)]
    found = [
        f"{place}: {match.group()}"
        for place, text in prose
        for retired in RETIRED
        for match in re.finditer(retired, text, re.IGNORECASE)
        if match.group().lower() not in ALLOWED.get(app, ())
    ]
    assert prose
    assert found == []


@pytest.mark.parametrize("app", PRODUCT)
def test_no_name_has_a_retired_word(app: str) -> None:
    names = dict(_names(app))
    retired = {name: match.group(1) for name in names if (match := RETIRED_IN_NAMES.search(name))}
    assert names
    assert [f"{names[name]}: {name}" for name, word in retired.items() if word not in ALLOWED.get(app, ())] == []


def test_the_glossary_names_only_classes_that_exist() -> None:
    glossary = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:[a-z_]+\.)*([A-Z][a-z]\w+)`", glossary))
    classes = {node.name for _, node in _classes()}
    assert len(named) > 40
    assert named - classes == {"Error"}


def test_a_retired_word_would_be_found() -> None:
    for sentence in ("What is in hand?", "Hand it in.", "This was given back.", "Take it up again", "A picture"):
        assert any(re.search(retired, sentence, re.IGNORECASE) for retired in RETIRED), sentence


def _modules(app: str) -> Iterator[tuple[str, ast.Module, Path]]:
    for path in files_in(app):
        if "migrations" not in path.parts:
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8")), path


def _classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for app in PRODUCT:
        for name, module, _path in _modules(app):
            for node in ast.walk(module):
                if isinstance(node, ast.ClassDef):
                    yield f"{name}:{node.lineno} {node.name}", node


def _prose(app: str) -> Iterator[tuple[str, str]]:
    """Yield every docstring and comment of an app, on one line."""
    for name, module, path in _modules(app):
        for node in ast.walk(module):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield f"{name}:{node.lineno}", " ".join(node.value.value.split())
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.COMMENT:
                    yield f"{name}:{token.start[0]}", token.string


def _names(app: str) -> Iterator[tuple[str, str]]:
    """Yield what an app calls its modules, classes, functions, arguments, variables and attributes, in snake case."""
    for place, module, path in _modules(app):
        yield path.stem, place
        for node in ast.walk(module):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                    yield re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(), f"{place}:{node.lineno}"
                case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                    yield name.lower(), f"{place}:{node.lineno}"


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
        for place, module, _path in _modules(app):
            for node in ast.walk(module):
                if isinstance(node, ast.ImportFrom):
                    wrong += [f"{place}:{node.lineno}" for name in node.names if name.name == name.asname]
    assert wrong == []
