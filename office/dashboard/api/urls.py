"""Addresses of the API about a project as a whole."""

from __future__ import annotations

from django.urls import path

from office.dashboard.api import campaigns

urlpatterns = [
    path("projects/<slug:slug>/campaign/", campaigns.campaign_show_or_apply, name="campaign-file"),
]
