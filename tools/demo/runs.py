"""Starts runs over the demo's photographs that need no PyTorch: of a model and of an encoder.

The worker executes them within seconds of the first start. An encoder of images is there for trainings.
"""

from __future__ import annotations

from core.images.models import Collection
from core.languages.models import Language
from core.people.models import User
from research.inference.backends.captioners import Decoding
from research.inference.backends.registry import backend_named
from research.inference.models import CaptioningModel, Encoder, WeightPrecision
from research.inference.services import encoders, models, runs
from tools.demo.captions import Clock

MODEL_NAME = "Palette"
MODEL_DESCRIPTION = (
    "Tells a picture's shape, light and colours, and nothing else: what any model should do better than."
)
ENCODER_NAME = "Sentences"
ENCODER_DESCRIPTION = "The Universal Sentence Encoder, multilingual: captions that mean the same lie near each other."

EYE_NAME = "MobileNetV2"
EYE_DESCRIPTION = "What a small network trained on ImageNet sees: features for trainings, on a worker with PyTorch."


def load(*, collection: Collection, captioned_by: CaptioningModel, manager: User, clock: Clock) -> None:
    if not CaptioningModel.objects.filter(name=MODEL_NAME).exists():
        model = models.register_model(
            name=MODEL_NAME, backend="palette", description=MODEL_DESCRIPTION, is_shared=True, by=manager
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
