"""Accounts, their sessions, and tokens for programs."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _


class Accounts(UserManager["User"]):
    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        """Lower case as a whole: sign-in and password reset look it up that way."""
        return super().normalize_email(email).lower()


class User(AbstractUser):
    """An account. Memberships, project by project, say what a person may do; `is_superuser` is for installers."""

    reads_english = models.BooleanField(_("reads English well"), default=False)
    interface_language = models.CharField(_("interface language"), max_length=35, blank=True)
    deleted_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When its owner deleted the account, or it came to stand for a rater of a file.",
    )

    objects: ClassVar[Accounts] = Accounts()

    class Meta(AbstractUser.Meta):
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(Lower("email"), condition=~Q(email=""), name="user_email_unique_whatever_case"),
            models.UniqueConstraint(Lower("username"), name="user_name_unique_whatever_case"),
        ]


class Session(AbstractBaseSession):
    """A session of a browser; `person` is found without decoding its data.

    No foreign key: saving a session need not wait for changes to the account.
    """

    person = models.BigIntegerField(null=True, db_index=True)
    signed_in_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True, help_text="When it was last used, to five minutes.")
    address = models.CharField(max_length=45, blank=True, default="", db_default="")
    user_agent = models.CharField(max_length=300, blank=True, default="", db_default="")


class ApiToken(models.Model):
    """A token of a program that acts for a person; only a digest is stored. It expires, or is revoked before."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=8, help_text="Its first letters, to recognise it.")
    digest = models.CharField(max_length=64, unique=True)
    may_write = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"


class PersonalLink(models.Model):
    """The address that signs in somebody without a password; only its digest is stored. Each person has one at most."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="personal_link")
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"link of {self.user_id}"


class AnsweredRequest(models.Model):
    """What a program's request with a key was answered, for when it is sent again. `digest` is of what was sent."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    location = models.CharField(max_length=5000, blank=True)
    body = models.TextField(blank=True)
    answered_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["user", "key"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user", "key"], name="answered_request_once_per_key"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["answered_at"], name="answered_request_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.key} of {self.user_id}"
