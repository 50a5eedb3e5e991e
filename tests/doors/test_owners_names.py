"""What one project learns of another by trying: names, images, reports."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from core.images.models import Collection, ImportJob, ImportKind, ImportOutcome
from core.images.rules.sizes import sizes_of
from core.images.selectors import served_image
from core.images.services import file_storage
from core.images.services.imports import import_path
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.models import Membership
from core.people.selectors.projects import roles_of
from core.people.services.ownership import OwnerRefusedError
from research.inference.backends.captioners import BackendSettingsError, Decoding
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, ModelCaption, Translator
from research.inference.services import encoders, models, runs
from research.inference.services.steering import WorkRefusedError
from tests.doors.asking import signed_in
from tests.doors.owned import Owning, body_of, owner_of
from tests.factories import NOW, make_annotator, make_collection, make_project, make_user
from tests.images.image_files import image_file
from tests.imports.sent import confirmed, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

GERMAN = "de"


class TestNames:
    """Names are one's own business: nobody learns by trying which others have."""

    def test_two_projects_may_use_one_name(self, us: Owning, them: Owning) -> None:
        client = signed_in(us.manager)
        about = {"project": us.project.pk}
        client.post(reverse("images:collection-create"), {"name": them.collection.name, **about})
        client.post(reverse("inference:model-create") + "?kind=palette", {"name": them.model.name, **about})
        encoder = {"name": them.encoder.name, "backend": "mobilenet", **about}
        client.post(reverse("inference:encoder-create"), encoder)
        for kind, name in ((Collection, them.collection.name), (CaptioningModel, them.model.name)):
            assert set(kind.objects.filter(name=name).values_list("project__slug", flat=True)) == {"zebra", "giraffe"}
        assert Encoder.objects.filter(name=them.encoder.name).count() == 2
        slug = Collection.objects.get(name=them.collection.name, project=us.project).slug
        assert slug.startswith("giraffe-images-")
        assert not slug.endswith("-2")

    def test_what_is_shared_goes_by_a_name_that_nobody_takes_again(self, us: Owning, them: Owning) -> None:
        them.share()
        client = signed_in(us.manager)
        for address, name in (
            (reverse("images:collection-create"), them.collection.name),
            (reverse("inference:model-create") + "?kind=palette", them.model.name),
        ):
            assert client.post(address, {"name": name, "project": us.project.pk}).status_code == 422

    def test_one_that_is_shared_later_may_go_by_anothers_name(self, us: Owning, them: Owning) -> None:
        CaptioningModel.objects.filter(pk=us.other.pk).update(name=them.other.name)
        models.give_model(model=us.other, project=us.project, is_shared=True, by=us.manager, now=NOW)
        assert owner_of(us.other) == (us.project, True)
        with pytest.raises(OwnerRefusedError):
            models.give_model(model=them.other, project=them.project, is_shared=True, by=them.manager, now=NOW)

    def test_captions_under_a_name_of_theirs_make_a_model_of_ones_own(self, us: Owning, them: Owning) -> None:
        wish = {"model": them.model.name, "language": GERMAN, "collection": us.collection.slug}
        run(confirmed(b'{"image": "zebra-1", "caption": "Ein Zebra."}\n', project=us.project, **wish))
        made = CaptioningModel.objects.get(name=them.model.name, project=us.project)
        assert made.captions.count() == 1
        assert not them.model.captions.filter(language=GERMAN).exists()

    def test_a_model_in_no_project_comes_along_with_captions_for_one(self, us: Owning) -> None:
        own = CaptioningModel.objects.create(name="own", created_by=us.manager)
        content = b'{"image": "zebra-1", "caption": "Ein Zebra."}\n'
        run(confirmed(content, project=us.project, by=us.manager, model="own", language=GERMAN))
        assert list(CaptioningModel.objects.filter(name="own")) == [own]
        assert owner_of(own) == (us.project, False)
        assert own.captions.count() == 1

    def test_captions_of_a_shared_model_are_added_by_its_own_people(self, us: Owning, them: Owning) -> None:
        them.share()
        for owning, outcome in ((us, ImportOutcome.REJECTED), (them, ImportOutcome.ADDED)):
            content = f'{{"image": "{owning.word}-1", "caption": "x"}}\n'.encode()
            wish = {"model": them.other.name, "language": GERMAN}
            job = run(confirmed(content, project=owning.project, by=owning.manager, **wish))
            assert job.parts.get().rows.get().outcome == outcome

    def test_images_of_theirs_are_unknown_to_an_import(self, us: Owning, them: Owning) -> None:
        digest = them.collection.entries.first().image.sha256
        content = f'{{"image": "giraffe-1", "caption": "x"}}\n{{"image": "{digest}", "caption": "x"}}\n'
        job = run(
            confirmed(content.encode(), project=us.project, by=us.manager, model="x", language=GERMAN)
        ).parts.get()
        assert set(job.rows.values_list("outcome", flat=True)) == {ImportOutcome.REJECTED}
        assert {"No image has the key" in row.reason for row in job.rows.all()} == {True}

    def test_an_image_that_they_have_is_taken_without_a_word(self, us: Owning, them: Owning, tmp_path: Any) -> None:
        folder = tmp_path / "images"
        folder.mkdir()
        (folder / "a.jpg").write_bytes(image_file())
        about: dict[str, Any] = {"path": folder, "clock": timezone.now, "announce": lambda image: None}
        import_path(collection=them.collection, **about)
        assert import_path(collection=us.collection, **about).rows.get().reason == ""
        again = make_collection(0, project=us.project, is_shared=False)
        assert "stored only once" in import_path(collection=again, **about).rows.get().reason

    def test_a_rival_run_of_theirs_has_no_number(self, us: Owning, them: Owning) -> None:
        images = make_collection(1)
        model = models.register_model(name="Shared", backend="palette", is_shared=True, by=None)
        about: dict[str, Any] = {"model": model, "collection": images, "decoding": Decoding(), "now": NOW}
        languages = Language.objects.filter(pk="en")
        run = runs.start(**about, languages=languages, project=them.project, by=them.manager)
        with pytest.raises(WorkRefusedError) as refused:
            runs.start(**about, languages=languages, project=us.project, by=us.manager)
        assert str(run.pk) not in str(refused.value)
        with pytest.raises(WorkRefusedError, match=f"Run {run.pk} "):
            runs.start(**about, languages=languages, project=them.project, by=them.manager)

    def test_variants_of_a_shared_model_are_shared(self, us: Owning, them: Owning) -> None:
        them.share()
        images = make_collection(1)
        decoding = [Decoding(), Decoding(beams=5)]
        model = models.register_model(name="Shared", backend="palette", project=them.project, is_shared=True, by=None)
        made = [
            runs.start(
                model=model, collection=images, languages=[Language.objects.get(pk="en")], decoding=one,
                project=us.project, by=us.manager, now=NOW,
            )
            for one in decoding
        ]  # fmt: skip
        assert owner_of(made[1].model) == (them.project, True)
        assert made[1].model.variant_of == model

    @pytest.mark.postgres
    @pytest.mark.parametrize("kind", [CaptioningModel, Encoder, Translator])
    def test_names_are_unique_where_they_are_seen_together(self, kind: Any) -> None:
        project, maker = make_project(), make_user()
        for owner in ({"project": project}, {"is_shared": True}, {"created_by": maker}):
            kind._default_manager.create(name="Twice", backend="x", **owner)
            with pytest.raises(IntegrityError), transaction.atomic():
                kind._default_manager.create(name="Twice", backend="x", **owner)

    def test_registering_a_name_of_theirs_is_no_error(self, us: Owning, them: Owning) -> None:
        about: dict[str, Any] = {"project": us.project, "by": us.manager}
        models.register_model(name=them.model.name, backend="palette", **about)
        encoders.register(name=them.encoder.name, backend="mobilenet", **about)
        with pytest.raises(BackendSettingsError):
            models.register_model(name=us.model.name, backend="palette", **about)


class TestPictures:
    def test_annotators_see_the_images_of_their_batches(self, us: Owning) -> None:
        """Whose the collection is makes no difference: an address is signed for who was shown the image."""
        annotator = make_annotator(us.project.rounds.first())
        image = us.collection.entries.first().image
        for size in sizes_of(image.width, image.height):
            file_storage.put(file_storage.size_name(image.public_id, size), image_file("WEBP", size=(10, 8)))
        address = served_image(image, annotator).large
        assert signed_in(annotator).get(address).status_code == 200
        assert signed_in(us.manager).get(address).status_code == 404


class TestReports:
    def test_who_sent_a_file_and_left_sees_its_report_no_longer(self, us: Owning) -> None:
        job = ImportJob.objects.create(
            kind=ImportKind.REFERENCES, project=us.project, created_by=us.researcher, state=JobState.DONE
        )
        client, address = signed_in(us.researcher), reverse("images:import-show", args=[job.pk])
        assert client.get(address).status_code == 200
        Membership.objects.filter(user=us.researcher).delete()
        assert roles_of(us.researcher) == set()
        assert client.get(address).status_code == 404

    def test_reports_on_a_shared_collection_are_of_those_who_sent_the_files(self, us: Owning, them: Owning) -> None:
        them.share()
        job = ImportJob.objects.create(
            kind=ImportKind.REFERENCES, collection=them.collection, project=us.project, source_name="ours.jsonl"
        )
        address = reverse("images:import-list", args=[them.collection.slug])
        ours, theirs = signed_in(us.manager).get(address).text, signed_in(them.manager).get(address).text
        assert (job.source_name in ours, "giraffe.jsonl" in ours) == (True, False)
        assert (job.source_name in theirs, "giraffe.jsonl" in theirs) == (False, True)


def test_vectors_of_captions_that_are_theirs_are_not_seen(us: Owning, them: Owning) -> None:
    """Also where the images and the encoder are shared."""
    them.share()
    CaptioningModel.objects.filter(pk=them.other.pk).update(is_shared=False)
    vectors = EmbeddingSet.objects.get(run=them.embedding_run)
    EmbeddingSet.objects.filter(pk=vectors.pk).update(captions_of=them.other, language="en")
    address = reverse("inference:embedding-show", args=[vectors.pk])
    assert signed_in(us.researcher).get(address).status_code == 404
    assert signed_in(them.researcher).get(address).status_code == 200
    assert them.other.name not in body_of(signed_in(us.researcher).get(reverse("inference:embedding-list")))
    assert ModelCaption.objects.filter(model=them.other).exists()
