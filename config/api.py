"""Every address of the API, app by app: /api/v1/."""

from __future__ import annotations

from django.urls import include
from django.urls import path as included

from people.rules.lazy import LazyModule, path, re_path

docs = LazyModule("people.api.docs")
views = LazyModule("people.api.views")

app_name = "api"
urlpatterns = [
    # It has nothing of anybody's, and makers of clients ask for it without a token.
    path("schema/", docs.SchemaView.as_view(), name="schema"),
    path("docs/", docs.docs_show, name="docs"),
    included("", include("people.api.urls")),
    included("", include("annotation.api.urls")),
    included("", include("corpora.api.urls")),
    # Unknown addresses are answered like other refusals; without the final slash they are redirected as on pages.
    re_path(r"^[\s\S]*/\Z", views.NothingView.as_view(), name="nothing"),
]
