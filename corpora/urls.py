from django.urls import URLPattern

app_name = "corpora"

urlpatterns: list[URLPattern] = []
