"""The demo's game gives nothing away, and its images have authors, licences and packages that are pinned."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tools.demo import game_items, photographs
from tools.scripts.checks.sources import TextFinding, at, quoted, text_of, unless

GAME, PHOTOGRAPHS = (f"tools/demo/data/{name}.yaml" for name in ("game", "photographs"))
WHOLE = {photograph.key for photograph in (*photographs.PHOTOGRAPHS, photographs.HORSE)}


def check() -> Iterator[TextFinding]:
    for item in game_items.items():
        yield from sentence(item)
    yield from images()
    yield from packages()


def sentence(item: game_items.DemoItem) -> Iterator[TextFinding]:
    """One gap, which the rest of the sentence does not give away, and images of which none comes twice."""
    text, word, images = item["sentence"], item["word"], item["images"]
    is_one = len(re.findall("_+", text)) == text.count("____") == 1 and "_____" not in text
    yield from unless(is_one, GAME, text, f"“{text}” has not one gap", "write ____ once")
    told = [each for each in re.findall(r"\w+", text.replace("____", " ")) if gives_away(word, each)]
    yield from unless(not told, GAME, text, f"{quoted(told)} gives away “{word}”", "say it with other words")
    yield from unless(word.isalpha() and word == word.lower(), GAME, text, f"“{word}”", "write it in small letters")
    is_good = item["representative"] in images and len({*images}) == len(images)
    yield from unless(is_good, GAME, text, "an image comes twice, or none represents the others", "correct its subject")
    # Images of several senses are only where nothing was told apart.
    is_open = item["split"] != "intersect_0" or (len(images) > 1 and item["sense"] == [])
    yield from unless(is_open, GAME, text, "split 0 with one image or a sense", "take another subject or split")
    is_digest = re.fullmatch(r"(en|es)-[0-9a-f]{12}", item["key"])
    yield from unless(is_digest, GAME, text, f"the key {item['key']} tells something", "let it be a digest")


def plain(text: str) -> str:
    """Lower case, without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def gives_away(word: str, told: str) -> bool:
    """Whether what is told is the word, or begins as it does so far that it would be of the same stem."""
    shared = 0
    for ours, theirs in zip(plain(word), plain(told), strict=False):
        if ours != theirs:
            break
        shared += 1
    return shared == len(plain(word)) or shared >= max(4, len(plain(word)) - 3)


def images() -> Iterator[TextFinding]:
    """All images of the game are used, say whose they are and what was changed, and no name tells what they show."""
    used = {subject for sentences in game_items.SENTENCES.values() for subject, *_ in sentences}
    unused = {*(used ^ game_items.SUBJECTS.keys()), *(game_items.names_of_pictures() ^ game_items.pictures().keys())}
    yield from unless(
        not unused, GAME, next(iter(unused), ""), f"{quoted(unused)} is not used or not there", "correct it"
    )
    for picture in game_items.pictures().values():
        line = picture.line()
        is_credited = all(line.values()) and ("enlarged" in line["source"]) == (picture.name not in WHOLE)
        yield from unless(is_credited, GAME, picture.name, f"{picture.name} has no author, licence or source", "add it")
        is_digest = re.fullmatch(r"[0-9a-f]{16} [0-9a-f]{16}\.(png|jpg)", f"{picture.key} {picture.file}")
        yield from unless(
            is_digest, GAME, picture.name, f"the name of {picture.name} tells something", "let it be a digest"
        )
    for name, (left, upper, right, lower) in game_items.PARTS.items():
        is_within = 0 <= left < right <= 1 and 0 <= upper < lower <= 1
        yield from unless(is_within, GAME, f"{name}:", f"{name} is not within its photograph", "give parts of 1")


def packages() -> Iterator[TextFinding]:
    """Photographs have an author, a licence and a source: a package that is pinned."""
    made = photographs.PHOTOGRAPHS
    for one in made:
        yield from unless(
            all(one.line().values()), PHOTOGRAPHS, f"{one.key}:", f"{one.key} lacks a field", "fill it in"
        )
    pinned = re.findall(r"^(\S+)==(\S+)", text_of(photographs.REQUIREMENTS), re.MULTILINE)
    wanted = (*made, *game_items.PACKAGED)
    for name in {one.source.split(";")[0] for one in wanted} ^ {" ".join(package) for package in pinned}:
        do = f"let each source name a package of {photographs.REQUIREMENTS}, and each package be a source"
        yield at(photographs.REQUIREMENTS, name.split()[0], f"“{name}” is not pinned, or nothing is from it", do)
