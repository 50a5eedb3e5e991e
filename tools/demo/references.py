"""Makes the demo's references, and scorings of its models against them.

The worker computes the scores within seconds of the first start.
"""

from __future__ import annotations

from pathlib import Path

from core.images.models import Collection
from core.languages.models import Language
from core.people.models import Project, User
from research.inference.models import CaptioningModel
from research.scoring.models import ReferenceSet, Tokenizer
from research.scoring.services.references import put_references, set_of
from research.scoring.services.scorings import create_scorings
from tools.demo.captions import Clock, import_captions
from tools.demo.texts import BRIEF, DESCRIPTIONS, DISCLAIMER, MODEL_NAME, MODELS, TEXTS

NAME = "Demo references"
SOURCE = "Written by hand for this demo."
METRICS = ("cider", "cider-d", "bleu", "rouge-l")


def load(*, project: Project, collection: Collection, manager: User, folder: Path, clock: Clock) -> None:
    """Make what is missing of the references and the scorings."""
    import_captions(
        model=BRIEF,
        description=f"{DESCRIPTIONS[BRIEF]} {DISCLAIMER}",
        language="en",
        captions={key: texts.brief for key, texts in TEXTS.items()},
        collection=collection,
        folder=folder,
        clock=clock,
    )
    said = {
        "en": {key: texts.references for key, texts in TEXTS.items()},
        "de": {key: texts.german for key, texts in TEXTS.items()},
    }
    models = {"en": (MODEL_NAME, BRIEF), "de": MODELS}
    for language, captions in said.items():
        if ReferenceSet.objects.filter(project=project, language=language, name=NAME).exists():
            continue
        references = set_of(
            project=project,
            collection=collection,
            language=Language.objects.get(pk=language),
            name=NAME,
            source=SOURCE,
            by=manager,
            now=clock(),
        )
        images = dict(collection.entries.values_list("key", "image"))
        put_references(
            reference_set=references,
            captions={images[key]: several for key, several in captions.items()},
            now=clock(),
        )
        create_scorings(
            project=project,
            models=CaptioningModel.objects.filter(name__in=models[language]),
            references=references,
            metrics=METRICS,
            tokenizer=Tokenizer.WHITESPACE,
            normalise=True,
            by=manager,
            now=clock(),
        )
