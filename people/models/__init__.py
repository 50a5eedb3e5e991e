"""Accounts, projects, roles per project, language skills, invitations by link, and consent."""

from people.models.accounts import Accounts, ApiToken, Session, User
from people.models.invitations import Invitation, InvitationMail, InvitationUse
from people.models.mails import UNFINISHED_MAILS, MailState, OutgoingMail, mail_constraints
from people.models.projects import (
    AuditEntry,
    LanguageLevel,
    LanguageSkill,
    Membership,
    Owned,
    Project,
    ProjectDeletion,
    ProvidedRole,
    Role,
)
from people.models.texts import Consent, ConsentText, OnWithdrawal, TextKind, TextTranslation
from people.models.webhooks import Delivery, DeliveryState, Webhook, WebhookEvent

__all__ = [
    "UNFINISHED_MAILS",
    "Accounts",
    "ApiToken",
    "AuditEntry",
    "Consent",
    "ConsentText",
    "Delivery",
    "DeliveryState",
    "Invitation",
    "InvitationMail",
    "InvitationUse",
    "LanguageLevel",
    "LanguageSkill",
    "MailState",
    "Membership",
    "OnWithdrawal",
    "OutgoingMail",
    "Owned",
    "Project",
    "ProjectDeletion",
    "ProvidedRole",
    "Role",
    "Session",
    "TextKind",
    "TextTranslation",
    "User",
    "Webhook",
    "WebhookEvent",
    "mail_constraints",
]
