"""Requests to Prolific's API, version 1, with the token of one workspace.

Every failure says whether the request may have been carried out, as most of them spend money. No message has the token.
Source: https://docs.prolific.com/api-reference.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import urllib3
from django.conf import settings
from django.utils.translation import gettext as _
from urllib3 import exceptions as broken

from office.recruitment.rules.prolific import from_cents, in_cents

CONNECT_S, READ_S = 5.0, 15.0
ATTEMPTS = 4
FIRST_PAUSE_S, MAX_WAIT_S = 0.5, 10.0
"""Somebody waits for the page: a longer wait is theirs to decide about."""
PAGE_SIZE = 100
MAX_ANSWER_BYTES = 10_000_000
MAX_MESSAGE_CHARACTERS = 300
TOO_MANY_REQUESTS = 429


class PanelError(Exception):
    """The step is not possible, or did not work; the message says why and what to do."""


class RefusedByPanelError(PanelError):
    """Prolific refused the request, and did nothing."""


class UnansweredError(PanelError):
    """Nobody knows whether Prolific carried the request out."""


@dataclass(frozen=True)
class StudyThere:
    """A study as Prolific has it. `cost` is with fees."""

    id: str
    internal_name: str
    status: str
    places: int
    reward: Decimal
    cost: Decimal
    currency: str


@dataclass(frozen=True)
class SubmissionThere:
    id: str
    person: str
    status: str
    bonuses: Sequence[Decimal]


@dataclass(frozen=True)
class BonusesSetUp:
    """Bonuses that can be paid by `id`; `cost` is what is taken from the balance, with fees."""

    id: str
    cost: Decimal


@dataclass
class ProlificApi:
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        timeout = urllib3.Timeout(connect=CONNECT_S, read=READ_S)
        self._pool = urllib3.connection_from_url(settings.PROLIFIC_API, retries=False, timeout=timeout)
        self._path = urllib3.util.parse_url(settings.PROLIFIC_API).path or ""

    def currency(self) -> str:
        """Return the currency of the account; empty if Prolific does not say."""
        return str(self._ask("GET", "/users/me/").get("currency_code") or "")

    def price(self, *, reward: Decimal, places: int) -> Decimal:
        """Return what so many places cost, with fees and taxes."""
        body = {"reward": in_cents(reward), "total_available_places": places}
        return from_cents(_of(self._ask("POST", "/study-cost-calculator/", body, repeats=True), "total_cost"))

    def studies(self) -> Iterator[StudyThere]:
        return map(_study, self._pages("/studies/"))

    def study(self, id: str) -> StudyThere:
        return _study(self._ask("GET", f"/studies/{id}/"))

    def make_study(self, body: Mapping[str, Any]) -> StudyThere:
        return _study(self._ask("POST", "/studies/", body))

    def set_places(self, id: str, places: int) -> StudyThere:
        return _study(self._ask("PATCH", f"/studies/{id}/", {"total_available_places": places}))

    def transition(self, id: str, action: str) -> None:
        self._ask("POST", f"/studies/{id}/transition/", {"action": action})

    def submissions(self, study: str) -> dict[str, SubmissionThere]:
        """Return the submissions of a study, by their name."""
        found = (_submission(row) for row in self._pages("/submissions/", study=study))
        return {one.id: one for one in found}

    def approve(self, submissions: Sequence[str]) -> None:
        self._ask("POST", "/submissions/bulk-approve/", {"submission_ids": [*submissions]})

    def set_up_bonuses(self, study: str, csv: str) -> BonusesSetUp:
        """Ask what bonuses cost. This pays nothing, and may be repeated."""
        answer = self._ask(
            "POST", "/submissions/bonus-payments/", {"study_id": study, "csv_bonuses": csv}, repeats=True
        )
        return BonusesSetUp(str(_of(answer, "id")), from_cents(_of(answer, "total_amount")))

    def pay_bonuses(self, id: str) -> None:
        """Pay bonuses. A second request would pay them a second time."""
        self._ask("POST", f"/bulk-bonus-payments/{id}/pay/")

    def _pages(self, path: str, **query: str) -> Iterator[Any]:
        seen: set[str] = set()
        for page in range(1, 1000):
            asked = {**query, "page": str(page), "page_size": str(PAGE_SIZE)}
            rows = _of(self._ask("GET", path, query=asked), "results")
            new = [row for row in rows if _of(row, "id") not in seen]
            yield from new
            seen |= {row["id"] for row in new}
            if not new or len(rows) < PAGE_SIZE:
                return

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        repeats: bool = False,
    ) -> Any:
        """Send a request; `repeats` means that carrying it out twice does no harm, as with every GET.

        Raises RefusedByPanelError or UnansweredError.
        """
        repeats |= method == "GET"
        for attempt in range(ATTEMPTS):
            is_last = attempt == ATTEMPTS - 1
            wait_s = FIRST_PAUSE_S * 2**attempt
            try:
                status, answer, headers = self._once(method, path, body, query)
            except (broken.NewConnectionError, broken.ConnectTimeoutError):
                raise RefusedByPanelError(_("Prolific cannot be reached. Try again later.")) from None
            except (broken.HTTPError, OSError):
                if is_last or not repeats:
                    raise UnansweredError(_unanswered()) from None
            else:
                if status < 300 and answer is not None:
                    return answer
                if status == TOO_MANY_REQUESTS:
                    wait_s = _seconds(headers.get("Retry-After"), wait_s)
                    if is_last or wait_s > MAX_WAIT_S:
                        text = _("Prolific has received too many requests. Try again in %(seconds)s seconds.")
                        raise RefusedByPanelError(text % {"seconds": round(wait_s)})
                elif 300 <= status < 500 and status != 408:
                    raise RefusedByPanelError(self._refusal(status, answer))
                elif is_last or not repeats:
                    raise UnansweredError(_unanswered())
            time.sleep(wait_s)
        raise AssertionError

    def _once(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str] | None
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Return the status, the JSON of the answer (None if it is none) and the headers."""
        more = {} if body is None else {"json": body}
        headers = {"Authorization": f"Token {self.token}", "Accept": "application/json", "User-Agent": "crosslens"}
        address = f"{self._path}{path}" + (f"?{urlencode(query)}" if query else "")
        response = self._pool.request(method, address, headers=headers, redirect=False, preload_content=False, **more)
        content = response.read(MAX_ANSWER_BYTES)
        response.release_conn()
        try:
            answer = json.loads(content) if content.strip() else {}
        except (ValueError, RecursionError):
            answer = None
        return response.status, answer, response.headers

    def _refusal(self, status: int, answer: Any) -> str:
        if status == 401:
            return _("Prolific does not accept the token. Enter another one.")
        error = answer.get("error", answer) if isinstance(answer, dict) else ""
        said = error.get("detail") or error.get("title") or "" if isinstance(error, dict) else error
        said = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        said = "".join(letter if letter.isprintable() else " " for letter in said.replace(self.token, "…"))
        return _("Prolific refused this (%(status)s): %(said)s") % {
            "status": status,
            "said": said[:MAX_MESSAGE_CHARACTERS] or "–",
        }


def _unanswered() -> str:
    return _("Prolific did not answer, and may have done it all the same. Try again: what is done is not repeated.")


def _of(answer: Any, name: str) -> Any:
    """Return a value of an answer.

    Raises UnansweredError.
    """
    if not isinstance(answer, dict) or answer.get(name) is None:
        raise UnansweredError(_("Prolific’s answer lacks “%(name)s”. Try again later.") % {"name": name})
    return answer[name]


def _study(answer: Any) -> StudyThere:
    currency = answer.get("presentment_currency_code") or answer.get("currency_code") or "" if answer else ""
    return StudyThere(
        id=str(_of(answer, "id")),
        internal_name=str(answer.get("internal_name") or ""),
        status=str(_of(answer, "status")).upper(),
        places=int(_of(answer, "total_available_places")),
        reward=from_cents(_of(answer, "reward")),
        cost=from_cents(answer.get("total_cost") or 0),
        currency=str(currency),
    )


def _submission(row: Any) -> SubmissionThere:
    return SubmissionThere(
        id=str(_of(row, "id")),
        person=str(row.get("participant_id") or row.get("participant") or ""),
        status=str(_of(row, "status")).upper().replace("_", " "),
        bonuses=[from_cents(one) for one in row.get("bonus_payments") or []],
    )


def _seconds(retry_after: str | None, otherwise: float) -> float:
    try:
        return otherwise if retry_after is None else urllib3.Retry().parse_retry_after(retry_after)
    except (broken.InvalidHeader, ValueError, OverflowError):
        return otherwise
