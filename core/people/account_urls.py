"""Addresses of allauth, under its own names, and of Django's choice of a language."""

from django.contrib.auth.decorators import login_not_required
from django.urls import include, path, re_path, reverse_lazy
from django.views.generic import RedirectView

from core.people.views import account, passkeys

urlpatterns = [
    path("accounts/login/", account.SignInView.as_view(), name="account_login"),
    path("accounts/email/", account.AddressView.as_view(), name="account_email"),
    path("accounts/password/change/", account.PasswordChangeView.as_view(), name="account_change_password"),
    path("accounts/password/set/", account.PasswordSetView.as_view(), name="account_set_password"),
    re_path(
        r"^accounts/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.PasswordResetView.as_view(),
        name="account_reset_password_from_key",
    ),
    # Its form would take an address that nobody confirmed.
    path(
        "accounts/3rdparty/signup/",
        login_not_required(RedirectView.as_view(pattern_name="account_login")),
        name="socialaccount_signup",
    ),
    path("accounts/saml/<str:organization_slug>/metadata/", account.saml_metadata_show, name="saml_metadata"),
    # The view of allauth would sign out anybody who follows a link with an unsigned request.
    path(
        "accounts/saml/<str:organization_slug>/sls/",
        login_not_required(RedirectView.as_view(url=reverse_lazy("account_logout"))),
        name="saml_sls",
    ),
    path("accounts/saml/<str:organization_slug>/acs/", account.saml_response_take, name="saml_acs"),
    path("accounts/saml/<str:organization_slug>/acs/finish/", account.saml_sign_in_finish, name="saml_finish_acs"),
    path("accounts/2fa/authenticate/", passkeys.SecondFactorView.as_view(), name="mfa_authenticate"),
    # Passkeys are listed on the page of second factors.
    path("accounts/2fa/webauthn/", RedirectView.as_view(pattern_name="mfa_index"), name="mfa_list_webauthn"),
    path("accounts/2fa/webauthn/add/", passkeys.PasskeyAddView.as_view(), name="mfa_add_webauthn"),
    path(
        "accounts/2fa/webauthn/reauthenticate/",
        passkeys.PasskeyConfirmView.as_view(),
        name="mfa_reauthenticate_webauthn",
    ),
    path("accounts/", include("allauth.urls")),
    path("i18n/setlang/", account.language_choose, name="set_language"),
]
