"""The demo's texts and images: enough of them, of the right form, with authors, and giving nothing away."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from annotation.rules import text_checks
from core.languages.rules.registry import LANGUAGES
from sxs_eval.rules.judging import are_equal
from tools.demo import game_items, people, photographs
from tools.demo.texts import CAPTIONS, MODEL_NAME, MODELS, TEXTS
from tools.scripts.checks.sources import TextFinding, at, quoted, text_of, unless

CAPTIONS_FILE, GAME, PHOTOGRAPHS = (f"tools/demo/data/{name}.yaml" for name in ("captions", "game", "photographs"))
KEYS = [photograph.key for photograph in photographs.PHOTOGRAPHS]
WHOLE = {photograph.key for photograph in (*photographs.PHOTOGRAPHS, photographs.HORSE)}
SPLITS = {f"intersect_{shared}" for shared in range(5)}
MODELS_IN = {"de": 3, "ar": 2, "hi": 2, "ja": 2}
EQUAL = ["gravel"]
"""Photographs of which two models have the same caption."""
MAX_LIKENESS = 0.6
MIN_PHOTOGRAPHS, MIN_SENTENCES, MIN_IN_A_SPLIT, MIN_WITH_SEVERAL = 15, 60, 10, 25


def check() -> Iterator[TextFinding]:
    yield from captions()
    yield from compared()
    for language in game_items.SENTENCES:
        yield from season([item for item in game_items.items() if item["language"] == language])
    for item in game_items.items():
        yield from sentence(item)
    yield from images()
    yield from packages()


def captions() -> Iterator[TextFinding]:
    """Every photograph has its texts: English ones of mixed quality, German ones that warn of nothing."""
    keys, do = CAPTIONS_FILE, "write what belongs to each photograph, in the order of photographs.yaml"
    yield from unless(list(TEXTS) == KEYS, keys, 1, "other photographs", do)
    ratings = {rating for texts in TEXTS.values() for rating in texts.ratings}
    yield from unless(ratings == {*text_checks.LEVEL_GUIDANCE}, keys, 1, "not every rating is given", "add the missing")
    named = all("written by hand" in name for name in (MODEL_NAME, *MODELS))
    yield from unless(named, "tools/demo/texts.py", "MODELS", "a model that does not exist", "say so in its name")
    are_six = len(people.LANGUAGES) == 6 and {"ar", "hi", "ja"} <= {*people.LANGUAGES}
    yield from unless(
        are_six,
        "tools/demo/data/people.yaml",
        1,
        f"the languages are {people.LANGUAGES}",
        "have six, ar, hi and ja too",
    )
    german = next(entry for entry in LANGUAGES if entry.tag == "de")
    for annotator in (0, 1):
        for key, texts in TEXTS.items():
            text = texts.german[annotator]
            others = [other.german[annotator] for other_key, other in TEXTS.items() if other_key != key]
            is_good = (
                text_checks.hard_error(text) is None
                and not text_checks.soft_warnings(text, language=german, others=others)
                and not text_checks.is_copied(text, texts.english)
                and text_checks.trigram_similarity(*texts.german) < MAX_LIKENESS
            )
            yield from unless(is_good, CAPTIONS_FILE, text, f"“{text}” is warned of", "write a sentence of its own")


def compared() -> Iterator[TextFinding]:
    """Every photograph has a caption of each model in each of its languages, in its script; few are equal."""
    models = {language: len(texts["cat"]) for language, texts in CAPTIONS.items()}
    yield from unless(models == MODELS_IN, CAPTIONS_FILE, "compared:", f"models: {models}", f"have {MODELS_IN}")
    for key, texts in TEXTS.items():
        is_whole = len(texts.quality) == len(MODELS)
        yield from unless(
            is_whole, CAPTIONS_FILE, f"{key}:", f"{key}: {texts.quality}", "give the quality of each model"
        )
    for tag, of_photographs in CAPTIONS.items():
        language = next(entry for entry in LANGUAGES if entry.tag == tag)
        equal = [key for key, (brief, rich, *_others) in of_photographs.items() if are_equal(brief, rich)]
        yield from unless(equal == EQUAL, CAPTIONS_FILE, 1, f"equal in {tag}: {equal}", f"let {EQUAL} be the only ones")
        do = "give one caption for each model"
        for key, of_models in of_photographs.items():
            count = len(of_models)
            yield from unless(
                count == MODELS_IN[tag], CAPTIONS_FILE, f"{key}:", f"{key} has {count} captions in {tag}", do
            )
            for text in of_models:
                warned = {warning.code for warning in text_checks.soft_warnings(text, language=language, others=[])}
                is_good = text_checks.hard_error(text) is None and "script" not in warned
                yield from unless(is_good, CAPTIONS_FILE, text, f"“{text}” is not in {tag}", "write it in its script")


def season(items: list[game_items.DemoItem]) -> Iterator[TextFinding]:
    """Of one language: enough sentences, none twice, spread over the splits, many with several images."""
    few = len(items) < MIN_SENTENCES or sum(len(item["images"]) > 1 for item in items) < MIN_WITH_SEVERAL
    yield from unless(not few, GAME, "sentences:", "few sentences, or few with several images", "add some")
    for name in ("sentence", "word"):
        for value, count in Counter(item[name] for item in items).items():
            yield from unless(count == 1, GAME, value, f"“{value}” is there twice", "take another")
    counts = Counter(item["split"] for item in items)
    is_spread = counts.keys() == SPLITS and min(counts.values()) >= MIN_IN_A_SPLIT
    yield from unless(
        is_spread, GAME, "sentences:", f"splits: {dict(counts)}", f"have {MIN_IN_A_SPLIT} in each of 0 to 4"
    )


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
    is_enough = len(made) >= MIN_PHOTOGRAPHS and len({one.file for one in made}) == len({one.sha256 for one in made})
    yield from unless(is_enough, PHOTOGRAPHS, "photographs:", "too few, or one is there twice", "add another")
    for one in made:
        yield from unless(
            all(one.line().values()), PHOTOGRAPHS, f"{one.key}:", f"{one.key} lacks a field", "fill it in"
        )
    pinned = re.findall(r"^(\S+)==(\S+)", text_of(photographs.REQUIREMENTS), re.MULTILINE)
    wanted = (*made, *photographs.PRACTISED, *game_items.PACKAGED)
    for name in {one.source.split(";")[0] for one in wanted} ^ {" ".join(package) for package in pinned}:
        do = f"let each source name a package of {photographs.REQUIREMENTS}, and each package be a source"
        yield at(photographs.REQUIREMENTS, name.split()[0], f"“{name}” is not pinned, or nothing is from it", do)
