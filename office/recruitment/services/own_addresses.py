"""Addresses of a study for one person alone, for who comes back without the browser in which they began."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from django.core import signing

from office.recruitment.models import Participant

OWN_PARAMETER = "own"
"""Parameter of the address."""
VALID_FOR = timedelta(days=14)
SALT = "recruitment.own-address"


def own_query(participant: Participant) -> str:
    """What follows the address of the study, for the manager to send to the person through the panel."""
    study = participant.study
    names = {study.person_parameter: participant.panel_id}
    if participant.session_id:
        names[study.session_parameter] = participant.session_id
    return urlencode(names | {OWN_PARAMETER: signing.dumps(participant.pk, salt=SALT)})


def is_own_address(given: str, participant: Participant) -> bool:
    try:
        return bool(signing.loads(given, salt=SALT, max_age=VALID_FOR) == participant.pk)
    except signing.BadSignature:
        return False
