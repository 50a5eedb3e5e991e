"""Every address, app by app."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

# The administration is entered by the same sign-in as all else, second factor and lock-out included.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler400 = "operations.views.bad_request_show"
handler404 = "operations.views.nothing_show"
handler500 = "operations.views.failure_show"
urlpatterns = [
    path("", include("operations.urls")),
    # First the addresses that are asked for most: Django tries one after the other.
    path("", include("annotation.urls")),
    path("", include("sxs_eval.urls")),
    path("", include("gapgame.urls")),
    path("", include("people.urls")),
    path("", include("people.account_urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("config.api")),
    path("", include("images.urls")),
    path("", include("corpora.urls")),
    path("", include("inference.urls")),
    path("", include("scoring.urls")),
    path("", include("practice.urls")),
    path("", include("recruitment.urls")),
    path("", include("dashboard.urls")),
]
