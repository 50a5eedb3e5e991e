from django.urls import path

from core.images.views import collection_images, collections, images, imports

app_name = "images"
IMAGE = "collections/<slug:slug>/images/<uuid:public_id>"
urlpatterns = [
    path("images/<uuid:public_id>/<int:size>/<str:signature>/", images.image_show, name="image-show"),
    path("collections/", collections.collection_list, name="collection-list"),
    path("collections/new/", collections.collection_create, name="collection-create"),
    path("collections/<slug:slug>/", collections.collection_show, name="collection-show"),
    path("collections/<slug:slug>/owner/", collections.collection_owner, name="collection-owner"),
    path("collections/<slug:slug>/images/add/", imports.images_add, name="images-add"),
    path("collections/<slug:slug>/images/edit/", collection_images.images_edit, name="images-edit"),
    path(f"{IMAGE}/", collection_images.collection_image_show, name="collection-image-show"),
    path(f"{IMAGE}/edit/", collection_images.collection_image_edit, name="collection-image-edit"),
    path("collections/<slug:slug>/imports/", imports.import_list, name="import-list"),
    path("imports/<int:job_id>/", imports.import_show, name="import-show"),
    path("imports/<int:job_id>/progress/", imports.import_progress, name="import-progress"),
    path("imports/<int:job_id>/report.csv", imports.import_export, name="import-export"),
]
