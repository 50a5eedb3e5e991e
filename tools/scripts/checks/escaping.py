"""Templates escape what they show, and scripts make no code of texts and ask nobody else: see docs/security.md."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.scripts.checks.sources import TextFinding, at, files_in, name_of, text_of

UNESCAPED = r"[^\s{]*\|\s*safe\b|\bautoescape\b|\bsafeseq\b"
# The page that judge.js puts into an inert template is the whole one that the server sent.
CODE = r"\beval\(|\bFunction\(|document\.write|insertAdjacentHTML|(?:inner|outer)HTML\s*=(?!=)"
# A BroadcastChannel is of one origin.
ELSEWHERE = (
    r"(?:window|parent|opener|self)\.(?:postMessage|onmessage|addEventListener\(\s*[\"']message)"
    r"|(?:src|href|import|from)\s*[=(]?\s*[\"']https?://"
)
ALLOWED = {("static/js/judge.js", "innerHTML =")}
RULES = (
    ("templates", ".html", UNESCAPED, "let Django escape the value"),
    ("static/js", ".js", CODE, "set textContent, or make elements"),
    ("static/js", ".js", ELSEWHERE, "stay within this origin"),
)


def check() -> Iterator[TextFinding]:
    for folder, ending, pattern, do in RULES:
        for path in files_in(folder, endings=(ending,)):
            for match in re.finditer(pattern, text_of(path)):
                if (name_of(path), match[0]) not in ALLOWED:
                    yield at(path, match, f"“{match[0]}”", do)
