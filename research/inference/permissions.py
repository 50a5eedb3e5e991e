"""Who may register models, run them and see what they made: from (user, id) to the row, or 404."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
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
    """
    Raises
    ------
    Http404
        It does not exist, or the user does no research in a project that may use it.
    """
    check_reader(user)
    related = ("english_model", "translator", "variant_of", "created_by", "project")
    return get_object_or_404(models_for(user).select_related(*related), pk=model_id)


def model_to_change(user: User | AnonymousUser, model_id: int) -> CaptioningModel:
    """Find a model of a project that `user` manages, but no variant: it belongs to the owner of its model."""
    check_reader(user)
    models = CaptioningModel.objects.filter(in_charge(user, roles=(Role.MANAGER,)), variant_of=None)
    return get_object_or_404(models.select_related("project"), pk=model_id)


def run_for(user: User | AnonymousUser, run_id: int) -> Run:
    """
    Raises
    ------
    Http404
        It does not exist, or the user may not see it.
    """
    check_reader(user)
    related = ("model", "encoder", "collection", "trial_image", "created_by", "project")
    return get_object_or_404(runs_for(user).select_related(*related).prefetch_related("languages"), pk=run_id)


def run_to_steer(user: User | AnonymousUser, run_id: int) -> Run:
    """Find a run of a project in which `user` is a researcher; a shared one can be seen, but not paused.

    Raises
    ------
    Http404
    """
    check_reader(user)
    runs = runs_for(user).filter(in_charge(user)).select_related("model", "encoder", "collection")
    return get_object_or_404(runs, pk=run_id)


def may_steer(user: User | AnonymousUser, run: Run) -> bool:
    return Run.objects.filter(in_charge(user), pk=run.pk).exists()


def training_for(user: User | AnonymousUser, training_id: int) -> Training:
    """
    Raises
    ------
    Http404
        It does not exist, or the user may not see it.
    """
    check_reader(user)
    related = ("base", "model", "created_by", "project")
    return get_object_or_404(trainings_for(user).select_related(*related), pk=training_id)


def training_to_steer(user: User | AnonymousUser, training_id: int) -> Training:
    """Find a training of a project in which `user` is a researcher.

    Raises
    ------
    Http404
    """
    check_reader(user)
    return get_object_or_404(trainings_for(user).filter(in_charge(user)), pk=training_id)


def may_steer_training(user: User | AnonymousUser, training: Training) -> bool:
    return Training.objects.filter(in_charge(user), pk=training.pk).exists()


def run_to_give(user: User | AnonymousUser, run_id: int) -> Run:
    """Find a run of a project that `user` manages, but no trial: it is its maker's alone."""
    check_reader(user)
    runs = runs_for(user).filter(in_charge(user, roles=(Role.MANAGER,)), trial_image=None).select_related("project")
    return get_object_or_404(runs, pk=run_id)


def may_fill_model(user: User | AnonymousUser, model: CaptioningModel) -> bool:
    """Whether `user` may import captions for the model: they manage its project or do research in it."""
    return CaptioningModel.objects.filter(in_charge(user), pk=model.pk).exists()


def may_change_model(user: User | AnonymousUser, model: CaptioningModel) -> bool:
    """Whether `user` may change the model and, unless it is a variant, its owner."""
    return models_in_charge(user).filter(pk=model.pk).exists()


def may_give_run(user: User | AnonymousUser, run: Run) -> bool:
    return Run.objects.filter(in_charge(user, roles=(Role.MANAGER,)), pk=run.pk, trial_image=None).exists()


def embedding_set_for(user: User | AnonymousUser, set_id: int) -> EmbeddingSet:
    """
    Raises
    ------
    Http404
        It does not exist, or the user may not see it.
    """
    check_reader(user)
    related = ("encoder", "run__collection", "run__project", "captions_of", "language")
    return get_object_or_404(embedding_sets_for(user).select_related(*related), pk=set_id)


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
    """
    Raises
    ------
    Http404
        Also where it exists, for anybody else.
    """
    check_reader(user)
    related = ("model", "image", "language", "switched_off_by")
    return get_object_or_404(captions_to_switch(user).select_related(*related), pk=caption_id)
