"""Who may register models, run them and see what they made: from (user, id) to the row, or 404."""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet
from django.shortcuts import get_object_or_404

from core.images.models import Image
from core.images.permissions import collections_to_use
from core.people.models import Project, Role, User
from core.people.permissions import check_reader, in_charge, in_reach, usable_in
from research.inference.models import (
    IMPORTED,
    CaptioningModel,
    EmbeddingSet,
    Encoder,
    ModelCaption,
    Run,
    Training,
    Translator,
)

Row = TypeVar("Row", bound=Model)


def models_for(user: User | AnonymousUser) -> QuerySet[CaptioningModel]:
    """Models that `user`, a researcher in some project, may see and run."""
    return CaptioningModel.objects.filter(in_reach(user))


def models_in(project: Project | int | None, *, by: User | None = None) -> QuerySet[CaptioningModel]:
    """Models whose captions `project` may use; without a project, those that `by` may start one with."""
    return CaptioningModel.objects.filter(usable_in(project, by=by))


def translators_for(user: User | AnonymousUser) -> QuerySet[Translator]:
    return Translator.objects.filter(in_reach(user))


def encoders_for(user: User | AnonymousUser) -> QuerySet[Encoder]:
    return Encoder.objects.filter(in_reach(user))


def runs_for(user: User | AnonymousUser) -> QuerySet[Run]:
    """Runs that `user` may see, along with their collections and models; of trials, those that they began."""
    of = (Q(model=None) | in_reach(user, "model__")) & (Q(encoder=None) | in_reach(user, "encoder__"))
    own = Q(trial_image=None) | Q(created_by=user.pk)
    return Run.objects.filter(in_reach(user), in_reach(user, "collection__"), of, own)


def trainings_for(user: User | AnonymousUser) -> QuerySet[Training]:
    """Trainings that `user`, a researcher in some project, may see."""
    return Training.objects.filter(in_reach(user))


def embedding_sets_for(user: User | AnonymousUser) -> QuerySet[EmbeddingSet]:
    of_captions = Q(captions_of=None) | in_reach(user, "captions_of__")
    return EmbeddingSet.objects.filter(of_captions, run__in=runs_for(user).values("pk"))


def model_for(user: User | AnonymousUser, model_id: int) -> CaptioningModel:
    related = ("english_model", "translator", "variant_of", "created_by", "project")
    return _readable(models_for(user).select_related(*related), model_id, by=user)


def model_to_change(user: User | AnonymousUser, model_id: int) -> CaptioningModel:
    """Find a model of a project that `user` manages, but no variant: it belongs to the owner of its model."""
    return _readable(models_in_charge(user).filter(variant_of=None).select_related("project"), model_id, by=user)


def run_for(user: User | AnonymousUser, run_id: int) -> Run:
    related = ("model", "encoder", "collection", "trial_image", "created_by", "project")
    return _readable(runs_for(user).select_related(*related).prefetch_related("languages"), run_id, by=user)


def run_to_steer(user: User | AnonymousUser, run_id: int) -> Run:
    """Find a run of a project in which `user` is a researcher; a shared one can be seen, but not paused."""
    runs = runs_for(user).filter(in_charge(user)).select_related("model", "encoder", "collection")
    return _readable(runs, run_id, by=user)


def run_to_give(user: User | AnonymousUser, run_id: int) -> Run:
    """Find a run of a project that `user` manages, but no trial: it is its maker's alone."""
    return _readable(_runs_to_give(user).select_related("project"), run_id, by=user)


def may_give_run(user: User | AnonymousUser, run: Run) -> bool:
    return _runs_to_give(user).filter(pk=run.pk).exists()


def _runs_to_give(user: User | AnonymousUser) -> QuerySet[Run]:
    return runs_for(user).filter(in_charge(user, roles=(Role.MANAGER,)), trial_image=None)


def training_for(user: User | AnonymousUser, training_id: int) -> Training:
    return _readable(trainings_for(user).select_related("base", "model", "created_by", "project"), training_id, by=user)


def training_to_steer(user: User | AnonymousUser, training_id: int) -> Training:
    """Find a training of a project in which `user` is a researcher."""
    return _readable(trainings_for(user).filter(in_charge(user)), training_id, by=user)


def may_steer(user: User | AnonymousUser, thing: Run | Training | CaptioningModel) -> bool:
    """Whether `user` manages the project that it belongs to, or does research in it: they may fill a model, too."""
    return type(thing)._default_manager.filter(in_charge(user), pk=thing.pk).exists()


def may_change_model(user: User | AnonymousUser, model: CaptioningModel) -> bool:
    """Whether `user` may change the model and, unless it is a variant, its owner."""
    return models_in_charge(user).filter(pk=model.pk).exists()


def embedding_set_for(user: User | AnonymousUser, set_id: int) -> EmbeddingSet:
    related = ("encoder", "run__collection", "run__project", "captions_of", "language")
    return _readable(embedding_sets_for(user).select_related(*related), set_id, by=user)


def models_in_charge(user: User | AnonymousUser) -> QuerySet[CaptioningModel]:
    """Models of projects that `user` manages: they decide about their captions."""
    return CaptioningModel.objects.filter(in_charge(user, roles=(Role.MANAGER,)))


def namesakes_of(user: User | AnonymousUser, model: CaptioningModel) -> QuerySet[CaptioningModel]:
    """Other models of its name whose captions were imported, too, and about which `user` decides."""
    if model.backend != IMPORTED:
        return CaptioningModel.objects.none()
    others = models_in_charge(user).exclude(pk=model.pk)
    return others.filter(name=model.name, backend=IMPORTED).select_related("project").order_by("pk")


def captions_to_switch(user: User | AnonymousUser) -> QuerySet[ModelCaption]:
    """Captions that `user` may switch off: they manage the project of the model and can see an image's collection."""
    return ModelCaption.objects.filter(
        model__in=models_in_charge(user).values("pk"),
        image__in=Image.objects.filter(collections__in=collections_to_use(user)).values("pk"),
    )


def caption_to_switch(user: User | AnonymousUser, caption_id: int) -> ModelCaption:
    related = ("model", "image", "language", "switched_off_by")
    return _readable(captions_to_switch(user).select_related(*related), caption_id, by=user)


def _readable(rows: QuerySet[Row], pk: int, *, by: User | AnonymousUser) -> Row:
    """Raises Http404: it is not among `rows`, or the user does no research in any project."""
    check_reader(by)
    return get_object_or_404(rows, pk=pk)
