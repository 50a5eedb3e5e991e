"""Studies that panels send people to, and who came."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.people.models import Project, Role
from office.recruitment.rules.panels import MAX_ID_CHARACTERS, PanelKind

MAX_ADDRESS_CHARACTERS = 500
MAX_DESCRIPTION_CHARACTERS = 5000


class WorkRole(models.TextChoices):
    ANNOTATOR = Role.ANNOTATOR.value, _("Annotator")
    RATER = Role.RATER.value, _("Rater")


class Study(models.Model):
    """An address that a panel sends people to, what they do there, and where they go afterwards."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="studies")
    name = models.CharField(max_length=100)
    token = models.CharField(max_length=43, unique=True)
    panel = models.CharField(max_length=8, choices=PanelKind.choices, default=PanelKind.PROLIFIC)
    role = models.CharField(max_length=12, choices=WorkRole.choices, default=WorkRole.ANNOTATOR)
    languages = models.ManyToManyField(Language, related_name="+")
    places = models.PositiveIntegerField(help_text="How many people can take part.")
    batches = models.PositiveSmallIntegerField(help_text="How many batches each person does, and at most takes.")
    person_parameter = models.CharField(max_length=50, help_text="In the panel's address: who the person is.")
    session_parameter = models.CharField(max_length=50, blank=True, help_text="Which submission of theirs it is.")
    done_url = models.CharField(max_length=MAX_ADDRESS_CHARACTERS)
    screened_out_url = models.CharField(max_length=MAX_ADDRESS_CHARACTERS, blank=True)
    failed_url = models.CharField(max_length=MAX_ADDRESS_CHARACTERS, blank=True)
    webhook_secret = models.CharField(max_length=200, blank=True)
    currency = models.CharField(max_length=3, default="GBP")
    reward = models.DecimalField(max_digits=8, decimal_places=2, help_text="What the panel pays each person.")
    rate = models.DecimalField(max_digits=8, decimal_places=2, help_text="What an hour is to be paid.")
    is_open = models.BooleanField(default=True, help_text="Whether new people can begin.")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "pk"]
        verbose_name_plural = "studies"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(role__in=WorkRole.values), name="study_role_known"),
            models.CheckConstraint(condition=Q(panel__in=PanelKind.values), name="study_panel_known"),
            models.CheckConstraint(condition=Q(places__gte=1, batches__gte=1), name="study_not_empty"),
            models.CheckConstraint(condition=Q(reward__gte=0, rate__gte=0), name="study_pay_not_negative"),
        ]

    def __str__(self) -> str:
        return f"study {self.pk} of project {self.project_id}"


class ParticipantState(models.TextChoices):
    WORKING = "working", _("Working")
    DONE = "done", _("Done")
    SCREENED_OUT = "screened", _("Screened out")
    FAILED = "failed", _("Failed the checks")
    LEFT = "left", _("Left early")
    FREED = "freed", _("Returned or timed out at the panel")


TAKES_A_PLACE = (ParticipantState.WORKING, ParticipantState.DONE, ParticipantState.FAILED)


class Participant(models.Model):
    """One person of a panel in a study. Those who were screened out have no account."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participants")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="participations"
    )
    panel_id = models.CharField(max_length=MAX_ID_CHARACTERS, help_text="What the panel calls the person.")
    session_id = models.CharField(
        max_length=MAX_ID_CHARACTERS, blank=True, help_text="What the panel calls the submission."
    )
    state = models.CharField(max_length=8, choices=ParticipantState.choices, default=ParticipantState.WORKING)
    arrived_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["study", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["study", "panel_id"], name="participant_once_per_study"),
            models.UniqueConstraint(fields=["study", "user"], name="participant_one_account_per_study"),
            models.CheckConstraint(condition=Q(state__in=ParticipantState.values), name="participant_state_known"),
            models.CheckConstraint(
                condition=Q(state="working", ended_at=None) | (~Q(state="working") & Q(ended_at__isnull=False)),
                name="participant_end_dated",
            ),
        ]

    def __str__(self) -> str:
        return f"participant {self.pk} of study {self.study_id}"


class ProlificAccount(models.Model):
    """The token of a project's workspace at Prolific: it can do everything there, and is shown to nobody."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="prolific_account")
    token = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"account of project {self.project_id} at Prolific"


class PanelStudy(models.Model):
    """A study as Prolific has it: its plan, its budget, and what it has cost.

    `rewards` and `bonuses`, with fees, are written before money is spent, so that two steps cannot spend the same.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="at_panel")
    description = models.TextField(max_length=MAX_DESCRIPTION_CHARACTERS)
    minutes = models.PositiveSmallIntegerField(help_text="How long it takes, as people are told.")
    budget = models.DecimalField(max_digits=10, decimal_places=2)
    rewards = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    bonuses = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    panel_id = models.CharField(max_length=50, blank=True, help_text="What Prolific calls it.")
    status = models.CharField(max_length=30, blank=True, help_text="As Prolific last said.")
    busy_until = models.DateTimeField(null=True, blank=True, help_text="While a step is on its way.")

    class Meta:
        verbose_name_plural = "panel studies"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(rewards__gte=0, bonuses__gte=0), name="panel_study_not_negative"),
            models.CheckConstraint(
                condition=Q(budget__gte=F("rewards") + F("bonuses")), name="panel_study_within_its_budget"
            ),
        ]

    def __str__(self) -> str:
        return f"study {self.study_id} at Prolific"

    @property
    def left(self) -> Decimal:
        return self.budget - self.rewards - self.bonuses


class PaymentState(models.TextChoices):
    SENT = "sent", _("Sent, and not confirmed yet")
    PAID = "paid", _("Paid")
    REFUSED = "refused", _("Refused")


class BonusPayment(models.Model):
    """Bonuses of a study that were paid together; `amount` is with fees."""

    at_panel = models.ForeignKey(PanelStudy, on_delete=models.CASCADE, related_name="payments")
    panel_id = models.CharField(max_length=50, help_text="What Prolific calls it.")
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    state = models.CharField(max_length=7, choices=PaymentState.choices, default=PaymentState.SENT)
    sent_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["at_panel", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(condition=Q(state__in=PaymentState.values), name="bonus_payment_state_known"),
        ]

    def __str__(self) -> str:
        return f"payment {self.pk} of {self.at_panel_id}"


class PaidBonus(models.Model):
    """The one bonus of a participant."""

    participant = models.OneToOneField(Participant, on_delete=models.CASCADE, related_name="paid_bonus")
    payment = models.ForeignKey(BonusPayment, on_delete=models.CASCADE, related_name="bonuses")
    amount = models.DecimalField(max_digits=8, decimal_places=2)

    class Meta:
        verbose_name_plural = "paid bonuses"

    def __str__(self) -> str:
        return f"bonus of participant {self.participant_id}"


class HourlyRate(models.Model):
    """What an hour of work costs in one language; without a language, in those that have no rate of their own."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="hourly_rates")
    language = models.ForeignKey(Language, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    rate = models.DecimalField(max_digits=8, decimal_places=2)
    currency = models.CharField(max_length=3)

    class Meta:
        ordering: ClassVar[list[str]] = ["project", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "language"], name="hourly_rate_once_per_language"),
            models.UniqueConstraint(
                fields=["project"], condition=Q(language=None), name="hourly_rate_one_for_the_others"
            ),
            models.CheckConstraint(condition=Q(rate__gte=0), name="hourly_rate_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.rate} {self.currency} for project {self.project_id}, {self.language_id or 'other languages'}"
