"""Every address, app by app."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

# The administration is entered by the same sign-in as all else, second factor and lock-out included.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler400 = "office.operations.views.bad_request_show"
handler404 = "office.operations.views.nothing_show"
handler500 = "office.operations.views.failure_show"
urlpatterns = [
    path("", include("office.operations.urls")),
    # First the addresses that are asked for most: Django tries one after the other.
    path("", include("annotation.urls")),
    path("", include("sxs_eval.urls")),
    path("", include("gapgame.urls")),
    path("", include("core.people.urls")),
    path("", include("core.people.account_urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("config.api")),
    path("", include("core.conversation.urls")),
    path("", include("core.images.urls")),
    path("", include("research.selection.urls")),
    path("", include("research.inference.urls")),
    path("", include("research.scoring.urls")),
    path("", include("office.practice.urls")),
    path("", include("office.recruitment.urls")),
    path("", include("office.dashboard.urls")),
    path("", include("office.imports.urls")),
    path("", include("office.exports.urls")),
]
