"""One word per thing: no message, guide, docstring, comment or name has a word that docs/GLOSSARY.md retires."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polib

from tools.scripts.checks.sources import PRODUCT, TextFinding, at, files_in, line_at, text_of, without
from tools.scripts.messages import catalogue_of

RETIRED = {
    r"\bin (your|his|her|their|our|nobody's|somebody's|one person's) hands?\b": "assigned",
    r"\bin hand\b": "assigned",
    r"\bhand(s|ed|ing)?( \w+)? in\b": "submit",
    r"\b(give|gives|gave|given|giving)( \w+)? back\b": "return",
    r"\b(take|takes|took|taken|taking)( \w+)? up( again)?\b": "resume",
    r"\blaps(e|es|ed|ing)\b": "expire",
    r"\btime (ran|has run|had run) out\b": "expired",
    r"\b(become|becomes|became) of\b": "what happens",
    r"\bas you like\b(?!\.)": "optional",
    r"\bat present\b": "now, or nothing",
    r"\b(send|sends|sent)( \w+)? back\b": "return for correction",
    r"\bstandings?\b": "status, or leaderboard",
    r"\bblockers?\b": "missing requirements",
    r"\b(is|are|was|were|be) told\b": "it to the person: you",
    r"\bpictures?\b": "image",
}
"""Words that the interface does not use, and what to say instead."""
ANY_WORD = re.compile("|".join(RETIRED), re.IGNORECASE)
IN_NAMES = re.compile(
    r"(?:^|_)(pictures?|standings?|showings?|sen[dt]_back|g[ai]ven?_back|take[ns]?_up|hands?|handed|lapse[ds]?|blockers?"
    r"|meetings?|met|own_data|told|slots?)(?:_|$)"
)
ALLOWED = {
    "tools/demo": {"picture", "pictures"},  # its images are photographs, as the glossary allows
    "office/operations": {"slots"},  # numbers of processes, not places of tasks
}
"""Retired words that an app may use in prose and names, in a sense of their own."""
GUIDES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in ("annotators", "game", "importing", "managers", "places", "planning", "raters", "releases")
    ),
)
"""Guides that use no retired word either."""
GLOSSARY = "docs/GLOSSARY.md"
CLASS = re.compile(r"^ *class (\w+)(?:\((.*?)\))?:", re.DOTALL | re.MULTILINE)
MISNOMERS = re.compile(r"(Refused|Problem|Standing|Blocker)$")
RECORD = re.compile(
    r"^ *@dataclass.*\n *class (_?[A-Z][a-z0-9]+)\b|^ *class (_?[A-Z][a-z0-9]+)\((?:NamedTuple|TypedDict)\)",
    re.MULTILINE,
)
"""A class of rows whose name is one word."""
TERMS = {"Decoding", "Interval", "Metric", "Provenance"}
"""Names of one word that say of what, besides those of the glossary."""
LIMIT = re.compile(
    r"^(?:_?[A-Z][A-Z0-9_]*, )*(_?(?:FEWEST|LARGEST|LEAST|LONGEST|MOST|SHORTEST|SMALLEST)(?:_[A-Z0-9_]+)?)"
    r"(?:, _?[A-Z][A-Z0-9_]*)*(?:: [^=\n]+)? = ",
    re.MULTILINE,
)


def check(apps: tuple[str, ...] = PRODUCT) -> Iterator[TextFinding]:
    yield from in_messages()
    for guide in GUIDES:
        yield from in_guide(guide)
    for app in apps:
        for path in modules(app):
            yield from in_module(app, path)
    yield from classes()


def retired(
    path: Path | str, line: int, text: str, allowed: set[str] | frozenset[str] = frozenset()
) -> Iterator[TextFinding]:
    """What `text`, which begins in this line, has of retired words."""
    text = without(r"`[^`]*`", text)
    if not ANY_WORD.search(" ".join(text.split())):
        return
    for word, instead in RETIRED.items():
        for match in re.finditer(word.replace(" ", r"\s+"), text, re.IGNORECASE):
            if match[0].lower() not in allowed:
                place = line + line_at(text, match.start()) - 1
                yield at(path, place, f"“{' '.join(match[0].split())}” is retired", f"say {instead}")


def in_messages() -> Iterator[TextFinding]:
    path = catalogue_of("ar")
    for entry in polib.pofile(text_of(path)):
        # Names in braces are the program's, and what is quoted is an example of somebody's words.
        text = re.sub(r"%\(\w+\)\w|\{\w*\}|“[^”]*”", "", entry.msgid)
        if not entry.obsolete:
            yield from retired(path, entry.linenum, " ".join(text.split()))


def in_guide(guide: str) -> Iterator[TextFinding]:
    yield from retired(guide, 1, without(r"^```.*?^```$", text_of(guide)))


def modules(app: str) -> list[Path]:
    return [path for path in files_in(app) if "migrations" not in path.parts]


@cache
def retired_in_name(name: str) -> str:
    """The retired word in a name, or nothing."""
    found = IN_NAMES.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return found[1] if found else ""


def in_module(app: str, path: Path) -> Iterator[TextFinding]:
    text, allowed = text_of(path), ALLOWED.get(app, set())
    words = " ".join(text.split())
    # Few modules have such a word at all, and only they are taken apart.
    if not ANY_WORD.search(words) and not any(map(retired_in_name, [path.stem, *re.findall(r"[A-Za-z_]\w*", text)])):
        return
    names = [(path.stem, 1)]
    before, depth = tokenize.ENCODING, 0
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        kind, line = token.type, token.start[0]
        is_docstring = kind == tokenize.STRING and before in {
            *(tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
        }
        if kind == tokenize.COMMENT or is_docstring:
            yield from retired(path, line, token.string, allowed)
        depth += (token.string in "([{") - (token.string in ")]}") if kind == tokenize.OP else 0
        # What a call names may be somebody else's.
        if kind == tokenize.NAME and not (depth and following.string == "="):
            names.append((token.string, line))
        if kind not in (tokenize.COMMENT, tokenize.NL):
            before = kind
    for name, line in dict(reversed(names)).items():
        if (word := retired_in_name(name)) and word not in allowed:
            yield at(path, line, f"“{name}” has the retired word “{word}”", f"use a word of {GLOSSARY}")


def classes() -> Iterator[TextFinding]:
    """Names of exceptions, rows and limits, and whether the glossary names only classes that exist."""
    there = {"Error"}
    terms = TERMS.union(re.findall(r"`(?:[a-z_]+\.)*([A-Z][a-z]+)`", text_of(GLOSSARY)))
    for path in (path for app in PRODUCT for path in modules(app)):
        for match in RECORD.finditer(text_of(path)):
            if (name := match[1] or match[2]) not in terms:
                yield at(path, match, f"the name of the class {name}", "say of what, in two words or more")
        for match in LIMIT.finditer(text_of(path)):
            yield at(path, match, f"the name of the limit {match[1]}", "begin it with MAX_ or MIN_")
        for match in CLASS.finditer(text_of(path)):
            name, bases = match[1], re.findall(r"\w+", match[2] or "")
            there.add(name)
            is_exception = any(base.endswith(("Error", "Exception")) for base in bases)
            if (is_exception and not name.endswith(("Error", "Exception"))) or MISNOMERS.search(name):
                do = "end the names of exceptions, and only theirs, in Error"
                yield at(path, match, f"the name of the class {name}", do)
    for match in re.finditer(r"`(?:[a-z_]+\.)*([A-Z][a-z]\w+)`", text_of(GLOSSARY)):
        if match[1] not in there:
            yield at(GLOSSARY, match, f"there is no class {match[1]}", "name one that exists")
