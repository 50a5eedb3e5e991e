"""Every address, app by app."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("people.urls")),
    path("accounts/", include("allauth.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("", include("corpus.urls")),
    path("", include("inference.urls")),
    path("", include("annotation.urls")),
]
