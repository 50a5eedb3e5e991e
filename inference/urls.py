from django.urls import path

from inference.views import captions

app_name = "inference"
urlpatterns = [
    path("models/", captions.model_list, name="model-list"),
    path("models/captions/add/", captions.captions_import, name="captions-import"),
]
