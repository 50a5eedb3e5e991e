"""What is said of the demo's photographs: `data/captions.yaml`, and the models that are said to have said it."""

from __future__ import annotations

from typing import NamedTuple

from tools.demo.files import read

MODEL_NAME = "demo-captions (written by hand, mixed quality)"
MODEL_DESCRIPTION = (
    "Written by hand for the demo, from excellent to plainly wrong, so that there is something to rate. "
    "No model made these captions, so they say nothing about any model."
)
BRIEF, RICH, WOBBLY = MODELS = (
    "demo-brief (written by hand)",
    "demo-rich (written by hand)",
    "demo-wobbly (written by hand)",
)
DESCRIPTIONS = {
    BRIEF: "Names only the main thing in the photograph.",
    RICH: "Describes relations, activity and background, and sometimes things that are not there.",
    WOBBLY: "Sometimes wrong, sometimes ungrammatical. In German only.",
}
DISCLAIMER = "Written by hand for the demo. No model made these captions, so they say nothing about any model."


class PhotographTexts(NamedTuple):
    """What is said of one photograph; the comments of the file say what each field is."""

    english: str
    ratings: tuple[str, str]
    german: tuple[str, str]
    references: tuple[str, str]
    brief: str
    quality: tuple[int, int, int]
    compared: dict[str, tuple[str, ...]]

    def written_in(self, language: str) -> tuple[str, ...]:
        """Return what annotators write; in other languages than German, it is the better caption of those compared."""
        compared = zip(self.quality, self.compared[language], strict=False)
        return self.german if language == "de" else (max(compared)[1],)


TEXTS = {key: PhotographTexts(**fields) for key, fields in read("captions.yaml").items()}
"""By the key of the photograph."""
CAPTIONS = {
    language: {key: texts.compared[language] for key, texts in TEXTS.items()}
    for language in next(iter(TEXTS.values())).compared
}
"""Those to compare, by language and the key of the photograph, in the order of MODELS."""
