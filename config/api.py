"""Every address of the API, app by app: /api/v1/."""

from __future__ import annotations

from django.urls import include, path, re_path

from core.people.api import operations, views

app_name = "api"
urlpatterns = [
    # It has nothing of anybody's, and makers of clients ask for it without a token.
    path("schema/", operations.SchemaView.as_view(), name="schema"),
    path("docs/", views.docs_show, name="docs"),
    path("", include("core.people.api.urls")),
    path("", include("annotation.api.urls")),
    path("", include("sxs_eval.api.urls")),
    path("", include("gapgame.api.urls")),
    path("", include("core.conversation.api.urls")),
    path("", include("core.images.api.urls")),
    path("", include("research.selection.api.urls")),
    path("", include("research.inference.api.urls")),
    path("", include("research.scoring.api.urls")),
    path("", include("office.practice.api.urls")),
    path("", include("office.recruitment.api.urls")),
    path("", include("office.dashboard.api.urls")),
    path("", include("office.imports.api.urls")),
    path("", include("office.exports.api.urls")),
    # Unknown addresses are answered like other refusals; without the final slash they are redirected as on pages.
    re_path(r"^[\s\S]*/\Z", views.NothingView.as_view(), name="nothing"),
]
