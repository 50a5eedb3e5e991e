from django.urls import URLPattern

app_name = "corpus"
urlpatterns: list[URLPattern] = []
