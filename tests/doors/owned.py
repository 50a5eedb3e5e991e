"""Projects with a collection, models, runs and imports of their own, each with a manager and a researcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.images.models import Collection, ImportJob, ImportKind, ImportOutcome
from core.jobs.models import JobState
from core.people.models import Membership, Project, Role, User
from research.inference.models import CaptioningModel, Encoder, ModelCaption, Run, RunFailure, RunState, Translator
from tests.factories import (
    NOW,
    make_captioner,
    make_collection,
    make_comparison,
    make_item_set,
    make_language,
    make_project,
    make_round,
    make_user,
)
from tests.inference.embedded import put_set, put_training
from tests.scoring.scored import make_references, make_scoring


@dataclass
class Owning:
    """All names of what it has hold `word`; `known` are the arguments of addresses."""

    word: str
    project: Project
    manager: User
    researcher: User
    collection: Collection
    model: CaptioningModel
    other: CaptioningModel
    variant: CaptioningModel
    translated: CaptioningModel
    encoder: Encoder
    run: Run
    embedding_run: Run
    job: ImportJob
    known: Mapping[str, Sequence[object]]

    @property
    def owned(self) -> Sequence[Any]:
        """Everything that the project itself owns."""
        models = (self.model, self.other, self.variant, self.translated, self.translated.translator)
        return (self.collection, *models, self.encoder, self.run, self.embedding_run)

    def share(self) -> None:
        for thing in self.owned:
            type(thing).objects.filter(pk=thing.pk).update(is_shared=True)


def make_owning(word: str) -> Owning:
    manager, researcher = make_user(f"{word}-manager"), make_user(f"{word}-researcher")
    project = make_project(word, manager=manager)
    Membership.objects.create(project=project, user=researcher, role=Role.RESEARCHER)
    own: dict[str, Any] = {"project": project, "is_shared": False, "created_by": manager}
    collection = make_collection(3, **own)
    Collection.objects.filter(pk=collection.pk).update(name=f"{word} images", slug=f"{word}-images")
    collection.refresh_from_db()
    for entry in collection.entries.all():
        entry.key, entry.file_name = f"{word}-{entry.position}", f"{word}-{entry.position}.jpg"
        entry.save()
        entry.image.title, entry.image.author = f"{word} at sea", f"{word} by hand"
        entry.image.save()
    model = make_captioner(collection, f"{word} captioner", text=word, backend="palette", **own)
    ModelCaption.objects.filter(model=model).update(stabiliser=f"{word} stabiliser")
    other = make_captioner(collection, f"{word} rival", text=f"{word} too", **own)
    variant = CaptioningModel.objects.create(name=f"{word} variant", variant_of=model, backend="palette", **own)
    translator = Translator.objects.create(name=f"{word} translator", backend="endpoint", source="lab", **own)
    about = {"english_model": model, "translator": translator, "backend": "translated"}
    translated = CaptioningModel.objects.create(name=f"{word} translated", **about, **own)
    encoder = Encoder.objects.create(name=f"{word} encoder", backend="mobilenet", signature=word, **own)
    done = {"collection": collection, "queue": "gpu", "state": RunState.DONE, "created_at": NOW, "total": 3}
    run = Run.objects.create(model=model, failed=1, **done, **own)
    image = collection.entries.first().image
    RunFailure.objects.create(run=run, image=image, language_id="de", reason=f"{word} failed", at=NOW)
    vectors = put_set(encoder, collection, [[1.0, float(number)] for number in range(3)])
    embedding_run = vectors.run
    Run.objects.filter(pk=embedding_run.pk).update(**own)
    training = put_training({image: f"{word} sample"}, name=f"{word} training", base=model, card=f"# {word}", **own)
    job = ImportJob.objects.create(
        kind=ImportKind.CAPTIONS, collection=collection, source_name=f"{word}.jsonl", state=JobState.DONE,
        project=project, created_by=manager,
    )  # fmt: skip
    job.rows.create(number=1, name=f"{word}.jpg", outcome=ImportOutcome.REJECTED, reason=f"{word} is broken.")
    round = make_round(project=project, collection=collection, captioners=[model])
    comparison = make_comparison(project=project, collection=collection, base=model, test=other, language="en")
    items = make_item_set(project=project)
    own_items = {"project": project, "is_shared": False, "name": f"{word} items", "slug": f"{word}-items"}
    Collection.objects.filter(pk=items.collection_id).update(**own_items)
    references = make_references(project=project, collection=collection, language="en", name=f"{word} said")
    scoring = make_scoring(references, model=model)
    known: dict[str, Sequence[object]] = {
        "slug": [project.slug],
        "model_id": [model.pk],
        "run_id": [run.pk],
        "training_id": [training.pk],
        "job_id": [job.pk],
        "public_id": [image.public_id],
        "round_id": [round.pk],
        "comparison_id": [comparison.pk],
        "item_set_id": [items.pk],
        "set_id": [references.pk],
        "scoring_id": [scoring.pk],
        "list_slug": ["world"],
        "tag": [make_language().pk],
        "layout": ["csv"],
        "inference:embedding-show set_id": [vectors.pk],
        "inference:embedding-neighbours set_id": [vectors.pk],
        "inference:caption-switch caption_id": [ModelCaption.objects.filter(model=model).latest("pk").pk],
        "inference:stabilisers-export slug": [collection.slug],
    }
    known |= {f"dashboard:collection-{name} slug": [collection.slug] for name in ("settings", "duplicate", "delete")}
    known |= {f"images:{name} slug": [collection.slug] for name in OF_COLLECTIONS}
    return Owning(
        word, project, manager, researcher, collection, model, other, variant, translated, encoder, run, embedding_run,
        job, known,
    )  # fmt: skip


OF_COLLECTIONS = (
    *("collection-show", "collection-owner", "import-list"),
    *("images-edit", "collection-image-show", "collection-image-edit"),
)


def owner_of(thing: Any) -> tuple[Project | None, bool]:
    thing.refresh_from_db()
    return thing.project, thing.is_shared


def body_of(response: Any) -> str:
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return f"{content.decode(errors='replace')} {dict(response.headers)}"
