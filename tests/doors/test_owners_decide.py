"""Who decides to whom a collection, a model or a run belongs, and what keeps it where it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import ProtectedError
from django.test import Client
from django.urls import reverse

from annotation.services.projects import take_over
from core.images.models import Collection, ImportJob, ImportKind
from core.images.services.collections import create_collection, find_or_create_collection, give_collection
from core.people.models import AuditEntry, Membership, Role
from core.people.services.ownership import OwnerRefusedError, _users, is_used_outside
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, Encoder, Run, Translator
from research.inference.services import runs
from tests.doors.asking import signed_in
from tests.doors.owned import Owning, owner_of
from tests.factories import NOW, make_captioner, make_collection, make_project, make_round, make_user
from tests.images.image_files import image_file

pytestmark = pytest.mark.django_db


def owner_page(thing: Any) -> str:
    if isinstance(thing, Collection):
        return reverse("images:collection-owner", args=[thing.slug])
    name = "run" if isinstance(thing, Run) else "model"
    return reverse(f"inference:{name}-owner", args=[thing.pk])


def relations_of(kind: Any) -> list[Any]:
    """Foreign keys to it, hidden ones too."""
    fields = kind._meta.get_fields(include_hidden=True)
    return [field for field in fields if field.auto_created and not field.concrete and not field.many_to_many]


class TestDeciding:
    @pytest.mark.parametrize("name", ["collection", "other", "run"])
    def test_managers_share_what_is_their_projects(self, us: Owning, name: str) -> None:
        thing = getattr(us, name)
        if name == "run":
            us.share()
        sent = {"project": us.project.pk, "is_shared": "on"}
        assert signed_in(us.manager).post(owner_page(thing), sent).status_code == 302
        assert owner_of(thing) == (us.project, True)
        entry = AuditEntry.objects.filter(project=us.project, action="owner.changed").latest("number")
        assert entry.details == {"to": us.project.slug, "shared": True}
        assert str(thing) in entry.about

    @pytest.mark.parametrize("name", ["collection", "model", "run"])
    def test_researchers_decide_nothing(self, us: Owning, name: str) -> None:
        thing = getattr(us, name)
        sent = {"project": us.project.pk, "is_shared": "on"}
        assert signed_in(us.researcher).post(owner_page(thing), sent).status_code == 404
        assert owner_of(thing) == (us.project, False)

    def test_who_manages_both_moves_what_nothing_uses_yet(self, us: Owning, them: Owning) -> None:
        fresh = make_collection(1, project=us.project, is_shared=False)
        client = signed_in(us.manager)
        assert client.post(owner_page(fresh), {"project": them.project.pk}).status_code == 422
        Membership.objects.create(project=them.project, user=us.manager, role=Role.MANAGER)
        assert client.post(owner_page(fresh), {"project": them.project.pk}).status_code == 302
        assert owner_of(fresh) == (them.project, False)
        assert AuditEntry.objects.filter(action="owner.changed").count() == 2

    @pytest.mark.parametrize("name", ["collection", "model", "encoder", "embedding_run"])
    def test_nothing_is_taken_from_the_project_that_uses_it(self, us: Owning, them: Owning, name: str) -> None:
        thing = getattr(us, name)
        assert not is_used_outside(thing, us.project) or name == "encoder"
        assert is_used_outside(thing, them.project) or name == "embedding_run"

    def test_moving_what_is_used_says_why_it_stays(self, us: Owning, them: Owning) -> None:
        Membership.objects.create(project=them.project, user=us.manager, role=Role.MANAGER)
        response = signed_in(us.manager).post(owner_page(us.collection), {"project": them.project.pk})
        assert response.status_code == 422
        assert "Share it with all" in response.text
        assert owner_of(us.collection) == (us.project, False)

    def test_what_others_use_stays_shared(self, us: Owning, them: Owning) -> None:
        us.share()
        make_round(project=them.project, collection=us.collection, captioners=[us.other], language="cs")
        client = signed_in(us.manager)
        for thing in (us.collection, us.other):
            assert client.post(owner_page(thing), {"project": us.project.pk}).status_code == 422
            assert owner_of(thing) == (us.project, True)

    def test_shared_it_goes_over_step_by_step_and_is_closed_again(self, us: Owning, them: Owning) -> None:
        images = make_collection(1, project=us.project, is_shared=False)
        run = Run.objects.create(model=make_captioner(images), collection=images, project=us.project,
                                 queue="gpu", created_at=NOW)  # fmt: skip
        about: dict[str, Any] = {"by": us.manager, "now": NOW}
        with pytest.raises(OwnerRefusedError):
            give_collection(collection=images, project=them.project, is_shared=False, **about)
        give_collection(collection=images, project=us.project, is_shared=True, **about)
        runs.change_owner_of_run(run=run, project=them.project, is_shared=False, **about)
        give_collection(collection=images, project=them.project, is_shared=False, **about)
        assert owner_of(images) == owner_of(run) == (them.project, False)

    def test_a_run_is_shared_no_wider_than_what_it_is_made_of(self, us: Owning) -> None:
        response = signed_in(us.manager).post(owner_page(us.run), {"project": us.project.pk, "is_shared": "on"})
        assert response.status_code == 422
        assert "is not shared with all" in response.text

    def test_variants_go_along_and_have_no_page_of_their_own(self, us: Owning) -> None:
        client = signed_in(us.manager)
        assert client.get(owner_page(us.variant)).status_code == 404
        client.post(owner_page(us.model), {"project": us.project.pk, "is_shared": "on"})
        assert owner_of(us.variant) == owner_of(us.model) == (us.project, True)

    def test_reports_of_images_go_along_with_their_collection(self, us: Owning, them: Owning) -> None:
        images = make_collection(1, project=us.project, is_shared=False)
        job = ImportJob.objects.create(kind=ImportKind.IMAGES, collection=images, project=us.project)
        give_collection(collection=images, project=them.project, is_shared=False, by=None, now=NOW)
        job.refresh_from_db()
        assert job.project == them.project

    def test_what_nobody_owns_is_for_staff(self, us: Owning) -> None:
        images = make_collection(1)
        edit = reverse("images:images-edit", args=[images.slug]) + "?all=1"
        client = signed_in(us.manager)
        assert client.get(reverse("images:collection-show", args=[images.slug])).status_code == 200
        assert client.get(edit).status_code == client.get(owner_page(images)).status_code == 404
        staff = signed_in(make_user("staff", is_staff=True, is_superuser=True))
        assert staff.get(edit).status_code == 200
        assert staff.post(owner_page(images), {"project": us.project.pk}).status_code == 302
        assert owner_of(images) == (us.project, False)
        assert client.get(edit).status_code == 200

    def test_ones_own_is_added_where_it_is_missed_and_what_another_project_has_is_named(
        self, us: Owning, them: Owning
    ) -> None:
        client = signed_in(us.manager)
        own: dict[str, Any] = {"is_shared": False, "created_by": us.manager}
        images = make_collection(1, project=us.project, **own)
        made = [make_captioner(images, name, **own) for name in ("first", "second")]
        page = f"{reverse('sxs_eval:comparison-create', args=[us.project.slug])}?collection={images.slug}"
        for model in made:
            text = client.get(page).text
            assert "Add it" in text
            assert "manager must" not in text
            sent = {"project": us.project.pk, "next": page}
            assert client.post(owner_page(model), sent)["Location"] == page
        assert "Base model" in client.get(page).text
        Membership.objects.create(project=them.project, user=us.manager, role=Role.MANAGER)
        text = client.get(page.replace(images.slug, them.collection.slug)).text
        for name in (them.collection.name, them.project.name, us.project.name):
            assert f"“{name}”" in text
        assert f"{owner_page(them.collection)}?next=" in text
        assert signed_in(us.researcher).get(page).status_code == 200

    def test_a_new_project_says_what_it_takes_and_which_project_has_the_rest(self, us: Owning) -> None:
        text = signed_in(us.manager).get(reverse("annotation:project-create"), {"collection": us.collection.slug}).text
        assert f"“{us.collection.name}” belongs to the project “{us.project.name}”" in text
        assert f"{owner_page(us.collection)}?next=" in text

    def test_every_kind_that_can_be_used_says_so(self) -> None:
        """A new foreign key to one of these needs a line in its app's `ready`, or a reason here."""
        named = {
            "images.CollectionImage.collection", "images.ImportJob.collection", "images.Collection_images.collection",
            "inference.CaptioningModel.variant_of", "inference.ModelCaption.model", "inference.ModelCaption.run",
            "inference.Stabiliser.model", "inference.Chunk.run", "inference.RunFailure.run",
            "inference.RunEvent.run", "inference.Worker.run", "inference.Run_languages.run",
            "inference.Training.model", "inference.EmbeddingSet.run", "inference.EmbeddingSet.encoder",
        }  # fmt: skip
        used: dict[Any, set[str]] = {
            Collection: {"Round", "Comparison", "ItemSet", "ReferenceSet", "Run", "Selection", "LanguageCollection"},
            CaptioningModel: {
                "Round_captioners",
                "Comparison",
                "Scoring",
                "Run",
                "EmbeddingSet",
                "CaptioningModel",
                "Training",
            },
            Encoder: {"Scoring", "Run"},
            Translator: {"CaptioningModel", "CaptionGloss", "GlossRequest", "MessageGloss", "ReferenceTranslation"},
            Run: set(),
        }
        for kind, expected in used.items():
            kinds = set()
            for relation in relations_of(kind):
                model, field = relation.related_model, relation.field.name
                if f"{model._meta.label}.{field}" not in named:
                    kinds.add(model.__name__)
            assert kinds == expected, kind
            assert len(_users[kind]) >= len(expected)


class TestMaking:
    def make(self, client: Client, **sent: Any) -> Any:
        return client.post(reverse("images:collection-create"), {"name": "New"} | sent)

    def test_it_belongs_to_the_project_chosen(self, us: Owning) -> None:
        self.make(signed_in(us.manager), project=us.project.pk)
        assert owner_of(Collection.objects.get(name="New")) == (us.project, False)

    def test_shared_with_all_it_is_still_the_projects(self, us: Owning) -> None:
        self.make(signed_in(us.manager), project=us.project.pk, is_shared="on")
        assert owner_of(Collection.objects.get(name="New")) == (us.project, True)

    def test_only_managers_share(self, us: Owning) -> None:
        address = reverse("inference:model-create") + "?kind=palette"
        sent = {"name": "New", "project": us.project.pk, "is_shared": "on"}
        researcher = signed_in(us.researcher)
        assert "is_shared" not in researcher.get(address).context["form"].fields
        researcher.post(address, sent)
        assert owner_of(CaptioningModel.objects.get(name="New")) == (us.project, False)

    def test_who_manages_one_project_shares_nothing_of_another(self, us: Owning, them: Owning) -> None:
        Membership.objects.create(project=them.project, user=us.manager, role=Role.RESEARCHER)
        response = self.make(signed_in(us.manager), project=them.project.pk, is_shared="on")
        assert response.status_code == 422
        assert "is_shared" in response.context["form"].errors

    def test_a_researcher_of_one_project_is_not_asked_which_and_of_several_it_has_to_be_said(
        self, us: Owning, them: Owning
    ) -> None:
        signed_in(us.researcher).post(reverse("inference:model-create") + "?kind=palette", {"name": "New"})
        assert owner_of(CaptioningModel.objects.get(name="New")) == (us.project, False)
        Membership.objects.create(project=them.project, user=us.researcher, role=Role.RESEARCHER)
        address = reverse("inference:model-create") + "?kind=palette"
        response = signed_in(us.researcher).post(address, {"name": "New"})
        assert "project" in response.context["form"].errors

    def test_a_run_belongs_where_its_parts_do_and_parts_of_two_projects_make_none(
        self, us: Owning, them: Owning
    ) -> None:
        Membership.objects.create(project=them.project, user=us.manager, role=Role.MANAGER)
        asked: dict[str, Any] = {"model": us.model.pk, "collection": us.collection.slug}
        form = signed_in(us.manager).get(reverse("inference:run-create"), asked).context["form"]
        assert list(form.fields["project"].queryset) == [us.project]
        assert "is_shared" not in form.fields
        query = f"?model={us.model.pk}&collection={them.collection.slug}"
        decoding = {name: value for name, value in Decoding().stored().items() if name != "is_consistent"}
        sent = {"languages": ["en"], **decoding}
        response = signed_in(us.manager).post(reverse("inference:run-create") + query, sent)
        assert "different projects" in str(response.context["form"].errors)
        assert Run.objects.filter(model=us.model).count() == 1

    def test_what_is_made_before_its_project_goes_into_it(self, us: Owning) -> None:
        """A collection and captions come first, and then the project that is started with them."""
        manager = signed_in(us.manager)
        self.make(manager, name="Fresh")
        images = Collection.objects.get(name="Fresh")
        assert owner_of(images) == (None, False)
        address = reverse("images:collection-show", args=[images.slug])
        other = make_user()
        Membership.objects.create(project=us.project, user=other, role=Role.MANAGER)
        assert manager.get(address).status_code == 200
        assert signed_in(other).get(address).status_code == 404
        model = make_captioner(images, "New too", is_shared=False, created_by=us.manager)
        run = Run.objects.create(model=model, collection=images, queue="x", created_at=NOW, created_by=us.manager)
        assert images.name in manager.get(reverse("annotation:project-create")).text
        assert images.name not in signed_in(other).get(reverse("annotation:project-create")).text
        project = make_project()
        take_over(project=project, collection=images, captioners=[model], by=us.manager, now=NOW)
        assert owner_of(images) == owner_of(model) == owner_of(run) == (project, False)

    def test_a_new_project_takes_nothing_that_another_has(self, us: Owning) -> None:
        """Not even its own manager's other project's: that is shared first."""
        page = signed_in(us.manager).get(reverse("annotation:project-create"))
        assert us.collection not in page.context["form"].fields["collection"].queryset


class TestDeletion:
    def test_a_project_is_not_deleted_while_it_owns_something(self, us: Owning) -> None:
        project = make_project()
        images = create_collection(name="Last", project=project)
        with pytest.raises(ProtectedError):
            project.delete()
        give_collection(collection=images, project=us.project, is_shared=False, by=None, now=NOW)
        AuditEntry.objects.filter(project=project).delete()
        project.delete()
        assert owner_of(images) == (us.project, False)

    def test_reports_go_with_their_project(self) -> None:
        project = make_project()
        job = ImportJob.objects.create(kind=ImportKind.CAPTIONS, project=project)
        project.delete()
        assert not ImportJob.objects.filter(pk=job.pk).exists()


class TestCommands:
    def test_what_a_command_makes_is_shared_or_of_the_project_named(self, us: Owning, tmp_path: Any) -> None:
        (tmp_path / "a.jpg").write_bytes(image_file())
        call_command("import", str(tmp_path), collection="For all")
        call_command("import", str(tmp_path), collection="For one", project=us.project.slug)
        assert owner_of(Collection.objects.get(name="For all")) == (None, True)
        assert owner_of(Collection.objects.get(name="For one")) == (us.project, False)
        lines = tmp_path / "a.jsonl"
        lines.write_text('{"image": "a", "caption": "x"}\n', encoding="utf-8")
        about = {"language": "en", "collection": "For all"}
        call_command("import", str(lines), model="For all", **about)
        call_command("import", str(lines), model="For one", project=us.project.slug, **about)
        assert owner_of(CaptioningModel.objects.get(name="For all")) == (None, True)
        assert owner_of(CaptioningModel.objects.get(name="For one")) == (us.project, False)

    def test_a_name_that_several_have_needs_its_project(self, us: Owning, them: Owning) -> None:
        Collection.objects.filter(pk=us.collection.pk).update(name=them.collection.name)
        about = {"model": us.model.name, "languages": ["en"]}
        with pytest.raises(CommandError, match="Say which with --project"):
            call_command("caption_images", them.collection.name, **about)
        assert find_or_create_collection(them.collection.name, project=us.project) == us.collection

    def test_operators_give_what_has_no_page(self, us: Owning, them: Owning) -> None:
        fresh = Encoder.objects.create(name=them.encoder.name, backend="mobilenet", is_shared=True)
        with pytest.raises(CommandError, match="Say which with --of"):
            call_command("set_owner", "encoder", fresh.name, project=us.project.slug)
        Encoder.objects.filter(pk=fresh.pk).update(name="Fresh")
        call_command("set_owner", "encoder", "Fresh", project=us.project.slug)
        assert owner_of(fresh) == (us.project, False)
        for kind, thing in (("collection", us.collection), ("model", us.model)):
            call_command("set_owner", kind, str(thing), project=us.project.slug, shared=True)
            assert owner_of(thing) == (us.project, True)
        call_command("set_owner", "run", str(us.run.pk), shared=True)
        assert owner_of(us.run) == (None, True)

    def test_operators_are_told_what_cannot_be_and_which_project_is_not_there(
        self, us: Owning, them: Owning, tmp_path: Any
    ) -> None:
        for kind, name, options, said in (
            ("collection", str(us.collection), {"project": them.project.slug}, "is used by other projects too"),
            ("model", str(us.variant), {"shared": True}, "is a variant of"),
            ("run", "0", {"shared": True}, "no run 0"),
            ("translator", "zebra translator", {}, "Give --project, --shared or both"),
        ):
            with pytest.raises(CommandError, match=said):
                call_command("set_owner", kind, name, **options)
        with pytest.raises(CommandError, match="no project 'nowhere'"):
            call_command("import", str(tmp_path), collection="x", project="nowhere")
