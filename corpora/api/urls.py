"""Addresses of choosing images by place and of corpora under /api/v1/."""

from django.urls import path

from corpora.api import corpora, selections, subsets, tables
from people.api.operations import one_address

SELECTIONS = "projects/<slug:slug>/selections"
CORPORA = "projects/<slug:slug>/corpora"
SUBSETS = "projects/<slug:slug>/subsets"

urlpatterns = [
    path(f"{SELECTIONS}/", one_address(selections.selection_list, selections.selection_start), name="selection-list"),
    path(f"{SELECTIONS}/<int:number>/", selections.selection_show, name="selection-show"),
    path(f"{SELECTIONS}/<int:number>/confirm/", selections.selection_confirm, name="selection-confirm"),
    path(f"{SELECTIONS}/<int:number>/images/", selections.selected_list, name="selected-list"),
    path(
        "projects/<slug:slug>/language-table/",
        one_address(tables.language_table_show, tables.language_table_replace),
        name="language-table",
    ),
    path(f"{CORPORA}/", corpora.corpus_list, name="corpus-list"),
    path(f"{CORPORA}/<slug:corpus_slug>/", corpora.corpus_show, name="corpus-show"),
    path(f"{CORPORA}/<slug:corpus_slug>/reports/<str:step>/", corpora.corpus_report, name="corpus-report"),
    path(f"{CORPORA}/<slug:corpus_slug>/files/<str:name>/", corpora.corpus_file, name="corpus-file"),
    path(f"{SUBSETS}/", one_address(subsets.subset_list, subsets.subset_make), name="subset-list"),
    path(
        f"{SUBSETS}/<slug:subset_slug>/",
        one_address(subsets.subset_show, subsets.subset_rename, subsets.subset_delete),
        name="subset-show",
    ),
    path(f"{SUBSETS}/<slug:subset_slug>/images/", subsets.subset_images, name="subset-images"),
]
