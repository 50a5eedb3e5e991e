from django.urls import path

from images.views import collections, images, imports

app_name = "images"
urlpatterns = [
    path("images/<uuid:public_id>/<int:size>/<str:signature>/", images.image_show, name="image-show"),
    path("collections/", collections.collection_list, name="collection-list"),
    path("collections/new/", collections.collection_create, name="collection-create"),
    path("collections/<slug:slug>/", collections.collection_show, name="collection-show"),
    path("collections/<slug:slug>/owner/", collections.collection_owner, name="collection-owner"),
    path("collections/<slug:slug>/images/add/", imports.images_add, name="images-add"),
    path("collections/<slug:slug>/imports/", imports.import_list, name="import-list"),
    path("imports/<int:job_id>/", imports.import_show, name="import-show"),
    path("imports/<int:job_id>/progress/", imports.import_progress, name="import-progress"),
    path("imports/<int:job_id>/report.csv", imports.import_export, name="import-export"),
]
