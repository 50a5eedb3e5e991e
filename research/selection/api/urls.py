"""Addresses of choosing images by place under /api/v1/."""

from django.urls import path

from research.selection.api import candidates, places, selections, subsets, tables

SELECTIONS = "projects/<slug:slug>/selections"
SUBSETS = "projects/<slug:slug>/subsets"

urlpatterns = [
    path(f"{SELECTIONS}/", selections.selection_list_or_start, name="selection-list"),
    path(f"{SELECTIONS}/<int:number>/", selections.selection_show_or_discard, name="selection-show"),
    path(f"{SELECTIONS}/<int:number>/confirm/", selections.selection_confirm, name="selection-confirm"),
    path(f"{SELECTIONS}/<int:number>/exchange/", selections.selected_exchange, name="selected-exchange"),
    path(f"{SELECTIONS}/<int:number>/images/", selections.selected_list, name="selected-list"),
    path(
        "projects/<slug:slug>/language-table/",
        tables.language_table_show_or_change,
        name="language-table",
    ),
    path("projects/<slug:slug>/candidates/", candidates.candidates_list, name="candidates-list"),
    path("projects/<slug:slug>/candidates/<slug:list_slug>/", candidates.candidates_delete, name="candidates-delete"),
    path("collections/<slug:slug>/places/", places.places_show_or_look_up, name="places-show"),
    path(f"{SUBSETS}/", subsets.subset_list_or_make, name="subset-list"),
    path(
        f"{SUBSETS}/<slug:subset_slug>/",
        subsets.subset_show_or_change,
        name="subset-show",
    ),
    path(f"{SUBSETS}/<slug:subset_slug>/images/", subsets.subset_images, name="subset-images"),
]
