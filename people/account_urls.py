"""Addresses of allauth, under the names that it uses itself, and of Django's choice of a language."""

from django.urls import include, path

from people.views import account

urlpatterns = [
    path("accounts/login/", account.SignInView.as_view(), name="account_login"),
    path("accounts/", include("allauth.urls")),
    path("i18n/setlang/", account.language_choose, name="set_language"),
]
