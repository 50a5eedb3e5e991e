"""What is read of a corpus: words, translations, senses, sentences with their alignment, images, candidates."""

from __future__ import annotations

import pytest

from parallel_text import looking
from parallel_text.aligned import aligned_sentence
from parallel_text.folder import Folder, LocalFolder
from parallel_text.looking import KEPT, NotBuiltError
from tests.parallel_text.looked_at import ANIMAL, ARABIC, DOG, ENGLISH, FRAGMENT_ROWS, SPANISH, STAMP, build_index


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Folder:
    return build_index(tmp_path_factory.mktemp("corpus"))


class TestWords:
    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({}, ["seal", "dog"]),
            ({"sort": "imageability"}, ["dog", "seal"]),
            ({"sort": "word"}, ["dog", "seal"]),
            ({"search": "ea"}, ["seal"]),
            ({"search": "ea", "is_prefix": True}, []),
            ({"search": "do", "is_prefix": True}, ["dog"]),
            ({"search": "%"}, []),
            ({"search": "'"}, []),
        ],
    )
    def test_they_are_searched_and_sorted(self, folder, asked, found):
        rows = looking.words(folder, **asked)
        assert ([row.lemma for row in rows[:50]], len(rows)) == (found, len(found))

    def test_a_word_has_its_counts(self, folder):
        word = looking.word(folder, "seal")
        assert (word.by_n, word.translations, word.imageability) == ({1: 2, 2: 1}, {"ar": 1, "es": 2}, 581.0)
        assert looking.word(folder, "unicorn") is None

    def test_a_page_begins_where_the_one_before_ended(self, folder):
        rows = looking.words(folder)
        assert [rows[number].lemma for number in (0, 1)] == ["seal", "dog"]
        assert [row.lemma for row in rows[1:2]] == ["dog"]


class TestTranslations:
    def test_forms_are_grouped_by_lemma_and_those_below_the_threshold_stand_apart(self, folder):
        arabic, spanish = looking.translations(folder, "seal")
        assert (arabic.language, arabic.total, [one.forms for one in arabic.kept]) == ("ar", 3, [{"الفقمة": 3}])
        assert [(one.lemma, one.alignments, round(one.share, 4)) for one in spanish.kept] == [
            ("foca", 90, 0.6),
            ("sello", 59, 0.3933),
        ]
        assert dict(spanish.kept[0].forms) == {"foca": 60, "focas": 30}
        assert [one.lemma for one in spanish.left_out] == ["nadar"]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_only_the_first_of_many_errors_are_shown(self, tmp_path):
        rows = [("es", "seal", f"x{n}", f"x{n}", 1, 1000, 0.001, False) for n in range(25)]
        [spanish] = looking.translations(build_index(tmp_path, {"dictionary/entries": rows}), "seal")
        assert (len(spanish.left_out), spanish.more) == (20, 5)


def test_a_sense_has_the_words_of_all_languages(folder):
    animal, stamp = looking.senses(folder, "seal")
    assert (animal.synset, animal.instances, animal.images) == (ANIMAL, 2, 2)
    assert animal.lemmas == {"ar": ["فقمة"], "en": ["seal"], "es": ["foca"]}
    assert (stamp.synset, stamp.instances, stamp.images) == (STAMP, 1, 0)


class TestInstances:
    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(
        ("asked", "sentences"),
        [
            ({}, [0, 1, 2]),
            ({"synset": ANIMAL}, [0, 2]),
            ({"synset": ANIMAL, "least_n": 2}, [0]),
            ({"synset": STAMP, "least_n": 2}, []),
            ({"synset": DOG}, []),
        ],
    )
    def test_they_are_chosen_by_sense_and_n(self, folder, asked, sentences):
        rows = looking.instances(folder, "seal", **asked)
        assert ([row.sentence for row in rows[:50]], len(rows)) == (sentences, len(sentences))

    def test_the_word_stands_between_what_is_before_and_after(self, folder):
        [first, *_others] = looking.instances(folder, "seal")[:3]
        assert (first.before, first.word, first.after) == ("The ", "seal", " swims.")


class TestImages:
    def test_the_representative_one_stands_first(self, folder):
        rows = looking.images(folder, ANIMAL)[:50]
        assert [(row.file, row.author, row.is_representative) for row in rows] == [
            ("seal_2.jpg", "Bo", True),
            ("seal_1.jpg", "Ann O.", False),
        ]

    def test_one_is_found_in_its_synset_only(self, folder):
        assert looking.image_named(folder, DOG, "dog_1.jpg").author == "Cem"
        assert looking.image_named(folder, ANIMAL, "dog_1.jpg") is None

    def test_only_addresses_of_the_web_are_linked(self, folder):
        assert [looking.images(folder, synset)[0].link for synset in (ANIMAL, DOG)] == [
            "https://images.test/seal_2",
            "",
        ]


class TestCandidates:
    @pytest.mark.parametrize(
        ("search", "kind", "reason"),
        [
            *(("", "", ""), ("s", "", ""), ("my d", "", ""), ("x", "", ""), ("", "noun", ""), ("", "verb_phrase", "")),
            *(
                ("", "", KEPT),
                ("", "", "not_imageable"),
                ("", "", "too_rare"),
                ("s", "noun", KEPT),
                ("l", "noun", KEPT),
            ),
        ],
    )
    def test_they_are_those_asked_for(self, folder, search, kind, reason):
        rows = looking.candidates(folder, search=search, kind=kind, reason=reason)
        wanted = {
            row[0]
            for row in FRAGMENT_ROWS
            if row[0].startswith(search) and kind in ("", row[1]) and reason in ("", row[6] or KEPT)
        }
        assert ({row.fragment for row in rows[:50]}, len(rows)) == (wanted, len(wanted))

    def test_those_that_occur_most_stand_first(self, folder):
        assert [row.fragment for row in looking.candidates(folder)[:2]] == ["thing", "seal"]


class TestAlignedSentence:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_every_word_knows_its_partners(self, folder):
        sentence = aligned_sentence(folder, 0)
        partners = {piece.text: piece.partners for piece in sentence.english.pieces if piece.key}
        assert partners == {
            "The": ["es-0-0"],
            "seal": ["ar-0-0", "es-0-1"],
            "swims": ["ar-0-1", "es-0-2"],
            ".": ["ar-0-2", "es-0-3"],
        }
        arabic, spanish = sentence.translations
        assert [(piece.text, piece.noun) for piece in arabic.pieces if piece.noun] == [("الفقمة", 1)]
        assert [(piece.text, piece.noun) for piece in spanish.pieces if piece.noun] == [("foca", 1)]

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("number", [0, 2, 4])
    def test_the_pieces_are_the_whole_texts(self, folder, number):
        sentence = aligned_sentence(folder, number)
        texts = {one.language: "".join(piece.text for piece in one.pieces) for one in sentence.translations}
        assert "".join(piece.text for piece in sentence.english.pieces) == ENGLISH[number]
        arabic = {"ar": ARABIC[number]} if number in ARABIC else {}
        assert texts == {"es": SPANISH[number]} | arabic

    def test_two_nouns_are_told_apart(self, folder):
        sentence = aligned_sentence(folder, 2)
        assert [(noun.word, noun.lemma) for noun in sentence.nouns] == [("Seals", "seal"), ("dogs", "dog")]
        [spanish] = sentence.translations
        assert [(piece.text, piece.noun) for piece in spanish.pieces if piece.noun] == [("Focas", 1), ("perros", 2)]

    @pytest.mark.parametrize("number", [5, 10**6, 2**63, 2**70])
    def test_a_number_that_the_corpus_does_not_have_is_no_sentence(self, folder, number):
        assert aligned_sentence(folder, number) is None


def test_a_corpus_that_is_not_built_says_so(tmp_path):
    empty = LocalFolder(tmp_path)
    for ask in (
        lambda: looking.word(empty, "seal"),
        lambda: len(looking.words(empty)),
        lambda: looking.candidates(empty),
        lambda: aligned_sentence(empty, 0),
    ):
        with pytest.raises(NotBuiltError):
            ask()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_empty_corpus_has_no_words(tmp_path):
    names = ("candidates/fragments", "intersect/instances", "images/instances", "images/images", "dictionary/entries")
    folder = build_index(tmp_path, {name: [] for name in names})
    assert (len(looking.words(folder)), looking.words(folder)[:50]) == (0, [])
    assert (len(looking.candidates(folder)), looking.reasons(folder)) == (0, [])
    assert aligned_sentence(folder, 0).nouns == []
