"""Every address of the API, app by app: /api/v1/."""

from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from people.api.docs import docs_show
from people.api.views import NothingView

app_name = "api"
urlpatterns = [
    # It has nothing of anybody's, and makers of clients ask for it without a token.
    path("schema/", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="schema"),
    path("docs/", docs_show, name="docs"),
    path("", include("people.api.urls")),
    path("", include("annotation.api.urls")),
    path("", include("corpora.api.urls")),
    # Unknown addresses are answered like other refusals; without the final slash they are redirected as on pages.
    re_path(r"^[\s\S]*/\Z", NothingView.as_view(), name="nothing"),
]
