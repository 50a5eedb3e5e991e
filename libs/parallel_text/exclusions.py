"""What is excluded from a corpus: words, senses of words, and images, in its configuration or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosslens_metrics.formats.fields import LineFields
from crosslens_metrics.formats.lines import LineReader
from crosslens_metrics.formats.problems import FileProblemsError, LineError
from crosslens_metrics.messages import gettext as _
from parallel_text.problems import CorpusError

SUFFIXES = (".csv", ".jsonl")
EXAMPLE = '{"word": "seal", "synset": "04159545-n", "reason": "…"}'


@dataclass(frozen=True)
class Exclusions:
    """English lemmas, pairs of English lemma and synset, and files of images. `file` is where more of them are."""

    words: tuple[str, ...] = ()
    senses: tuple[tuple[str, str], ...] = ()
    images: tuple[str, ...] = ()
    file: str = ""

    def with_those_of(self, path: Path) -> Exclusions:
        """Add the lines of a file, which have a word, a word and a synset, or an image.

        Raises
        ------
        CorpusError
            Names every line that is wrong.
        """
        words, senses, images = set(self.words), set(self.senses), set(self.images)
        try:
            with LineReader(path, suffixes=SUFFIXES) as reader:
                for record in reader.records(column="word"):
                    with reader.line(record):
                        fields = LineFields(record.value, example=EXAMPLE, is_csv=reader.is_csv)
                        word, synset, image = (fields.text(name) for name in ("word", "synset", "image"))
                        if image and not word and not synset:
                            images.add(image)
                        elif word and synset and not image:
                            senses.add((word, synset))
                        elif word and not image:
                            words.add(word)
                        else:
                            raise LineError(_("Give a word, a word and its synset, or an image."))
        except FileProblemsError as error:
            raise CorpusError(str(error)) from error
        return Exclusions(tuple(sorted(words)), tuple(sorted(senses)), tuple(sorted(images)), self.file)
