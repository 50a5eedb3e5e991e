"""`manage.py score_captions` and `document_frequencies`: the published figures, refusals, and no database."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from crosslens_metrics.named_vectors import NamedVectors
from crosslens_metrics.scoring import METRICS, MetricNeed
from tests.commands import output_of
from tests.java_tools import needs_java
from tests.published import published
from tests.servers import ROOT

PUBLIC_NAMES = {
    "Bleu_1": "bleu-1",
    "Bleu_2": "bleu-2",
    "Bleu_3": "bleu-3",
    "Bleu_4": "bleu-4",
    "ROUGE_L": "rouge-l",
    "CIDEr": "cider-d",
    "METEOR": "meteor",
}


def run(*arguments: Any, command: str = "score_captions") -> str:
    return output_of(command, *arguments)


def run_json(*arguments: Any) -> dict[str, Any]:
    return json.loads(run(*arguments, "--json"))


def write(folder: Path, name: str, *rows: Any) -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    candidates = write(
        tmp_path, "candidates.jsonl", {"image": "a", "caption": "A dog, running!"}, {"image": "b", "caption": ""}
    )
    references = write(
        tmp_path,
        "references.jsonl",
        {"image": "b", "captions": ["two cats", "cats"]},
        {"image": "a", "captions": ["a dog running", "the dog runs"]},
    )
    return candidates, references


def assert_published(scores: dict[str, Any], names: list[str]) -> None:
    expected = json.loads((published("coco_example") / "reference_scores.json").read_text(encoding="utf-8"))
    assert list(scores["per_image"]) == sorted(expected["per_image"], key=int)
    for name in names:
        figure = PUBLIC_NAMES[name]
        assert scores["corpus"][figure] == pytest.approx(expected["corpus"][name], abs=1e-6)
        theirs = [expected["per_image"][image][name] for image in scores["per_image"]]
        ours = [values[figure] for values in scores["per_image"].values()]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_tokens_as_they_stand_have_the_scores_of_the_public_tool():
    folder = published("coco_example")
    report = run_json(
        folder / "candidates_tokenized.json",
        folder / "references_tokenized.json",
        "--tokenizer=whitespace",
        "--metrics=cider,cider-d,bleu,rouge-l",
        "--per-image",
    )

    assert_published(report, [name for name in PUBLIC_NAMES if name != "METEOR"])
    # Told apart: the original CIDEr is another number.
    assert report["corpus"]["cider"] == pytest.approx(0.711060, abs=1e-6)
    assert report["images"] == 1000
    assert report["references"] == 5005


def test_captions_as_they_were_written_have_the_scores_of_the_public_tool_by_its_tokeniser():
    needs_java()
    folder = published("coco_example")
    report = run_json(
        folder / "candidates.json",
        folder / "references.json",
        "--tokenizer=ptb",
        "--metrics=bleu,rouge-l,cider-d",
        "--per-image",
    )

    assert_published(report, [name for name in PUBLIC_NAMES if name != "METEOR"])
    assert report["signatures"]["cider-d"].startswith("cider-d|v:1|text:ptb-3.4.1|n:4|sigma:6|df:references|refs:")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_meteor_is_scored_in_another_language_by_its_program(files):
    needs_java()

    report = run_json(*files, "--metrics=meteor", "--normalise", "--language=fi", "--per-image")

    assert report["per_image"]["a"]["meteor"] == pytest.approx(1.0)
    assert report["per_image"]["b"]["meteor"] == 0
    assert report["signatures"]["meteor"].startswith("meteor|v:1.5|text:whitespace-1+norm-1|lang:fi|refs:")


@pytest.mark.long(reason="another language by the same program, whose start takes seconds")
def test_chinese_captions_are_scored_with_meteors_english_parameters_as_published_ones_are(tmp_path, capsys):
    needs_java()
    captions = {
        "a": ["一 只 猫 坐 在 垫子 上", "猫 坐 在 一 块 垫子 上", "一 只 猫 在 垫子 上 睡觉"],
        "b": ["两 只 狗 在 公园 里 奔跑", "公园 里 有 两 只 狗"],
        "c": ["红色 的 小船", "一 艘 红色 的 船 停 在 水 上", "小船 是 红色 的"],
    }
    ours = write(tmp_path, "ours.jsonl", *({"image": key, "caption": texts[0]} for key, texts in captions.items()))
    theirs = write(
        tmp_path, "theirs.jsonl", *({"image": key, "captions": texts[1:]} for key, texts in captions.items())
    )

    report = run_json(ours, theirs, "--metrics=meteor,bmrc", "--language=zh", "--per-image")

    # By pycocoevalcap 1.2, which asks for English whatever the language.
    expected = {"a": 0.43183653808184225, "b": 0.4260452572141328, "c": 0.42775049193066345}
    assert {key: values["meteor"] for key, values in report["per_image"].items()} == pytest.approx(expected, abs=1e-6)
    assert report["corpus"]["meteor"] == pytest.approx(0.4283188190223626, abs=1e-6)
    for name in ("meteor", "bmrc"):
        assert "|lang:zh|params:en|" in report["signatures"][name]
    assert capsys.readouterr().err.splitlines() == ["METEOR used the parameters of en for captions in zh."]


def test_text_is_taken_as_it_stands_unless_it_is_to_be_normalised(files):
    plain = run_json(*files, "--metrics=bleu-1,rouge-l", "--per-image")
    normalised = run_json(*files, "--metrics=bleu-1,rouge-l", "--normalise", "--per-image")

    assert list(plain["corpus"]) == ["bleu-1", "rouge-l"]
    assert plain["per_image"]["a"]["rouge-l"] == 0
    assert normalised["per_image"]["a"]["rouge-l"] == pytest.approx(1)
    assert (plain["empty_candidates"], plain["empty_references"]) == (1, 0)


def test_a_table_for_people_shows_values_and_what_papers_print(files):
    out = run(*files, "--metrics=rouge-l,cider-d", "--normalise", "--per-image")

    assert "2 images, 4 references." in out
    assert "Without a token: candidates 1, references 0." in out
    assert "ROUGE-L       0.500000       50.00  rouge-l|v:1|text:whitespace-1+norm-1|beta:1.2|refs:" in out
    assert "What the public COCO tool calls CIDEr is CIDEr-D." in out
    assert out.splitlines()[-3] == "image\trouge-l\tcider-d"
    assert out.splitlines()[-1] == "b\t0.000000\t0.000000"


def test_texts_are_counted_as_empty_once_they_are_tokens(tmp_path, capsys):
    ours = write(tmp_path, "ours.jsonl", {"image": "a", "caption": "One dog."}, {"image": "b", "caption": "..."})
    theirs = write(
        tmp_path, "theirs.jsonl", {"image": "a", "captions": ["one dog", "?"]}, {"image": "b", "captions": ["!!!"]}
    )

    report = run_json(ours, theirs, "--metrics=rouge-l,cider", "--normalise")

    assert (report["empty_candidates"], report["empty_references"]) == (1, 2)
    assert report["notes"] == capsys.readouterr().err.splitlines()
    text, rouge, cider = report["notes"]
    assert text.startswith(
        "1 of 2 candidates and 2 of 3 references are not blank, but have no token by whitespace-1+norm-1."
    )
    assert rouge.startswith("ROUGE-L is 1 for an empty candidate with an empty reference")
    assert "Those without a token count as 0" in cider


def test_cmedrel_needs_no_references_and_its_signature_names_none(tmp_path):
    ours = write(tmp_path, "ours.jsonl", {"image": "a", "caption": "x"}, {"image": "b", "caption": "y"})
    files = {name: tmp_path / f"{name}.npz" for name in ("projections", "features")}
    for file in files.values():
        NamedVectors(("a", "b"), np.eye(2, dtype=np.float32), signature="tiny-1", space="tiny").save(file)

    report = run_json(ours, "--metrics=cmedrel", *(f"--{name}={file}" for name, file in files.items()))

    assert (report["images"], report["references"], report["corpus"]) == (2, 0, {"cmedrel": 1.0})
    assert re.fullmatch(r"cmedrel\|v:1\|encoder:tiny-1\|sample:[0-9a-f]{12}", report["signatures"]["cmedrel"])
    with pytest.raises(CommandError, match="cider needs a file of references"):
        run(ours, "--metrics=cider")


@pytest.mark.parametrize("tokenizer", ["characters", "icu"])
def test_languages_without_spaces_have_tokens_of_their_own(tmp_path, tokenizer):
    file = published("xm3600/captions_6languages.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:200]]
    given = ({"image": row["image/key"], "caption": row["zh"]["caption"][0]} for row in rows)
    candidates, references = write(tmp_path, "candidates.jsonl", *given), write(tmp_path, "references.jsonl", *rows)

    report = run_json(
        candidates, references, "--metrics=rouge-l", f"--tokenizer={tokenizer}", "--language=zh", "--per-image"
    )

    assert set(report["per_image"]) == {row["image/key"] for row in rows}
    assert report["corpus"]["rouge-l"] == pytest.approx(1)
    assert report["signatures"]["rouge-l"].count(tokenizer) == 1


def test_the_language_chooses_among_those_of_a_file(tmp_path):
    file = write(tmp_path, "x.jsonl", {"image/key": "a", "iw": {"caption": ["כלב"]}, "en": {"caption": ["dog"]}})

    assert run_json(file, file, "--language=he", "--metrics=rouge-l")["corpus"]["rouge-l"] == pytest.approx(1)
    with pytest.raises(CommandError, match=r"captions in en, he\. Choose one by --language"):
        run(file, file)


def test_the_language_that_files_name_holds_where_none_is_asked_for(tmp_path, files):
    german = write(tmp_path, "de.jsonl", *({"image": name, "language": "de", "caption": "x"} for name in "ab"))
    thai = write(tmp_path, "th.jsonl", *({"image": name, "language": "th", "caption": "x"} for name in "ab"))

    assert "|lang:de|" in run_json(german, files[1], "--tokenizer=icu")["signatures"]["cider"]
    assert "|lang:en|" in run_json(*files, "--tokenizer=icu")["signatures"]["cider"]
    with pytest.raises(CommandError, match="The candidates are in de, the references in th"):
        run(german, thai)


def test_stored_document_frequencies_take_the_place_of_the_references(files, tmp_path):
    stored = tmp_path / "frequencies.npz"
    said = run(files[1], stored, command="document_frequencies")

    here = run_json(*files, "--metrics=cider-d")
    there = run_json(*files, "--metrics=cider-d", f"--frequencies={stored}")

    signature = said.split()[-1].rstrip(".")
    assert said == f"{stored}: 2 images, signature {signature}.\n"
    assert there["corpus"] == here["corpus"]
    assert f"|df:{signature}|" in there["signatures"]["cider-d"]


def test_frequencies_of_texts_that_were_tokenised_otherwise_are_warned_of(files, tmp_path, capsys):
    stored = tmp_path / "frequencies.npz"
    run(files[1], stored, "--tokenizer=characters", command="document_frequencies")
    asked = [*files, "--metrics=cider,cider-d", f"--frequencies={stored}"]

    run(*asked, "--tokenizer=characters")
    assert capsys.readouterr().err == ""
    run(*asked)
    (warned,) = capsys.readouterr().err.splitlines()
    assert "texts by characters-1+norm-1, the captions by whitespace-1" in warned


def test_images_that_lack_captions_are_named_and_nothing_is_scored(files, tmp_path):
    other = write(tmp_path, "other.jsonl", {"image": "a", "caption": "x"}, {"image": "c", "caption": "y"})

    with pytest.raises(CommandError) as refused:
        run(other, files[1])

    assert "1 image with references but no candidate: b." in str(refused.value)
    assert "1 image with a candidate but no reference: c." in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metrics=spice"], "'spice' is none of cider, cider-d, bleu, rouge-l, meteor, bmrc"),
        (["--metrics=wmdrel"], "wmdrel needs --vectors"),
        (["--metrics=rouge-l,clinrel"], "clinrel needs --projections"),
        (["--metrics=,"], "names no metric"),
        (["--language=klingon!"], "is not a BCP-47 language tag"),
        (["--tokenizer=words"], "invalid choice"),
        (["--metrics=meteor", "--meteor-language=zh"], "METEOR 1.5 knows cs, da, de"),
        (["--metrics=cider", "--frequencies=none.npz"], "none.npz cannot be read: No such file"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_met_are_refused(files, arguments, said):
    with pytest.raises(CommandError, match=said):
        run(*files, *arguments)


def test_a_file_that_holds_no_frequencies_is_refused(files):
    with pytest.raises(CommandError, match="holds no document frequencies"):
        run(*files, f"--frequencies={files[0]}")
    with pytest.raises(CommandError, match="cannot be written: No such file"):
        run(files[1], files[1].parent / "none" / "frequencies.npz", command="document_frequencies")


def test_without_java_the_message_says_what_to_install(files, monkeypatch):
    monkeypatch.setenv("JAVA", "no-such-java")

    with pytest.raises(CommandError, match=r"no no-such-java on the path. Install it .*default-jre-headless"):
        run(*files, "--metrics=meteor")
    with pytest.raises(CommandError, match="Java"):
        run(*files, "--tokenizer=ptb")


def test_every_metric_of_captions_alone_is_offered():
    alone = [name for name, metric in METRICS.items() if metric.needs <= {MetricNeed.JAVA}]
    assert alone[:6] == ["cider", "cider-d", "bleu", "rouge-l", "meteor", "bmrc"]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.process
def test_no_database_is_needed_and_a_missing_file_is_named(files):
    environment = {**os.environ, "CROSSLENS_VAR": str(files[0].parent / "none")}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    command = [sys.executable, "manage.py", "score_captions", *map(str, files)]

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "CIDEr-D" in done.stdout
    with pytest.raises(CommandError, match="none: The file cannot be read: No such file or directory"):
        run(files[0], "none")
    assert not list(files[0].parent.rglob("*sqlite*"))


@pytest.mark.long(reason="more images by the same metrics")
def test_a_hundred_thousand_images_take_seconds(tmp_path):
    candidates, references = tmp_path / "candidates.json", tmp_path / "references.jsonl"
    captions = [f"a {number % 97} dog and {number % 89} cats" for number in range(100_000)]
    candidates.write_text(json.dumps([{"image_id": n, "caption": text} for n, text in enumerate(captions)]))
    with references.open("w") as file:
        for number, text in enumerate(captions):
            file.write(json.dumps({"image": number, "captions": [text, f"{text} on grass"]}) + "\n")

    begun = time.process_time()
    report = run_json(candidates, references, "--metrics=rouge-l")

    assert report["corpus"]["rouge-l"] == pytest.approx(1)
    assert time.process_time() - begun < 60


def test_wmdrel_says_which_words_have_no_vector_and_refuses_where_none_has(files, tmp_path):
    vectors, others = tmp_path / "glove.txt", tmp_path / "others.txt"
    vectors.write_text("dog 1 0\nrunning 0 1\ncats 1 1\n", encoding="utf-8")
    others.write_text("perro 1 0\ngato 0 1\n", encoding="utf-8")
    said = io.StringIO()
    out = io.StringIO()

    arguments = [*map(str, files), "--metrics=wmdrel", "--normalise", "--json"]
    call_command("score_captions", *arguments, f"--vectors={vectors}", stdout=out, stderr=said)

    assert "left out 4 of 9 words" in said.getvalue()
    assert "counts 2 pairs of captions as 0" in said.getvalue()
    with pytest.raises(CommandError, match="No caption and its reference have words with vectors"):
        run(*files, "--metrics=wmdrel", f"--vectors={others}")
    with pytest.raises(CommandError, match="WMDRel needs word vectors"):
        run(*files, "--metrics=wmdrel", "--vectors=none")
