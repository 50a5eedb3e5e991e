"""Every address, asked by whoever has no business there. Whoever adds one is told here if its door stands open.

What is not listed below as open to somebody is of a project or of a person: all others are to be told that it is not
there. The people whose it is are asked, too, as a control: an address that nobody finds would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from people.models import User
from tests.doors.asking import a_visitor, ask, ours, signed_in
from tests.doors.world import NAME, World
from tests.factories import make_annotator, make_project, make_round, make_user
from tests.leaks.addresses import serving
from tests.tiers import some

# A thousand requests, and what is asked of the database is the same on both.
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

ANYBODY = {
    "people:home-show": "says where one signs in",
    "health-show": "for load balancers",
    "readiness-show": "for load balancers",
    "metrics-show": "for private addresses or a token: tests/operations/test_metrics.py",
    "people:invitation-accept": "whoever has the link",
    "recruitment:study-enter": "whoever the panel sends",
    "recruitment:event-take": "the panel alone, by its signature",
    "dashboard:email-stop": "whoever has the link",
    "annotation:offline-worker": "has nothing of anybody's",
    "account_login": "",
    "account_logout": "",
    "account_inactive": "",
    "account_signup": "says that it is closed",
    "account_email_verification_sent": "",
    "account_confirm_email": "whoever has the link",
    "account_reset_password": "",
    "account_reset_password_done": "",
    "account_reset_password_from_key": "whoever has the link",
    "account_reset_password_from_key_done": "",
    "account_confirm_login_code": "",
    "mfa_authenticate": "the second step of signing in",
    "set_language": "",
    "openid_connect_login": "no service is configured: tests/people/test_provider_sign_in.py",
    "openid_connect_callback": "no service is configured",
    "saml_acs": "no service is configured",
    "saml_finish_acs": "no service is configured",
    "saml_login": "no service is configured",
    "saml_metadata": "no service is configured",
    "saml_sls": "no service is configured",
    "accounts/social/login/cancelled/": "leads to the address that it has now, as the next three",
    "accounts/social/login/error/": "",
    "accounts/social/signup/": "",
    "accounts/social/connections/": "",
    "socialaccount_login_cancelled": "",
    "socialaccount_login_error": "",
    "socialaccount_signup": "leads to the page for signing in",
    "api:schema": "has nothing of anybody's",
    "api:nothing": "says that nothing is there",
}
ONES_OWN = {
    "people:profile-show", "people:data-download", "people:account-delete", "people:token-list",
    "people:session-list", "people:session-end-others", "account_reauthenticate", "account_email",
    "account_change_password", "account_set_password", "mfa_index", "mfa_reauthenticate", "mfa_activate_totp",
    "mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_generate_recovery_codes", "mfa_download_recovery_codes",
    "annotation:work-show", "annotation:history-show", "annotation:feedback-list", "sxs_eval:work-show",
    "sxs_eval:evaluation-list", "gapgame:game-home", "api:docs", "api:me", "api:project-list", "api:work-show",
    "api:own-caption-list", "api:own-feedback-list", "api:rating-work-show", "recruitment:study-finish",
    "socialaccount_connections", "dashboard:email-choices",
}  # fmt: skip
"""For whoever is signed in, who finds there what is theirs."""
OF_MANAGERS = {
    "annotation:project-list", "annotation:project-create", "images:collection-list", "images:collection-create",
    "inference:model-list", "inference:model-create", "inference:translator-create", "inference:captions-import",
    "inference:gallery", "inference:worker-list", "inference:run-list", "inference:run-create",
    "inference:training-list",
    "inference:embedding-list", "inference:embedding-create", "inference:encoder-create",
    "dashboard:search-show", "dashboard:need-list", "dashboard:need-count", "dashboard:need-dismiss",
}  # fmt: skip
"""For who manages anything at all, who finds there what is theirs or shared with all: tests/doors/test_owners.py."""
NOT_BUILT = {
    "practice:practice-start": "a kind and a language: tests/practice/test_practice.py",
    "annotation:batch-move": "to somebody who may take it: tests/annotation/test_reassignment.py",
    "sxs_eval:gold-change": "a gold pair: tests/sxs_eval/test_setup_pages.py",
    "gapgame:leaderboard-show": "a season that is closed: tests/gapgame/test_odd_requests.py",
    "gapgame:vectors-import": "a language of an encoder: tests/gapgame/test_vectors_page.py",
    "gapgame:image-show": "an image of a turn, signed: tests/leaks/test_players.py",
    "inference:trial-image": "a trial of an upload: tests/inference/test_trials_pages.py",
    "people:member-remove": "a membership, where the world names an invitation: tests/people/test_page_access.py",
}
"""Addresses that the world below has nothing for, and where they are asked for with something."""


def somebody() -> Client:
    return signed_in(make_user())


def an_annotator_of_another_project() -> Client:
    return signed_in(make_annotator(make_round(), None))


def a_manager_of_another_project() -> Client:
    return signed_in(make_project().created_by)


def whose_account_was_closed() -> Client:
    """With a session of before."""
    manager = make_project().created_by
    client = signed_in(manager)
    User.objects.filter(pk=manager.pk).update(is_active=False)
    return client


def wrong_doors(
    client: Client, known: Mapping[str, Sequence[object]], *, is_visitor: bool = False, may_manage: bool = False
) -> list[str]:
    """What whoever asks finds, and should not."""
    wrong = []
    for route in ours():
        answers = [asked for address in route.addresses(known) for asked in ask(client, address)]
        wrong += [f"{route.name}: {asked}" for asked in answers if asked.status >= 500]
        if route.name == "people:invitation-accept":
            continue
        wrong += [f"{route.name} tells: {asked}" for asked in answers if asked.told]
        if route.name in ANYBODY or (route.name in ONES_OWN and not is_visitor):
            continue
        if may_manage and route.name in OF_MANAGERS:
            continue
        refused = (403, 404, 405) if route.name in OF_MANAGERS else (404, 405)
        for asked in answers:
            if not (asked.is_to_sign_in if is_visitor else False) and asked.status not in refused:
                wrong.append(f"{route.name} is open: {asked}")
        if all(asked.status == 405 for asked in answers):
            wrong.append(f"{route.name} takes none of the methods that were tried")
    return wrong


NOT_SIGNED_IN = [a_visitor, whose_account_was_closed]
WHO = some(
    [a_visitor, an_annotator_of_another_project, a_manager_of_another_project, whose_account_was_closed, somebody],
    short=3,
    reason="whoever has an account and no project reaches what these reach",
)


@pytest.mark.parametrize("who", WHO, ids=lambda who: who.__name__)
def test_no_door_is_open_to(who: Callable[[], Client], world: World) -> None:
    client = who()
    is_manager = who is a_manager_of_another_project
    wrong = wrong_doors(client, world.known, is_visitor=who in NOT_SIGNED_IN, may_manage=is_manager)
    assert not wrong, "\n".join(wrong)


def test_whoever_has_to_do_with_it_finds_each_of_them(world: World) -> None:
    """The control: nobody would find what is not there, or is asked for in the wrong way."""
    clients = [signed_in(insider) for insider in world.insiders]
    missing = {route.name for route in ours()} - {*ANYBODY, *ONES_OWN, *NOT_BUILT}
    for client in clients:
        for route in ours():
            if route.name in missing:
                addresses = route.addresses(world.known)
                if any(asked.status not in (403, 404, 405) for one in addresses for asked in ask(client, one)):
                    missing.discard(route.name)
    assert not missing, ", ".join(sorted(missing))


def open_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse("nothing of anybody's")


def talking_door(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(f"Not here: {NAME}", status=404)


@pytest.mark.parametrize(("door", "said"), [(open_door, "door is open"), (talking_door, "door tells")])
def test_a_door_that_stands_open_is_found(door: Callable[..., HttpResponse], said: str, world: World) -> None:
    with serving(path("projects/<slug:slug>/door/", door, name="door")):
        wrong = wrong_doors(somebody(), world.known)
    assert any(said in one for one in wrong), wrong


def test_lists_of_doors_name_no_address_that_is_gone() -> None:
    assert {*ANYBODY, *ONES_OWN, *OF_MANAGERS, *NOT_BUILT} <= {route.name for route in ours()}
