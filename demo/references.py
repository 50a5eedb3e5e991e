"""What people say of the demo's photographs, and the demo's models scored against it.

The scores themselves are computed by the worker, within seconds of the first start.
"""

from __future__ import annotations

from pathlib import Path

from demo.captions import Clock, import_captions
from demo.comparison_texts import BRIEF, DESCRIPTIONS, DISCLAIMER, MODELS
from demo.texts import MODEL_NAME, TEXTS
from images.models import Collection
from inference.models import CaptioningModel
from languages.models import Language
from people.models import Project, User
from scoring.models import ReferenceSet, Tokenizer
from scoring.services.references import put_references, set_of
from scoring.services.scorings import create_scorings

NAME = "Demo references"
SOURCE = "Written by hand for this demo."
METRICS = ("cider", "cider-d", "bleu", "rouge-l")
ENGLISH = {
    "astronaut": (
        "An astronaut in an orange suit smiles in front of a flag and a model of the space shuttle.",
        "Portrait of a woman in an orange space suit, her helmet in front of her.",
    ),
    "camera": (
        "A man in a coat looks into a camera on a tripod in a park.",
        "On a large lawn a man in a dark coat films with a camera, tall buildings far behind him.",
    ),
    "cat": (
        "A close-up of a tabby cat with green eyes looking to the side.",
        "The face of a striped cat with long whiskers.",
    ),
    "coffee": (
        "A cup of espresso with a saucer and a spoon on a wooden table.",
        "A half empty cup of coffee on a red saucer, seen from above.",
    ),
    "coins": (
        "Old silver coins lie in four rows on a dark surface.",
        "Twenty-four ancient coins with heads and figures in rows.",
    ),
    "clock": (
        "A blurred round clock on a gray wall.",
        "A shaky photo in which only a bright round spot can be made out.",
    ),
    "rocket": (
        "A white rocket stands on its launch pad at dusk.",
        "A slim rocket between towers, lit by spotlights before it starts.",
    ),
    "galaxies": (
        "Countless galaxies in many colors in front of a black sky.",
        "A look into deep space with hundreds of distant galaxies.",
    ),
    "retina": (
        "The orange retina of an eye with its blood vessels.",
        "A round picture of the back of an eye with red veins and a bright spot.",
    ),
    "bricks": (
        "Long rows of gray bricks with bright joints in black and white.",
        "A wall of narrow bricks photographed from an angle.",
    ),
    "grass": (
        "Short grass with clover and dry leaves seen from above in black and white.",
        "A black and white photo of a lawn.",
    ),
    "gravel": (
        "A floor covered with small gray stones.",
        "Gray gravel seen from close by.",
    ),
    "pagoda": (
        "A pagoda with curved roofs rises between trees above a lake.",
        "A colorful Chinese tower high over a misty lake.",
    ),
    "dahlia": (
        "A round orange dahlia blooms in front of blurred green leaves.",
        "An orange flower with many petals, and a second one below it.",
    ),
    "officer": (
        "An older woman in a navy uniform with glasses and a cap in front of a flag.",
        "Portrait of a navy officer with many ribbons on her jacket.",
    ),
}
BRIEF_ENGLISH = {
    "astronaut": "An astronaut.",
    "camera": "A man with a camera.",
    "cat": "A striped cat.",
    "coffee": "A cup of coffee.",
    "coins": "Old coins.",
    "clock": "A blurred clock.",
    "rocket": "A rocket.",
    "galaxies": "Stars in the sky.",
    "retina": "The retina of an eye.",
    "bricks": "Gray bricks.",
    "grass": "Grass.",
    "gravel": "A floor of gray gravel.",
    "pagoda": "A tower at a lake.",
    "dahlia": "A flower.",
    "officer": "A woman in uniform.",
}


def load(*, project: Project, collection: Collection, manager: User, folder: Path, clock: Clock) -> None:
    """Make what is missing of the references and of what is to be scored against them."""
    import_captions(
        model=BRIEF,
        description=f"{DESCRIPTIONS[BRIEF]} {DISCLAIMER}",
        language="en",
        captions=BRIEF_ENGLISH,
        collection=collection,
        folder=folder,
        clock=clock,
    )
    texts = {"en": ENGLISH, "de": {key: texts.german for key, texts in TEXTS.items()}}
    models = {"en": (MODEL_NAME, BRIEF), "de": MODELS}
    for language, captions in texts.items():
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
