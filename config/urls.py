"""Every address, app by app."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("people.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("", include("corpus.urls")),
    path("", include("inference.urls")),
    path("", include("annotation.urls")),
]
