"""Sense inventories in the layouts in which people have them."""

from __future__ import annotations

import gzip

import pytest

from parallel_text.config import Inventory
from parallel_text.inventories import read_inventory
from parallel_text.problems import CorpusError, LineProblems
from tests.published import published

LMF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.0.dtd">
<LexicalResource xmlns:dc="http://purl.org/dc/elements/1.1/">
  <Lexicon id="omw-es" label="made" language="es" email="a@example.org" license="CC BY 4.0" version="1.0">
    <LexicalEntry id="e1"><Lemma writtenForm="foca" partOfSpeech="n"/><Sense id="s1" synset="omw-es-02077923-n"/></LexicalEntry>
    <LexicalEntry id="e2"><Lemma writtenForm="sellar" partOfSpeech="v"/><Sense id="s2" synset="omw-es-01353670-v"/></LexicalEntry>
    <LexicalEntry id="e3"><Lemma writtenForm="sello" partOfSpeech="n"/><Sense id="s3" synset="own-77"/></LexicalEntry>
    <Synset id="omw-es-02077923-n" ili="i46752" partOfSpeech="n"/>
    <Synset id="omw-es-01353670-v" ili="i1" partOfSpeech="v"/>
    <Synset id="own-77" ili="i58000" partOfSpeech="n"/>
  </Lexicon>
</LexicalResource>
"""  # noqa: E501 - as such files are
WORDNET = """  1 This software and database is being provided to you, the LICENSEE, by
02077923 05 n 02 seal 0 sea_Dog 9 001 @ 02076196 n 0000 | any of numerous marine mammals
nonsense
"""


def senses_of(path, *, language="es", form=""):
    problems = LineProblems()
    found = list(read_inventory(Inventory(language, path.name, form), path, problems))
    return [(sense.lemma, sense.synset) for sense in found if sense.is_noun], problems


def test_offsets_and_lemmas_between_tabs_packed_or_not(tmp_path):
    plain = tmp_path / "es.tsv"
    plain.write_bytes(
        "\ufeff02077923-n\tFoca_común\r\n\r\n01353670-v\tsellar\n02077923-n\nx\t\n".encode() + b"\xff\ty\n"
    )
    found, problems = senses_of(plain)
    assert found == [("foca común", "02077923-n")]
    assert {kind: [each.line for each in examples] for kind, examples in problems.examples.items()} == {
        "bad_inventory_line": [4, 5],
        "bad_encoding": [6],
    }
    packed = tmp_path / "es.tsv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert senses_of(packed)[0] == found
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(CorpusError, match=r"es\.tsv\.gz cannot be unpacked"):
        senses_of(packed)


def test_files_of_the_open_multilingual_wordnet(tmp_path):
    path = tmp_path / "wn-data-spa.tab"
    path.write_text(
        "# MCR\tspa\thttp://example.org\tCC BY\n02077923-n\tspa:lemma\tfoca\n02077923-n\tspa:def\tun mamífero\n"
    )
    assert senses_of(path)[0] == [("foca", "02077923-n")]


def test_the_files_of_wordnet_itself(tmp_path):
    (tmp_path / "dict").mkdir()
    (tmp_path / "dict" / "data.noun").write_text(WORDNET)
    found, problems = senses_of(tmp_path, language="en")
    assert found == [("seal", "02077923-n"), ("sea dog", "02077923-n")]
    assert [each.line for each in problems.examples["bad_inventory_line"]] == [3]
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"has no data\.noun"):
        senses_of(tmp_path / "empty", language="en")


def test_lexicons_in_lmf_are_tied_by_offsets_or_else_by_the_interlingual_index(tmp_path):
    path = tmp_path / "es.xml"
    path.write_text(LMF)
    assert senses_of(path)[0] == [("foca", "02077923-n"), ("sello", "i58000")]
    path.write_text("<a/>")
    with pytest.raises(CorpusError, match=r"es\.xml is not a lexicon in WN-LMF"):
        senses_of(path)


def test_exports_of_babelnet_give_the_words_of_one_language(tmp_path):
    path = tmp_path / "babelnet.tsv"
    path.write_text("bn:00070040n\tES\tfoca\nbn:00070040n\tEN\tseal\nbn:00082267v\tES\tsellar\nbn:1\tES\n")
    found, problems = senses_of(path)
    assert found == [("foca", "bn:00070040n")]
    assert problems.counts == {"bad_inventory_line": 1}


def test_lemmas_are_in_the_lower_case_of_their_language_and_found_under_its_other_names(tmp_path):
    path = tmp_path / "babelnet.tsv"
    path.write_text("bn:00000001n\tTR\tIşık\nbn:00000002n\tTR\tİğne\nbn:00000003n\tTL\tAso\n", encoding="utf-8")
    assert [lemma for lemma, _synset in senses_of(path, language="tr", form="babelnet")[0]] == ["ışık", "iğne"]
    assert senses_of(path, language="fil", form="babelnet")[0] == [("aso", "bn:00000003n")]


def test_published_inventories_have_the_senses_of_seals():
    found, problems = senses_of(published("multisubs/senses.es.tsv.gz"))
    assert ("foca", "02076196-n") in found
    assert len(found) > 50_000
    assert len(problems) == 0
