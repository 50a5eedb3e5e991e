"""Read what a trial's run wrote about its image, for the person who began it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.images.selectors import ServedImage, served_image
from core.languages.models import Language
from core.people.models import User
from research.inference.models import Run
from research.inference.selectors.gallery import hidden_from


@dataclass(frozen=True)
class TrialDetails:
    """The image and its captions with their stabilisers. While it is assigned to the viewer, there is none of it."""

    image: ServedImage | None = None
    key: str = ""
    captions: Sequence[tuple[Language, Mapping[str, str]]] = ()


def trial_details(run: Run, viewer: User) -> TrialDetails:
    image = run.trial_image
    assert image is not None
    if hidden_from(viewer, [image.pk]):
        return TrialDetails()
    entry = run.collection.entries.filter(image=image).first()
    return TrialDetails(
        image=served_image(image, viewer),
        key=entry.key if entry else "",
        captions=[
            (language, run.trial_captions[language.tag])
            for language in run.languages.all()
            if language.tag in run.trial_captions
        ],
    )
