"""Captioning models, trainings, captions and the runs that make them; encoders, embeddings and word vectors."""

from research.inference.models.outputs import (
    EmbeddingSet,
    ModelCaption,
    Stabiliser,
    VectorKind,
    WeightPrecision,
    WordVectorSet,
)
from research.inference.models.registered import (
    IMPORTED,
    TRANSLATED,
    CaptioningModel,
    Encoder,
    RegisteredModel,
    Translator,
)
from research.inference.models.work import (
    UNFINISHED_STATES,
    Chunk,
    Run,
    RunEvent,
    RunFailure,
    RunState,
    Training,
    TrainingEvent,
    TrainingStep,
    TrainingValidation,
    Worker,
)

__all__ = [
    "IMPORTED",
    "TRANSLATED",
    "UNFINISHED_STATES",
    "CaptioningModel",
    "Chunk",
    "EmbeddingSet",
    "Encoder",
    "ModelCaption",
    "RegisteredModel",
    "Run",
    "RunEvent",
    "RunFailure",
    "RunState",
    "Stabiliser",
    "Training",
    "TrainingEvent",
    "TrainingStep",
    "TrainingValidation",
    "Translator",
    "VectorKind",
    "WeightPrecision",
    "WordVectorSet",
    "Worker",
]
