"""Addresses of what spans projects and apps."""

from django.urls import URLPattern

app_name = "dashboard"
urlpatterns: list[URLPattern] = []
