from django.urls import URLPattern

app_name = "inference"
urlpatterns: list[URLPattern] = []
