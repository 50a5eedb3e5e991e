from django.urls import path

from core.images.views import collections, uploads

app_name = "images"
IMAGE = "collections/<slug:slug>/images/<uuid:public_id>"
urlpatterns = [
    path("images/<uuid:public_id>/<int:size>/<str:signature>/", collections.image_show, name="image-show"),
    path("collections/", collections.collection_list, name="collection-list"),
    path("collections/new/", collections.collection_create, name="collection-create"),
    path("collections/<slug:slug>/", collections.collection_show, name="collection-show"),
    path("collections/<slug:slug>/owner/", collections.collection_owner, name="collection-owner"),
    path("collections/<slug:slug>/images/edit/", collections.images_edit, name="images-edit"),
    path(f"{IMAGE}/", collections.collection_image_show, name="collection-image-show"),
    path(f"{IMAGE}/edit/", collections.collection_image_edit, name="collection-image-edit"),
    path("collections/<slug:slug>/imports/", uploads.import_list, name="import-list"),
    path("imports/<int:job_id>/", uploads.import_show, name="import-show"),
    path("imports/<int:job_id>/progress/", uploads.import_progress, name="import-progress"),
    path("imports/<int:job_id>/report.csv", uploads.import_export, name="import-export"),
]
