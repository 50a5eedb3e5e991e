"""The file of SIGN_IN_PROVIDERS, and roles that groups of another service give."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from core.people.models import Membership, ProvidedRole, Role
from core.people.rules.sign_in_providers import GivenRole, ProvidersFileError, given_roles, is_allowed, read_providers
from core.people.services.members import add_member, follow_groups
from tests.factories import NOW, make_project, make_user

OPENID: dict[str, Any] = {
    "kind": "openid", "id": "uni", "name": "Example University", "server": "https://id.example.org/realms/uni",
    "client_id": "crosslens", "secret": "s3cret",
}  # fmt: skip
SAML: dict[str, Any] = {
    "kind": "saml", "id": "fed", "name": "Federation", "entity_id": "urn:idp", "sign_in_url": "https://idp.example.org/sso",
    "certificate": "MIIC",
}  # fmt: skip


def read(tmp_path, *given: Any):
    path = tmp_path / "sign-in.json"
    path.write_text(given[0] if given and isinstance(given[0], str) else json.dumps(list(given)))
    return read_providers(path)


def test_both_kinds_are_read_with_safe_defaults(tmp_path):
    openid, saml = read(
        tmp_path, OPENID | {"domains": ["Example.ORG"], "roles": {"team": [{"project": "p", "role": "rater"}]}}, SAML
    )
    assert (openid.domains, openid.links_by_address, openid.opens_accounts, openid.trusts_addresses) == (
        ("example.org",), False, False, False,
    )  # fmt: skip
    assert given_roles(openid, ["team", "others"]) == {GivenRole("p", "rater")}
    assert (openid.origins, saml.origins) == (["https://id.example.org"], ["https://idp.example.org"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("{", "is not JSON"),
        ('{"id": 1}', "list of objects"),
        ([OPENID | {"kind": "oauth"}], "“kind” must be openid or saml, not 'oauth'"),
        ([OPENID | {"sever": "x"}], "“sever” is not known for the kind openid"),
        ([OPENID | {"secret": ""}], "service 1: “secret” is missing"),
        ([OPENID | {"server": "http://id.example.org"}], "begins with https://"),
        ([OPENID | {"id": "Uni!"}], "may only have a to z"),
        ([OPENID | {"opens_accounts": "yes"}], "must be true or false"),
        ([OPENID | {"domains": "example.org"}], "“domains” must be a list"),
        ([OPENID | {"domains": ["me@example.org"]}], "“domains” must be a list"),
        ([OPENID | {"roles": {"team": "rater"}}], "“roles” must be like"),
        ([OPENID | {"roles": {"team": [{"project": "p", "role": "boss"}]}}], "'boss' is no role"),
        ([OPENID, SAML | {"id": "uni"}], "two services with the id 'uni'"),
        ([SAML | {"certificate": None}], "“certificate” is missing"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path, given, says):
    with pytest.raises(ProvidersFileError, match=re.escape(says)):
        read(tmp_path, *([given] if isinstance(given, str) else given))


@pytest.mark.parametrize(
    ("address", "allowed"),
    [("a@example.org", True), ("A@EXAMPLE.ORG", True), ("a@lab.example.org", False), ("a@example.org.evil.org", False),
     ("a@notexample.org", False)],
)  # fmt: skip
def test_a_domain_is_the_whole_of_it(address, allowed):
    assert is_allowed(address, ("example.org",)) is allowed
    assert is_allowed(address, ())


@pytest.mark.django_db
class TestGroups:
    def roles(self, user) -> set[str]:
        return set(Membership.objects.filter(user=user).values_list("role", flat=True))

    def test_roles_come_and_go_with_groups_and_those_that_people_gave_stay(self):
        project, user = make_project("lab"), make_user("uma")
        add_member(project=project, user=user, role=Role.PLAYER)
        wanted = [GivenRole("lab", "annotator"), GivenRole("lab", "player"), GivenRole("nowhere", "rater")]
        for _twice in range(2):
            follow_groups(user=user, provider="uni", wanted=wanted, now=NOW)
        assert self.roles(user) == {"annotator", "player"}
        assert ProvidedRole.objects.count() == 1, "a person gave the other"
        follow_groups(user=user, provider="other", wanted=[], now=NOW)
        assert self.roles(user) == {"annotator", "player"}, "another service takes nothing away"
        follow_groups(user=user, provider="uni", wanted=[], now=NOW)
        assert self.roles(user) == {"player"}
        actions = project.audit_entries.order_by("number").values_list("action", flat=True)
        assert [action for action in actions if action.startswith("role.")] == ["role.given", "role.removed"]

    def test_a_role_that_does_not_go_with_another_is_not_given(self):
        project = make_project("lab")
        manager = project.created_by
        follow_groups(user=manager, provider="uni", wanted=[GivenRole("lab", "annotator")], now=NOW)
        assert self.roles(manager) == {"manager"}

    def test_the_last_manager_stays(self):
        project, user = make_project("lab"), make_user("uma")
        follow_groups(user=user, provider="uni", wanted=[GivenRole("lab", "manager")], now=NOW)
        project.memberships.exclude(user=user).delete()
        follow_groups(user=user, provider="uni", wanted=[], now=NOW)
        assert self.roles(user) == {"manager"}
