"""Signing in, with the lock-out around it, and the language of the pages."""

from __future__ import annotations

from typing import Any

from allauth.account import views
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.providers.saml.utils import build_saml_config, get_app_or_404
from allauth.socialaccount.providers.saml.views import acs, finish_acs
from axes.decorators import axes_dispatch
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST
from django.views.i18n import set_language
from onelogin.saml2.settings import OneLogin_Saml2_Settings

from core.people.models import User
from core.people.services.lockout import know_browser


@method_decorator(axes_dispatch, name="dispatch")
class SignInView(views.LoginView):
    """Answer locked-out users before checking the password; AxesMiddleware handles the failure that locks."""


class AddressView(views.EmailView):
    def post(self, request: HttpRequest, *arguments: Any, **about: Any) -> HttpResponse:
        # allauth would accept an address that nobody confirmed. The page has no button for it.
        if "action_primary" in request.POST:
            return redirect("account_email")
        try:
            response: HttpResponse = super().post(request, *arguments, **about)
        except OSError:  # SMTPException is one
            messages.error(request, _("The e-mail could not be sent. Try again in a few minutes."))
            return redirect("account_email")
        return response


class _KnownBrowser:
    """A browser that signed in with the present password; it may continue, however many guess it meanwhile."""

    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc] # that of the view it is mixed into
        know_browser(response, form.user)
        return response


class PasswordChangeView(_KnownBrowser, views.PasswordChangeView):
    pass


class PasswordSetView(_KnownBrowser, views.PasswordSetView):
    pass


class PasswordResetView(_KnownBrowser, views.PasswordResetFromKeyView):
    pass


@require_POST
@login_not_required
def language_choose(request: HttpRequest) -> HttpResponseBase:
    """Set the language as Django does, and also in the account of a signed-in user."""
    language = request.POST.get("language", "")
    if request.user.is_authenticated and language in dict(settings.LANGUAGES):
        User.objects.filter(pk=request.user.pk).update(interface_language=language)
    return set_language(request)


@require_GET
@login_not_required
def saml_metadata_show(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Describe the platform to a service.

    allauth would announce single logout, which we do not take part in, and would have the description end after two
    days: a service that was given it as a file would refuse everybody from then on.
    """
    about = build_saml_config(request, get_app_or_404(request, organization_slug).settings, organization_slug)
    del about["sp"]["singleLogoutService"]
    about["security"]["metadataValidUntil"] = ""
    metadata = OneLogin_Saml2_Settings(about, sp_validation_only=True).get_sp_metadata()
    return HttpResponse(metadata, content_type="text/xml")


@csrf_exempt
@require_POST
@login_not_required
def saml_response_take(request: HttpRequest, organization_slug: str) -> HttpResponseBase:
    """Take the response of a configured service: allauth would store that of any name before it looks."""
    if organization_slug not in settings.SIGN_IN_PROVIDERS:
        raise Http404("No sign-in service has this name.")
    response: HttpResponseBase = acs(request, organization_slug=organization_slug)
    return response


@require_GET
@login_not_required
def saml_sign_in_finish(request: HttpRequest, organization_slug: str) -> HttpResponseBase:
    """Sign in with the response that was taken; refuse what cannot be read, at which allauth would fail."""
    try:
        response: HttpResponseBase = finish_acs(request, organization_slug=organization_slug)
    except (SyntaxError, ValueError) as error:  # no XML; with a document type, or encoded as nothing known
        provider = get_adapter().get_provider(request, "saml", client_id=organization_slug)
        return render_authentication_error(request, provider, exception=error)
    return response
