"""Addresses of choosing images by place."""

from django.urls import path

from research.selection.views import places, selections, subsets

app_name = "corpora"

TABLE = "projects/<slug:slug>/where-spoken"
SELECTION = "projects/<slug:slug>/selections/<int:number>"
SUBSET = "projects/<slug:slug>/subsets/<slug:subset_slug>"

urlpatterns = [
    path("collections/<slug:slug>/places/", places.collection_places, name="collection-places"),
    path("collections/<slug:slug>/places/look-up/", places.collection_locate, name="collection-locate"),
    path(f"{TABLE}/", places.table_show, name="table-show"),
    path(f"{TABLE}/upload/", places.table_upload, name="table-upload"),
    path(f"{TABLE}/replace/", places.table_replace, name="table-replace"),
    path(f"{TABLE}/reset/", places.table_reset, name="table-reset"),
    path(f"{TABLE}/table.json", places.table_export, name="table-export"),
    path(f"{TABLE}/versions/<int:number>/table.json", places.version_export, name="version-export"),
    path(f"{TABLE}/languages/<str:tag>/", places.areas_edit, name="areas-edit"),
    path("projects/<slug:slug>/selections/", selections.selection_list, name="selection-list"),
    path("projects/<slug:slug>/selections/new/", selections.selection_create, name="selection-create"),
    path(f"{SELECTION}/", selections.selection_show, name="selection-show"),
    path(f"{SELECTION}/progress/", selections.selection_progress, name="selection-progress"),
    path(f"{SELECTION}/confirm/", selections.selection_confirm, name="selection-confirm"),
    path(f"{SELECTION}/discard/", selections.selection_discard, name="selection-discard"),
    path(f"{SELECTION}/languages/<str:tag>/", selections.selected_list, name="selected-list"),
    path(
        f"{SELECTION}/languages/<str:tag>/<int:position>/exchange/",
        selections.selected_exchange,
        name="selected-exchange",
    ),
    path(f"{SELECTION}/files/", selections.selected_files, name="selected-files"),
    path(f"{SELECTION}/files.csv", selections.selected_export, name="selected-export"),
    path("projects/<slug:slug>/candidates/", selections.candidates_list, name="candidates-list"),
    path(
        "projects/<slug:slug>/candidates/<slug:list_slug>/delete/",
        selections.candidates_delete,
        name="candidates-delete",
    ),
    path("projects/<slug:slug>/subsets/", subsets.subset_list, name="subset-list"),
    path("projects/<slug:slug>/new-subset/", subsets.subset_create, name="subset-create"),
    path(f"{SUBSET}/", subsets.subset_show, name="subset-show"),
    path(f"{SUBSET}/rename/", subsets.subset_rename, name="subset-rename"),
    path(f"{SUBSET}/delete/", subsets.subset_delete, name="subset-delete"),
    path(f"{SUBSET}/keys.csv", subsets.subset_export, name="subset-export"),
]
