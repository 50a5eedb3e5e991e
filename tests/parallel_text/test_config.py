"""What a configuration of a corpus may say, and what is told of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from parallel_text.config import ConfigError, Text, read_config
from parallel_text.problems import CorpusError

WHOLE = """
name = "tatoeba"
seed = 7
[[texts]]
language = "PT-br"
file = "pt.tsv.gz"
[[texts]]
language = "es"
english = "x.en"
other = "x.es"
ids = "x.ids"
[candidates]
ratings = "ratings.csv"
threshold = 450
[[inventories]]
language = "en"
file = "en.tsv"
[[inventories]]
language = "es"
file = "es.tab"
format = "omw"
[[inventories]]
language = "pt-BR"
file = "pt.tsv"
[exclude]
words = ["thing", "bank"]
senses = [["seal", "02077923-n"]]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "corpus.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read_config(written(tmp_path, text))
    return str(refused.value)


def test_a_configuration_is_read_with_defaults_and_tags_as_they_are_spelt(tmp_path):
    config = read_config(written(tmp_path, WHOLE))
    assert config.texts == (Text("pt-BR", "tsv", ("pt.tsv.gz",)), Text("es", "moses", ("x.en", "x.es", "x.ids")))
    assert config.languages == ("es", "pt-BR")
    assert (config.seed, config.candidates.threshold, config.candidates.occurrences) == (7, 450.0, 2)
    assert config.translation_share == 0.01
    assert config.exclude.words == ("bank", "thing")


def test_everything_that_is_wrong_is_told_at_once(tmp_path):
    text = WHOLE.replace("seed = 7", 'seed = -1\ncolour = "red"\nmemory = "much"').replace("450", '"high"')
    told = refusal_of(tmp_path, text.replace('"es.tab"\nformat = "omw"', '"es.tab"\nformat = "xml"'))
    assert "seed: This must be a whole number from 0 to" in told
    assert "colour: This key is unknown." in told
    assert "memory: Write a number and MB or GB" in told
    assert "candidates.threshold: This must be a number from 100 to 700." in told
    assert "inventories[2].format: This must be one of tsv, omw" in told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('language = "PT-br"', 'language = "pt--BR"', "texts[1].language: pt--BR is not a language tag"),
        ('language = "PT-br"', 'language = "en"', "texts[1].language: Give the other language"),
        ('file = "pt.tsv.gz"', 'file = "pt.dat"', "texts[1].format: The name of the file does not tell its format"),
        ('other = "x.es"', "", "texts[2]: Moses' format has two files"),
        ('ratings = "ratings.csv"', "", "candidates.ratings: This is missing."),
        ('language = "pt-BR"', 'language = "fr"', "inventories: There is no sense inventory of pt-BR."),
        ('senses = [["seal", "02077923-n"]]', 'senses = ["seal"]', "exclude.senses: This must be a list of pairs"),
        ("[exclude]", '[images]\nfolder = "images"\n[exclude]', "images.manifest: Give the manifest"),
        ('name = "tatoeba"', "name = 3", "name: This must be a text."),
    ],
)
def test_what_is_wrong_is_told_with_its_key(tmp_path, old, new, told):
    assert old in WHOLE
    assert told in refusal_of(tmp_path, WHOLE.replace(old, new))


def test_a_file_strikes_out_more_and_each_wrong_line_of_it_is_told(tmp_path):
    text = WHOLE.replace('words = ["thing", "bank"]', 'words = ["thing", "bank"]\nfile = "out.csv"')
    lines = [
        "word;synset;image;reason",
        "bank;;;",
        "time;;;too many senses",
        "seal;04159545-n;;",
        ";;seal_1.jpg;blurred",
    ]
    (tmp_path / "out.csv").write_text("\n".join(lines))
    exclude = read_config(written(tmp_path, text)).exclude
    assert exclude.words == ("bank", "thing", "time")
    assert exclude.senses == (("seal", "02077923-n"), ("seal", "04159545-n"))
    assert exclude.images == ("seal_1.jpg",)

    (tmp_path / "out.csv").write_text("\n".join([*lines, ";04159545-n;;", ";;;nothing", "seal;;seal_1.jpg;"]))
    with pytest.raises(CorpusError) as refused:
        read_config(written(tmp_path, text))
    assert str(refused.value).count("Give a word, a word and its synset, or an image.") == 3
    assert "line 6" in str(refused.value)
    (tmp_path / "out.csv").unlink()
    with pytest.raises(CorpusError, match=r"out\.csv: The file cannot be read: No such file"):
        read_config(written(tmp_path, text))


def test_a_file_that_is_not_toml_is_told_with_its_place(tmp_path):
    assert "corpus.toml is not TOML" in refusal_of(tmp_path, "name = \n")
    assert "corpus.toml is not TOML: it is nested too deeply" in refusal_of(tmp_path, "name = " + "[" * 50_000)
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read: No such file"):
        read_config(tmp_path / "none.toml")
