"""Accounts, projects, roles per project, language skills, invitations by link, and consent."""

from core.people.models.accounts import Accounts, ApiToken, Session, User
from core.people.models.invitations import Invitation, InvitationMail, InvitationUse
from core.people.models.mails import UNFINISHED_MAILS, MailState, OutgoingMail, mail_constraints
from core.people.models.projects import (
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
from core.people.models.texts import Consent, ConsentText, OnWithdrawal, TextKind, TextTranslation
from core.people.models.webhooks import Delivery, DeliveryState, Webhook, WebhookEvent

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
