"""Named subsets, and the images that an image filter leaves for a project and the language that is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from core.images.models import CollectionImage, Image
from core.images.permissions import collections_in
from core.languages.models import Language
from core.people.models import Project
from geography.codes import is_known
from research.selection.models import ImagePlace, ImagePlaceCode, ImportedRegion, SelectedImage, Subset
from research.selection.rules.image_filters import AREAS, FilterKind, FilterTerm, ImageFilter, ImageFilterError
from research.selection.selectors.tables import table_of
from research.selection.selectors.usage import ImagesUse, uses_by_subset


def images_of(filter: ImageFilter, *, project: Project, language: Language) -> QuerySet[Image] | None:
    """Return the images that match, or None if there is no restriction.

    They are not limited to a collection: use them to restrict captions or images that you have.

    Raises ImageFilterError if the project has no such subset, there is no such language or place, or the project's
    table lacks `language`.
    """
    return None if filter.is_all else images_matching(filter, project=project, language=language)


def images_matching(filter: ImageFilter, *, project: Project, language: Language | None = None) -> QuerySet[Image]:
    """Return the images that match; without a language, the filter must not depend on one."""
    images = Image.objects.order_by()
    for term in filter.terms:
        images = images.filter(_condition(term, project, language))
    return images.only("pk")


def taken_in(term: FilterTerm) -> QuerySet[Image]:
    """Return the images taken in the country, region or continent of a term, which depends on no project.

    Raises ImageFilterError if there is no such place.
    """
    if term.kind is FilterKind.ON:
        return Image.objects.filter(pk__in=ImagePlace.objects.filter(continent=term.value).values("pk")).order_by()
    return Image.objects.filter(_with_codes([_code(term)])).order_by()


def keys_of(subset: Subset) -> list[str]:
    """Return the keys of a subset's images, in alphabetical order; of an image with several, the first."""
    return sorted(keys_by_image(subset.project, subset.images.order_by().values_list("pk", flat=True)).values())


def keys_by_image(project: Project, images: Iterable[int]) -> dict[int, str]:
    """Return the keys that `images` (primary keys, or a query for them) have in the project; of several, the first."""
    entries = CollectionImage.objects.filter(image__in=images, collection__in=collections_in(project)).order_by()
    keys: dict[int, str] = {}
    for image, key in entries.values_list("image", "key"):
        keys[image] = min(keys.get(image, key), key)
    return keys


def check(filter: ImageFilter, *, project: Project) -> ImageFilter:
    """Check what does not depend on a language; return the filter.

    Raises ImageFilterError if the project has no such subset, or there is no such language, country or region.
    """
    for term in filter.terms:
        if term.kind is FilterKind.SUBSET:
            subset_named(project, term.value)
        elif term.kind is FilterKind.CHOSEN and term.value:
            _language(term)
        elif term.kind is FilterKind.IN:
            _code(term)
    return filter


def subset_named(project: Project, slug: str) -> Subset:
    """Find a named subset; raises ImageFilterError with the names that there are."""
    subset = Subset.objects.filter(project=project, slug=slug).first()
    if subset is None:
        known = ", ".join(project.subsets.order_by("slug").values_list("slug", flat=True)[:20]) or _("none yet")
        said = _("This project has no subset “%(slug)s”. Available subsets: %(known)s.")
        raise ImageFilterError(said % {"slug": slug, "known": known})
    return subset


def newest_choices(project: Project) -> QuerySet[SelectedImage]:
    """Return images of confirmed selections; of an image in several, the one that was confirmed last."""
    confirmed = SelectedImage.objects.filter(
        selection__project=project, selection__confirmed_at__isnull=False, image__isnull=False
    ).order_by()
    at = OuterRef("selection__confirmed_at")
    later = Q(selection__confirmed_at__gt=at) | Q(
        selection__confirmed_at=at, selection__pk__gt=OuterRef("selection__pk")
    )
    return confirmed.exclude(Exists(confirmed.filter(later, image=OuterRef("image"))))


def _condition(term: FilterTerm, project: Project, language: Language | None) -> Q:
    if term.kind in AREAS:
        return _in_area(term.kind, project, _given(term, language))
    if term.kind is FilterKind.CHOSEN:
        tag = _language(term) if term.value else _given(term, language).pk
        return Q(pk__in=newest_choices(project).filter(language=tag).values("image"))
    if term.kind is FilterKind.LEVEL:
        return Q(pk__in=newest_choices(project).filter(level=term.value).values("image"))
    if term.kind in (FilterKind.IN, FilterKind.ON):
        return Q(pk__in=taken_in(term).values("pk"))
    return Q(pk__in=subset_named(project, term.value).images.order_by().values("pk"))


def _given(term: FilterTerm, language: Language | None) -> Language:
    if language is None:
        raise ImageFilterError(_("“%(term)s” needs a language.") % {"term": term})
    return language


def _in_area(kind: FilterKind, project: Project, language: Language) -> Q:
    areas = table_of(project).areas.get(language.pk)
    if areas is None:
        said = _("The project’s table of languages says nothing about %(language)s (%(tag)s).")
        raise ImageFilterError(said % {"language": language.english_name, "tag": language.pk})
    if kind is FilterKind.CONTINENT:
        return Q(pk__in=ImagePlace.objects.filter(continent__in=sorted(areas.continent)).values("pk"))
    return _with_codes(sorted(areas.region if kind is FilterKind.REGION else areas.country))


def _with_codes(codes: list[str]) -> Q:
    return Q(pk__in=ImagePlaceCode.objects.filter(code__in=codes).values("image"))


def _code(term: FilterTerm) -> str:
    if not is_known(term.value) and not ImportedRegion.objects.filter(code=term.value).exists():
        said = _("“%(term)s”: there is no country or region %(code)s. Use a code such as IN or IN-WB.")
        raise ImageFilterError(said % {"term": term, "code": term.value})
    return term.value


def _language(term: FilterTerm) -> str:
    if not Language.objects.filter(pk=term.value).exists():
        said = _("“%(term)s”: there is no language %(tag)s.")
        raise ImageFilterError(said % {"term": term, "tag": term.value})
    return term.value


@dataclass(frozen=True)
class SubsetRow:
    """A subset with its number of images and what uses it."""

    subset: Subset
    size: int
    uses: Sequence[ImagesUse]


def subsets_of(project: Project) -> QuerySet[Subset]:
    """Return the subsets of a project by name."""
    return Subset.objects.filter(project=project).select_related("project", "created_by").order_by("name", "pk")


def rows_of(project: Project, subsets: Iterable[Subset]) -> list[SubsetRow]:
    subsets, uses = list(subsets), uses_by_subset(project)
    sizes: dict[int, int] = dict(
        Subset.objects.filter(pk__in=[subset.pk for subset in subsets])
        .order_by()
        .annotate(size=Count("images"))
        .values_list("pk", "size")
    )
    return [SubsetRow(subset, sizes[subset.pk], uses.get(subset.slug, [])) for subset in subsets]
