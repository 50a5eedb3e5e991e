"""Admin page of e-mails, to look up what was sent, and what was not and why."""

from __future__ import annotations

from core.people.admin import look_up
from office.dashboard.models import Notice

look_up(Notice)
