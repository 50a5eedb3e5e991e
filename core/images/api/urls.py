"""Addresses of collections under /api/v1/."""

from django.urls import path

from core.images.api import collections, images

ONE = "collections/<slug:slug>"

urlpatterns = [
    path("collections/", collections.collection_list_or_create, name="collection-list"),
    path(f"{ONE}/", collections.collection_show_or_change, name="collection-show"),
    path(f"{ONE}/duplicate/", collections.collection_duplicate, name="collection-duplicate"),
    path(f"{ONE}/images/", collections.collection_images, name="collection-images"),
    path(f"{ONE}/images/edit/", images.images_edit, name="images-edit"),
]
