from django.urls import path

from corpus.views import pictures

app_name = "corpus"
urlpatterns = [
    path("pictures/<uuid:public_id>/<int:size>/<str:signature>/", pictures.picture_show, name="picture-show"),
]
