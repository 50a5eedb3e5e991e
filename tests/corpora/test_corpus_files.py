"""Files of a corpus: what they are is guessed from their names, and what is wrong with them is said at once."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from corpora.models import CorpusBuild
from corpora.rules.corpus_files import Guess, guess
from corpora.selectors.corpus_configs import config_of
from corpora.services import corpus_builds, corpus_files
from corpora.services.corpus_builds import CorpusRefusedError
from corpora.services.corpus_files import About
from parallel_text.config import ConfigError
from tests.factories import NOW, make_project

TAGS = {"en", "es", "pt", "de", "zh"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tatoeba.es.tsv", Guess("text", "es", "", "tsv")),
        ("en-de.tmx.gz", Guess("text", "de", "", "tmx")),
        ("OpenSubtitles_en-pt.zip", Guess("text", "pt", "", "opus")),
        ("europarl.es-en.en", Guess("text", "es", "english", "moses")),
        ("europarl.es-en.es", Guess("text", "es", "other", "moses")),
        ("senses.en.tsv.gz", Guess("inventory", "en")),
        ("wn-data-es.tab", Guess("inventory", "es", "", "omw")),
        ("imageability.csv", Guess("ratings")),
        ("glove.6B.50d.txt", Guess("vectors")),
        ("images.jsonl", Guess("manifest")),
        ("photos.zip", Guess("images")),
        ("features.npz", Guess("features")),
        ("notes.doc", Guess("")),
    ],
)
def test_a_name_tells_what_a_file_is(name: str, expected: Guess) -> None:
    assert guess(name, TAGS) == expected


@pytest.fixture
def build() -> CorpusBuild:
    return corpus_builds.create_build(project=make_project(), name="Animals", by=None, now=NOW)


def add(build: CorpusBuild, folder: Path, name: str, content: bytes, about: About | None = None) -> None:
    path = folder / "upload"
    path.write_bytes(content)
    corpus_files.add_file(build=build, path=path, name=name, about=about, by=None, now=NOW)


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name in names:
            packed.writestr(name, "x")
    return file.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.es.tsv", b"", "text.es.tsv is empty"),
        ("text.es.tsv", b"only one column\n", "text.es.tsv: no pair .*Line 1"),
        ("text.es.tsv", b"\xff\xfed\x00o\x00", "text.es.tsv is saved as UTF-16"),
        ("text.es.tsv.gz", b"\x1f\x8bbroken", "cannot be unpacked"),
        ("text.es.tmx", b"<tmx><body>", "text.es.tmx"),
        ("text.en.tsv", b"a\tb\n", "its name does not tell"),
        ("imageability.csv", b"noun,rating\ndog,600\n", "line 1: the columns word and imageability"),
        ("senses.es.tsv", b"perro\n", "line 1: a synset, a tab and a lemma"),
        ("senses.tsv", b"02084071-n\tdog\n", "choose its language"),
        ("glove.txt", b"a plain text\nof words\n", "has no word vectors"),
        ("images.jsonl", b'{"synset": "02084071-n", "file": "dog.jpg"}\n', "line 1: The image has no licence"),
        ("photos.zip", b"PK no", "photos.zip"),
        ("photos.zip", archive("../escape.jpg"), "escape.jpg"),
        ("features.npz", b"no", "features.npz"),
        ("notes.doc", b"x", "its name does not tell what it is"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_nothing_stored(
    build: CorpusBuild, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(CorpusRefusedError, match=message):
        add(build, tmp_path, name, content)

    assert not build.files.exists()
    assert not default_storage.exists(build.folder)


@pytest.mark.django_db
def test_a_language_nobody_knows_is_refused(build: CorpusBuild, tmp_path: Path) -> None:
    with pytest.raises(CorpusRefusedError, match=r"tlh.*not known here"):
        add(build, tmp_path, "text.tsv", b"a\tb\n", About("text", "tlh", "", "tsv"))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_file_takes_the_place_of_the_one_with_its_name(build: CorpusBuild, tmp_path: Path) -> None:
    add(build, tmp_path, "text.es.tsv", b"a dog\tun perro\n")
    first = build.files.get()

    add(build, tmp_path, "text.es.tsv", b"a cat\tun gato\n")

    assert build.files.get().sha256 != first.sha256
    assert not default_storage.exists(first.stored)
    assert default_storage.exists(build.files.get().stored)


@pytest.mark.django_db
def test_the_sides_of_a_moses_pair_find_each_other(build: CorpusBuild, tmp_path: Path) -> None:
    for name in ("a.en-es.en", "b.en-es.en", "a.en-es.es", "b.en-es.es"):
        add(build, tmp_path, name, b"one line\n")
    add(build, tmp_path, "imageability.csv", b"word,imageability\ndog,600\n")
    for tag in ("en", "es"):
        add(build, tmp_path, f"senses.{tag}.tsv", b"02084071-n\tdog\n")

    assert [text.files for text in config_of(build).texts] == [
        ("a.en-es.en", "a.en-es.es"),
        ("b.en-es.en", "b.en-es.es"),
    ]
    build.files.get(name="b.en-es.es").delete()
    with pytest.raises(ConfigError, match=r"b\.en-es\.en.*one side"):
        config_of(build)
