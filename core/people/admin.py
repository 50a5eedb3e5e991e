"""Admin pages of people. Roles, invitations and consent are read-only here; a project's pages change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allauth.account import admin as _of_addresses  # noqa: F401 registered before it is taken out below
from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.mfa import admin as _of_second_factors  # noqa: F401 registered before it is taken out below
from allauth.mfa.models import Authenticator
from allauth.socialaccount import admin as _of_services  # noqa: F401 registered before it is taken out below
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm
from django.db import transaction
from django.db.models import BinaryField, BooleanField, CharField, JSONField, Model, QuerySet, TextField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.people.models import (
    ApiToken,
    AuditEntry,
    Consent,
    ConsentText,
    Delivery,
    Invitation,
    InvitationMail,
    InvitationUse,
    LanguageSkill,
    Membership,
    Project,
    ProjectDeletion,
    ProvidedRole,
    TextTranslation,
    User,
    Webhook,
)
from core.people.requests import RefusalsShown, user_of
from core.people.services.mails import replace_address
from core.people.services.personal_links import LinkError, replace_link
from core.people.services.sessions import save_password

MAX_COLUMNS = 10
"""Of a list of the administration."""


class LookUpOnly:
    def has_add_permission(self, request: HttpRequest, *about: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return False


class LookUpAdmin(LookUpOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    """Tables that may be long: a search does not count all of their rows, and what is stored in bytes is not read."""

    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        in_bytes = [field.name for field in self.opts.concrete_fields if isinstance(field, BinaryField)]
        return super().get_queryset(request).defer(*in_bytes)


def look_up_inline(model: type[Model], kind: type[Any] = admin.TabularInline) -> type[Any]:
    """Make an inline of the rows of a model, to be looked up."""
    return type(f"{model.__name__}Inline", (LookUpOnly, kind), {"model": model, "extra": 0})


class PasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]
    def save(self, commit: bool = True) -> User:
        """Set or remove a password; sessions from the old one end."""
        user: User = super().save(commit=False)
        save_password(user=user, now=timezone.now())
        get_adapter().send_notification_mail("account/email/password_changed", user)
        return user


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]
    change_password_form = PasswordForm
    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        (_("Languages"), {"fields": ("reads_english", "interface_language")}),
        (_("Account"), {"fields": ("deleted_at",)}),
    )
    list_display = ("username", "email", "is_active", "is_staff", "last_login", "deleted_at")
    readonly_fields = ("deleted_at",)
    inlines = (look_up_inline(Membership), look_up_inline(LanguageSkill))
    actions = ("replace_link",)

    @admin.action(description=_("Replace the personal link"), permissions=["change"])
    def replace_link(self, request: HttpRequest, people: QuerySet[User]) -> HttpResponse | None:
        """For those whose link no manager may replace: they left, or work for several managers."""
        if people.count() != 1:
            messages.error(request, _("Choose one person."))
            return None
        person, site = people.get(), request.build_absolute_uri("/")
        with RefusalsShown(request, LinkError):
            address = replace_link(person=person, by=user_of(request), site=site, now=timezone.now())
            if address:
                return render(request, "people/member_link.html", {"person": person, "address": address})
            messages.success(request, _("The link was sent to %(address)s.") % {"address": person.email})
        return None

    def save_model(self, request: HttpRequest, row: User, form: Any, change: bool) -> None:
        super().save_model(request, row, form, change)
        if change and "email" in form.changed_data:
            replace_address(user=row, before=form.initial["email"])


def look_up(*models: type[Model], hidden: Sequence[str] = (), **options: Any) -> None:
    """Register models to be looked up: lists of their short columns, and rows with all columns but those `hidden`."""
    for model in models:
        fields = [field for field in model._meta.concrete_fields if field.name not in hidden]
        long = (TextField, JSONField, BinaryField)
        short = [one for one in fields if not isinstance(one, long) and (one.is_relation or not one.primary_key)]
        columns = short[:MAX_COLUMNS]
        texts = [field.name for field in fields if isinstance(field, CharField | TextField) and not field.choices]
        people = [f"{field.name}__username" for field in columns if field.related_model is User]
        about: dict[str, Any] = {
            "list_display": [field.name for field in columns],
            "list_select_related": [field.name for field in columns if field.is_relation],
            "list_filter": [
                one.name
                for one in short
                if one.choices or isinstance(one, BooleanField) or one.related_model is Project
            ],
            "search_fields": texts + people,
            "exclude": hidden,
        }
        admin.site.register(model, LookUpAdmin, **about | options)


look_up(Project, inlines=(look_up_inline(Membership), look_up_inline(ConsentText, admin.StackedInline)))
look_up(Invitation, hidden=("token",), inlines=(look_up_inline(InvitationUse), look_up_inline(InvitationMail)))
look_up(Consent, list_select_related=("user", "text__project"))
look_up(AuditEntry, Delivery, Membership, ProjectDeletion, ProvidedRole, TextTranslation)
look_up(ApiToken, Webhook, hidden=("digest", "secret"))

admin.site.unregister([Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken])


# Only its owner changes an address: the admin's own log would keep one that was removed.
look_up(EmailAddress)


MAILS_OF_REMOVAL = {
    Authenticator.Type.TOTP: "mfa/email/totp_deactivated",
    Authenticator.Type.WEBAUTHN: "mfa/email/webauthn_removed",
}


@admin.register(Authenticator)
class AuthenticatorAdmin(LookUpOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    """Only deletable, for somebody who lost theirs; anybody who saw its secret could sign in."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    search_fields = ("user__username", "user__email")
    exclude = ("data",)
    list_select_related = ("user",)

    def has_delete_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, row)

    def delete_model(self, request: HttpRequest, row: Authenticator) -> None:
        super().delete_model(request, row)
        if mail := MAILS_OF_REMOVAL.get(row.type):
            user = row.user
            transaction.on_commit(lambda: get_adapter().send_notification_mail(mail, user))

    def delete_queryset(self, request: HttpRequest, rows: QuerySet[Authenticator]) -> None:
        for row in rows:
            self.delete_model(request, row)
