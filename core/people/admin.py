"""Admin pages of people. Roles, invitations and consent are read-only here; a project's pages change them."""

from __future__ import annotations

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
from django.db.models import Model, QuerySet
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


class LookUpOnly:
    def has_add_permission(self, request: HttpRequest, *about: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return False


class LookUpAdmin(LookUpOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    """Tables that may be long: a search does not count all of their rows."""

    show_full_result_count = False


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


def look_up(model: type[Model], *columns: str, **options: Any) -> None:
    """Register a model to be looked up, in these columns; rows that they name come with the same query."""
    related = [field.name for field in model._meta.concrete_fields if field.is_relation and field.name in columns]
    options = {"list_select_related": related} | options
    admin.site.register(model, LookUpAdmin, list_display=columns, **options)


look_up(
    Project, "name", "slug", "created_by", "created_at",
    search_fields=("name", "slug"),
    inlines=(look_up_inline(Membership), look_up_inline(ConsentText, admin.StackedInline)),
)  # fmt: skip
look_up(
    Membership, "user", "role", "project", "joined_at",
    list_filter=("role", "project"), search_fields=("user__username", "user__email", "project__name"),
)  # fmt: skip
look_up(
    Invitation, "project", "role", "places", "places_taken", "expires_at", "revoked_at", "created_by",
    list_filter=("role", "project"), exclude=("token",),
    inlines=(look_up_inline(InvitationUse), look_up_inline(InvitationMail)),
)  # fmt: skip
look_up(
    Consent, "user", "text", "given_at", "withdrawn_at", "answers_kept",
    search_fields=("user__username", "text__project__name"), list_select_related=("user", "text__project"),
)  # fmt: skip
look_up(
    TextTranslation, "project", "kind", "version", "language", "revision", "drafted_by", "saved_at", "published_at",
    list_filter=("project", "kind"),
)  # fmt: skip
look_up(ProvidedRole, "user", "provider", "membership", search_fields=("user__username",))
look_up(ProjectDeletion, "slug", "name", "asked_by", "asked_at", "deleted_at", "done_at")
look_up(
    AuditEntry, "project", "number", "at", "by", "person", "action", "about",
    list_filter=("project", "action"), search_fields=("about",),
)  # fmt: skip
look_up(
    ApiToken, "user", "name", "prefix", "may_write", "created_at", "expires_at", "last_used_at", "revoked_at",
    exclude=("digest",),
)  # fmt: skip
look_up(
    Webhook, "project", "url", "is_active", "created_at", "created_by",
    exclude=("secret",), list_filter=("project", "is_active"),
)  # fmt: skip
look_up(
    Delivery, "webhook", "event", "state", "attempts", "due_at", "answer", "done_at",
    list_filter=("state", "event"),
)  # fmt: skip

admin.site.unregister([Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken])


# Only its owner changes an address: the admin's own log would keep one that was removed.
look_up(EmailAddress, "email", "user", "primary", "verified", search_fields=("email", "user__username"))


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
        if row.type == Authenticator.Type.TOTP:
            user = row.user
            transaction.on_commit(lambda: get_adapter().send_notification_mail("mfa/email/totp_deactivated", user))

    def delete_queryset(self, request: HttpRequest, rows: QuerySet[Authenticator]) -> None:
        for row in rows:
            self.delete_model(request, row)
