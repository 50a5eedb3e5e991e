"""A panel such as Prolific, as far as a study sees it: it sends people, signs events, and knows its own codes."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from core.people.models import Project
from office.recruitment.models import Study
from office.recruitment.rules.panels import signature_of
from office.recruitment.services.studies import create_study
from tests.factories import NOW, make_language

SECRET = "panel-secret"
CODES = {
    "done_url": "https://panel.example/complete?cc=DONE",
    "screened_out_url": "https://panel.example/complete?cc=OUT",
    "failed_url": "https://panel.example/complete?cc=FAILED",
}
CONSENT = {"consent": "on", "consent_version": "1"}


def make_study(project: Project, **about: Any) -> Study:
    values: dict[str, Any] = {
        "name": "Captions in German",
        "role": "annotator",
        "languages": [make_language("de")],
        "places": 3,
        "batches": 1,
        "person_parameter": "PROLIFIC_PID",
        "session_parameter": "SESSION_ID",
        "webhook_secret": SECRET,
        "reward": 3,
        "rate": 9,
        **CODES,
    }
    return create_study(project=project, by=project.created_by, now=NOW, **(values | about))


@dataclass
class Panel:
    """Sends people to `study`; each has a browser of their own."""

    study: Study
    browsers: dict[str, Client] = field(default_factory=dict)

    def browser(self, person: str) -> Client:
        return self.browsers.setdefault(person, Client())

    def signed_out(self, person: str) -> Client:
        """The person's browser, whose session has ended."""
        browser = self.browser(person)
        browser.cookies.pop(settings.SESSION_COOKIE_NAME, None)
        return browser

    def address(self, person: str) -> str:
        enter = reverse("recruitment:study-enter", args=[self.study.token])
        return f"{enter}?PROLIFIC_PID={person}&STUDY_ID=s1&SESSION_ID={self.submission(person)}"

    @staticmethod
    def submission(person: str) -> str:
        return f"submission-of-{person}"

    def send(self, person: str, **answers: Any) -> HttpResponse:
        """Send a person, who says how well they know the language."""
        given = {"level-de": "native", "reads_english": "on"} | CONSENT | answers
        return self.browser(person).post(self.address(person), given, follow=True)  # type: ignore[return-value]

    def tell(
        self, person: str, status: str = "RETURNED", *, secret: str = SECRET, ago_s: int = 0, body: bytes | None = None
    ) -> HttpResponse:
        """Send a signed event about the person's submission."""
        event = {"event_type": "submission.status.change", "status": status, "resource_id": self.submission(person)}
        sent = json.dumps(event).encode() if body is None else body
        timestamp = str(int(time.time()) - ago_s)
        return Client().post(  # type: ignore[return-value]
            reverse("recruitment:event-take", args=[self.study.token]),
            sent,
            content_type="application/json",
            headers={
                "X-Prolific-Request-Timestamp": timestamp,
                "X-Prolific-Request-Signature": signature_of(sent, timestamp=timestamp, secret=secret),
            },
        )
