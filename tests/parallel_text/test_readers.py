"""Parallel text is read in four formats; what cannot be used is counted by line, and the rest is kept."""

from __future__ import annotations

import gzip
import zipfile

import pytest

from crosslens_metrics.formats import limits
from parallel_text.config import Text
from parallel_text.problems import CorpusError, LineProblems
from parallel_text.readers import read_pairs

SEAL = ("A seal swims.", "Una foca nada.")
STAMP = ("I have a seal.", "Tengo un sello.")
TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en-US"><seg>A <bpt i="1">&lt;b></bpt>seal<ept i="1">&lt;/b></ept> <hi>swims</hi>.</seg></tuv>
<tuv xml:lang="es"><seg>Una foca nada.</seg></tuv><tuv xml:lang="fr"><seg>Un phoque nage.</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Bonjour</seg></tuv><tuv xml:lang="en"><seg>Hello</seg></tuv></tu>
<tu><tuv lang="EN"><seg>Ice</seg></tuv><tuv lang="es-MX"><seg>Año &amp; hielo</seg></tuv></tu>
</body></tmx>
"""


@pytest.fixture
def read(tmp_path):
    """Read files made of names and bytes; returns pairs with their line, and problems as (kind, file, line)."""

    def read(form, *, language="es", with_ids=False, **files):
        names = tuple(name.replace("__", ".") for name in files)
        for name, data in zip(names, files.values(), strict=True):
            (tmp_path / name).write_bytes(data)
        problems = LineProblems()
        pairs = [
            (pair.english, pair.other, pair.line, *([pair.id] if with_ids else []))
            for pair in read_pairs(Text(language, form, names), tmp_path.joinpath, problems)
        ]
        found = [(kind, one.file, one.line) for kind, some in problems.examples.items() for one in some]
        return pairs, sorted(found, key=lambda one: (one[2], one))

    return read


def zipped(tmp_path, **files):
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "."), data)
    return path.read_bytes()


def test_lines_of_a_tsv_file_that_cannot_be_used_are_counted_by_line_and_the_others_kept(read):
    lines: list[str | bytes] = [
        "\ufeffA seal swims.\tUna foca nada.",
        "no tab",
        "one\ttwo\tthree",
        b"caf\xe9\tcaf\xc3\xa9",
        "\tsolo",
        "alone\t  ",
        "x" * 10**6 + "\ty",
        "y " * 600 + "\ty",
        "a\0b\tc",
        "quote\x92s\tcita",
        "broken \ufffd\troto",
        "",
        "I\u00a0have  a\u3000se\u00adal.\tTengo un sello.",
        "Cafe\u0301\tCafé",
    ]
    data = b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)

    pairs, problems = read("tsv", a__tsv=data)

    assert pairs == [(*SEAL, 1), (*STAMP, 13), ("Café", "Café", 14)]
    assert problems == [
        ("wrong_columns", "a.tsv", 2),
        ("wrong_columns", "a.tsv", 3),
        ("bad_encoding", "a.tsv", 4),
        ("empty_side", "a.tsv", 5),
        ("empty_side", "a.tsv", 6),
        ("too_long", "a.tsv", 7),
        ("too_long", "a.tsv", 8),
        ("control_characters", "a.tsv", 9),
        ("control_characters", "a.tsv", 10),
        ("bad_encoding", "a.tsv", 11),
        ("empty_line", "a.tsv", 12),
    ]


def test_lines_of_two_files_belong_together_by_number_also_past_one_that_is_broken(read):
    english, spanish = b"A seal swims.\nc\xe9\nI have a seal.\n", b"Una foca nada.\r\nb\r\nTengo un sello."

    pairs, problems = read("moses", a__en=english, a__es=gzip.compress(spanish))

    assert pairs == [(*SEAL, 1), (*STAMP, 3)]
    assert problems == [("bad_encoding", "a.en", 2)]


@pytest.mark.parametrize(("english", "other"), [(3, 2), (2, 5)])
def test_files_of_unequal_length_are_refused_with_both_numbers(read, english, other):
    with pytest.raises(CorpusError, match=rf"a\.en has {english} lines, and a\.es has {other}\."):
        read("moses", a__en=b"x\n" * english, a__es=b"y\n" * other)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_a_translation_memory_gives_its_units_that_have_both_languages(read, encoding):
    pairs, problems = read("tmx", a__tmx=TMX.format(encoding=encoding).encode(encoding))

    assert pairs == [(*SEAL, 4), ("Ice", "Año & hielo", 7)]
    assert problems == [("no_language", "a.tmx", 6)]


def test_a_broken_character_in_a_translation_memory_costs_its_unit_alone(read):
    data = TMX.format(encoding="utf-8").encode().replace(b"Una foca", b"Un\xe1 foca").replace(b"Ice", b"I" * 10**6)

    assert read("tmx", a__tmx=data.replace(b">Hello", b">Hel\0lo"), language="fr")[1] == [
        ("bad_encoding", "a.tmx", 6),
        ("no_language", "a.tmx", 7),
    ]
    assert read("tmx", a__tmx=data) == (
        [],
        [("bad_encoding", "a.tmx", 4), ("no_language", "a.tmx", 6), ("too_long", "a.tmx", 7)],
    )


def test_a_character_that_another_file_defines_breaks_its_sentence_alone(read):
    data = TMX.format(encoding="utf-8").replace("Una foca", "Una&nbsp;foca").encode()

    assert read("tmx", a__tmx=data) == (
        [("Ice", "Año & hielo", 7)],
        [("bad_encoding", "a.tmx", 4), ("no_language", "a.tmx", 6)],
    )


def test_a_translation_memory_that_defines_entities_or_ends_too_early_is_refused(read):
    laughs = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'

    with pytest.raises(CorpusError, match=r"a.tmx, line 2: it defines the entity “a”"):
        read("tmx", a__tmx=TMX.format(encoding="utf-8").replace('<!DOCTYPE tmx SYSTEM "tmx14.dtd">', laughs).encode())
    with pytest.raises(CorpusError, match="line 5: this is not well-formed XML"):
        read("tmx", a__tmx=TMX.format(encoding="utf-8").encode()[:300])
    with pytest.raises(CorpusError, match="encoding is “hex”, which is unknown"):
        read("tmx", a__tmx=TMX.format(encoding="hex").encode())


def test_a_zip_from_opus_is_read_whichever_language_its_name_has_first(read, tmp_path):
    files = {"README": "", "X.de-en.de": "Robbe\n", "X.de-en.en": "Seal\n", "X.de-en.ids": "1\n", "LICENSE": ""}

    assert read("opus", language="de", a__zip=zipped(tmp_path, **files)) == ([("Seal", "Robbe", 1)], [])
    with pytest.raises(CorpusError, match=r"the two files NAME.en and NAME.fr .* It contains: README, X.de-en.de"):
        read("opus", language="fr", a__zip=zipped(tmp_path, **files))
    with pytest.raises(CorpusError, match=r"a.zip cannot be unpacked"):
        read("opus", a__zip=b"PK\x03\x04 and no more")


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("s one", "ID\tes\tEnglish\ns one\tUna foca nada.\tA seal swims.\n\tTengo un sello.\tI have a seal.\n"),
        ("s1", "\ns1\tA seal swims.\tUna foca nada.\nI have a seal.\tTengo un sello.\n"),
        ("toys/seal", "\nA seal swims.\tUna foca nada.\ttoys/seal\nI have a seal.\tTengo un sello.\n"),
    ],
)
def test_a_column_of_ids_is_found_by_its_name_or_by_how_ids_look(read, named, text):
    pairs, _problems = read("tsv", with_ids=True, a__tsv=text.encode())
    assert [pair[:3] for pair in pairs] == [(*SEAL, 2), (*STAMP, 3)]
    assert [pair[3] for pair in pairs] == [named, ""]


def test_a_header_without_a_language_and_columns_that_are_no_ids_are_refused(read):
    with pytest.raises(CorpusError, match=r"a.tsv, line 1: name the columns id, en and es"):
        read("tsv", a__tsv=b"id\ten\tpt\n1\tSeal\tSelo\n")
    assert read("tsv", a__tsv=b"Seal\tSello\tCC BY 2.0 by Ann\n") == ([], [("wrong_columns", "a.tsv", 1)])


def test_units_of_a_translation_memory_are_named_by_their_tuid(read):
    data = TMX.format(encoding="utf-8").replace('<tu><tuv xml:lang="en-US"', '<tu tuid="u 7"><tuv xml:lang="en-US"')
    pairs, _problems = read("tmx", with_ids=True, a__tmx=data.encode())
    assert [pair[3] for pair in pairs] == ["u 7", ""]


@pytest.mark.parametrize("reverse", [False, True])
def test_sentences_of_opus_are_named_by_their_english_document_and_numbers(read, tmp_path, reverse):
    sides = [("en/7.xml.gz", "es/9.xml.gz"), ("1 2", "3")]
    line = "\t".join(cell for one, other in sides for cell in ((other, one) if reverse else (one, other)))
    files = {"X.en-es.en": "Seal\n", "X.en-es.es": "Foca\n", "X.en-es.ids": f"{line}\n"}
    named = [("Seal", "Foca", 1, "en/7.xml.gz\t1 2")]

    assert read("opus", with_ids=True, a__zip=zipped(tmp_path, **files)) == (named, [])
    data = {name.replace(".", "__"): text.encode() for name, text in files.items()}
    assert read("moses", with_ids=True, **data) == (named, [])
    with pytest.raises(CorpusError, match=r"X.en-es.en has 1 lines, and X.en-es.ids has 2"):
        read("moses", **data | {"X__en-es__ids": b"1\n2\n"})


def test_files_that_unpack_to_more_than_text_does_are_refused(read, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_WORTH_A_LOOK_BYTES", 10**6)
    bomb = b"a\tb\n" * 10**6

    with pytest.raises(CorpusError, match=r"a.tsv.gz would unpack to more than 200 times its size"):
        read("tsv", a__tsv__gz=gzip.compress(bomb))
    with pytest.raises(CorpusError, match=r"a\.zip/X\.en would unpack to more than 200 times"):
        read("opus", a__zip=zipped(tmp_path, X__en=bomb, X__es=bomb))


def test_files_that_are_cut_off_missing_or_saved_as_utf_16_are_refused_by_name(read, tmp_path):
    with pytest.raises(CorpusError, match=r"a.tsv.gz cannot be unpacked: it is incomplete"):
        read("tsv", a__tsv__gz=gzip.compress(b"a\tb\n" * 1000)[:-20])
    with pytest.raises(CorpusError, match=r"a.tsv is saved as UTF-16"):
        read("tsv", a__tsv="a\tb\n".encode("utf-16"))
    with pytest.raises(CorpusError, match=r"b.tsv cannot be read: No such file"):
        list(read_pairs(Text("es", "tsv", ("b.tsv",)), tmp_path.joinpath, LineProblems()))
