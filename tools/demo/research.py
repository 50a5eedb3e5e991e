"""Makes the demo's references, with scorings against them, and starts runs that need no PyTorch, for the worker."""

from __future__ import annotations

from pathlib import Path

from core.images.models import Collection
from core.languages.models import Language
from core.people.models import Project, User
from research.inference.backends.captioners import Decoding
from research.inference.backends.registry import backend_named
from research.inference.models import CaptioningModel, Encoder, WeightPrecision
from research.inference.services import encoders, models, runs
from research.scoring.models import ReferenceSet, Tokenizer
from research.scoring.services.references import put_references, set_of
from research.scoring.services.scorings import create_scorings
from tools.demo.captions import Clock, import_captions
from tools.demo.texts import BRIEF, DESCRIPTIONS, DISCLAIMER, MODEL_NAME, MODELS, TEXTS

CAPTIONER_NAME = "Palette"
CAPTIONER_DESCRIPTION = (
    "Tells a picture's shape, light and colours, and nothing else: what any model should do better than."
)
ENCODER_NAME = "Sentences"
ENCODER_DESCRIPTION = "The Universal Sentence Encoder, multilingual: captions that mean the same lie near each other."

EYE_NAME = "MobileNetV2"
EYE_DESCRIPTION = "What a small network trained on ImageNet sees: features for trainings, on a worker with PyTorch."


def start_runs(*, collection: Collection, captioned_by: CaptioningModel, manager: User, clock: Clock) -> None:
    if not CaptioningModel.objects.filter(name=CAPTIONER_NAME).exists():
        model = models.register_model(
            name=CAPTIONER_NAME, backend="palette", description=CAPTIONER_DESCRIPTION, is_shared=True, by=manager
        )
        languages = Language.objects.filter(pk__in=backend_named(model.backend).languages(model.spec))
        runs.start(
            model=model,
            collection=collection,
            languages=languages,
            decoding=Decoding(),
            is_shared=True,
            by=manager,
            now=clock(),
        )
    if not Encoder.objects.filter(name=ENCODER_NAME).exists():
        encoder = encoders.register(
            name=ENCODER_NAME, backend="sentences", description=ENCODER_DESCRIPTION, is_shared=True, by=manager
        )
        runs.start_embeddings(
            encoder=encoder,
            collection=collection,
            captions_of=captioned_by,
            language=Language.objects.get(pk="en"),
            precision=WeightPrecision.FLOAT16,
            is_shared=True,
            by=manager,
            now=clock(),
        )
    if not Encoder.objects.filter(name=EYE_NAME).exists():
        encoders.register(name=EYE_NAME, backend="mobilenet", description=EYE_DESCRIPTION, is_shared=True, by=manager)


REFERENCES_NAME = "Demo references"
SOURCE = "Written by hand for this demo."
METRICS = ("cider", "cider-d", "bleu", "rouge-l")


def load_references(*, project: Project, collection: Collection, manager: User, folder: Path, clock: Clock) -> None:
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
        if ReferenceSet.objects.filter(project=project, language=language, name=REFERENCES_NAME).exists():
            continue
        references = set_of(
            project=project,
            collection=collection,
            language=Language.objects.get(pk=language),
            name=REFERENCES_NAME,
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
