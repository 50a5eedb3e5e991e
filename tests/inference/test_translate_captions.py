"""`translate_captions`: each caption once, whatever is interrupted, and readable as training data and as references."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from research.inference.backends.captioners import Decoding, FailedImage, GeneratedCaption, OutOfMemoryError
from research.inference.services.captioning import translated_texts
from research.inference.training.examples import TrainingExample, read_examples
from research.scoring.formats.references import ReferenceLine, reference_lines
from tests.inference.fake_backend import FakeTranslation

pytestmark = pytest.mark.usefixtures("fakes")

ENGLISH = [("a", ["A cat.", "A small cat."]), ("b", ["A dog."]), ("c", ["A tree."])]


@pytest.fixture
def captions(tmp_path):
    path = tmp_path / "english.jsonl"
    lines = [{"image": image, "captions": texts} for image, texts in ENGLISH]
    lines.append({"image": "d", "caption": "Ein Haus.", "language": "de"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def translate(captions, out, *to, **options):
    stdout = StringIO()
    about = {"backend": "fake", "source": "x", "to": to or ("de", "fr"), "out": out, **options}
    call_command("translate_captions", str(captions), stdout=stdout, **about)
    return stdout.getvalue()


def test_english_captions_are_translated_with_what_they_were_translated_from(captions, tmp_path):
    out = tmp_path / "out.jsonl"
    assert "fr: 3 of 3 images" in translate(captions, out)

    examples = read_examples(out)
    assert examples[:3] == [
        TrainingExample("a", "de", "de of A cat.", "A cat."),
        TrainingExample("a", "de", "de of A small cat.", "A small cat."),
        TrainingExample("b", "de", "de of A dog.", "A dog."),
    ]
    assert len(examples) == 8
    made = json.loads((tmp_path / "out.jsonl.json").read_text())
    assert made["translator"] == {"model": "fake", "source": "x", "options": {}}
    with out.open("rb") as file:
        lines = list(reference_lines(file, language="de", known=["de", "fr"]))
    assert [line.captions for line in lines[:1] if isinstance(line, ReferenceLine)] == [
        (("de", "de of A cat."), ("de", "de of A small cat."))
    ]


def test_what_was_interrupted_is_resumed_and_a_line_that_was_cut_off_is_made_again(captions, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    translate(captions, whole)
    monkeypatch.setattr(FakeTranslation, "batch_size", 1)
    done = FakeTranslation.translate
    asked = []

    def interrupted(self, texts, *, keys, language, decoding):
        asked.extend(keys)
        if len(asked) > 4:
            raise KeyboardInterrupt
        return done(self, texts, keys=keys, language=language, decoding=decoding)

    monkeypatch.setattr(FakeTranslation, "translate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        translate(captions, parts)
    assert len(parts.read_text().splitlines()) == 3
    with parts.open("a") as file:
        file.write('{"image": "a", "lang')
    monkeypatch.setattr(FakeTranslation, "translate", done)

    translate(captions, parts)

    assert parts.read_text() == whole.read_text()
    assert translate(captions, parts).count("images") == 0


def test_what_made_a_file_must_not_change(captions, tmp_path):
    out = tmp_path / "out.jsonl"
    translate(captions, out)
    for changes in ({"source": "y"}, {"beams": 4}, {"options": {"x": 1}}):
        with pytest.raises(CommandError, match="was made from other captions, or by another translator"):
            translate(captions, out, **changes)
    (tmp_path / "out.jsonl.json").unlink()
    with pytest.raises(CommandError, match="nothing says what made it"):
        translate(captions, out)


def test_memory_that_runs_out_and_texts_that_fail_cost_nothing_else(captions, tmp_path, monkeypatch):
    done = FakeTranslation.translate

    def narrow(self, texts, **about):
        if len(texts) > 1:
            raise OutOfMemoryError
        return [FailedImage("No.")] if texts == ["A dog."] else done(self, texts, **about)

    monkeypatch.setattr(FakeTranslation, "translate", narrow)

    output = translate(captions, tmp_path / "out.jsonl", "de")

    assert "Captions that could not be translated and are left out: 1." in output
    assert [one.image for one in read_examples(tmp_path / "out.jsonl")] == ["a", "a", "c"]


def test_a_translator_keeps_the_number_of_texts_that_fitted(monkeypatch):
    translator, texts, sizes = FakeTranslation(), list("abcdefgh"), []
    done = FakeTranslation.translate

    def narrow(self, texts, **about):
        sizes.append(len(texts))
        if len(texts) > 2:
            raise RuntimeError("CUDA error: out of memory")
        return done(self, texts, **about)

    monkeypatch.setattr(FakeTranslation, "translate", narrow)
    for _time in range(2):
        made = translated_texts(translator, texts, keys=texts, language="de", decoding=Decoding())
        assert made == [GeneratedCaption(f"de of {text}") for text in texts]

    assert sizes == [4] + [2] * 8
    assert translator.batch_size == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"to": ("sw",)}, "The translator has no code for sw."),
        ({"backend": "nothing"}, "No backend 'nothing' is installed here."),
    ],
)
def test_what_cannot_be_translated_is_said(captions, tmp_path, options, says):
    with pytest.raises(CommandError, match=says):
        translate(captions, tmp_path / "out.jsonl", **options)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_without_english_captions_is_refused(tmp_path):
    path = tmp_path / "german.jsonl"
    path.write_text('{"image": "a", "caption": "Ein Haus.", "language": "de"}\n')
    with pytest.raises(CommandError, match="has no English captions"):
        translate(path, tmp_path / "out.jsonl")
