"""Which images are examples, and for whom: work on them would not be independent of the right answers."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Round, RoundKind
from core.images.models import CollectionImage, Image
from core.people.models import Membership, Project, User
from office.practice.models import PracticeAttempt, PracticeItem, PracticeSet
from office.practice.permissions import KINDS_OF
from sxs_eval.models import Pair

_NEWER = PracticeSet.objects.filter(
    project=OuterRef("practice__project"), kind=OuterRef("practice__kind"), version__gt=OuterRef("practice__version")
)


def images_of_examples(project: Project) -> QuerySet[PracticeItem, int]:
    """Return the images of the examples that people in `project` practise with now."""
    return PracticeItem.objects.filter(~Exists(_NEWER), practice__project=project).values_list("image", flat=True)


def images_kept_from(person: User) -> QuerySet[PracticeItem, int]:
    """Return the images that `person` began to practise with, ever and anywhere, or may be shown in their projects."""
    begun = PracticeAttempt.objects.filter(person=person, practice=OuterRef("practice"))
    role = Membership.objects.filter(user=person, project=OuterRef("practice__project"), role__in=KINDS_OF)
    return PracticeItem.objects.filter(Q(Exists(begun)) | (Q(Exists(role)) & ~Exists(_NEWER))).values_list(
        "image", flat=True
    )


def images_in_work(project: Project) -> QuerySet[Image]:
    """Return the images that people describe or compare in `project`: practice would show them captions of these."""
    captioned = Round.objects.filter(project=project).exclude(kind=RoundKind.VERIFICATION).values("collection")
    described = CollectionImage.objects.filter(collection__in=captioned).values("image")
    compared = Pair.objects.filter(comparison__project=project).values("image")
    return Image.objects.filter(Q(pk__in=described) | Q(pk__in=compared))
