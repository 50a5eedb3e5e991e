"""Names that an operation lacks are refused, and what would be right is said; lists say where they go on."""

from __future__ import annotations

import pytest

from tests.api.seeded import Program, Seeded, make_seeded
from tests.api.test_work import address, code

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


def test_an_unknown_parameter_is_refused_with_those_that_there_are(mia):
    answer = mia.get(address("caption-list", "lions"), langauge="de")
    assert code(answer) == (422, "invalid")
    assert answer.json()["errors"] == {
        "langauge": ["There is no such name here. Valid names: cursor, limit, language, round."]
    }


def test_an_unknown_field_is_refused_and_nothing_is_made(seeded, mia):
    answer = mia.post(address("release-list", "lions"), title="x", licence="CC-BY-4.0", authors="A, B", colour="red")
    assert list(answer.json()["errors"]) == ["colour"]
    assert not seeded.project.releases.exists()


def test_an_error_about_a_choice_lists_the_valid_values(mia):
    answer = mia.post(address("release-list", "lions"), title="x", licence="beer", authors="A, B")
    assert "CC-BY-4.0" in answer.json()["errors"]["licence"][-1]
    answer = mia.get(address("invitation-list", "lions"), role="king")
    assert "annotator" in answer.json()["errors"]["role"][0]


@pytest.mark.parametrize("name", ["caption-list", "round-list"])
def test_a_language_that_the_project_lacks_is_refused_with_those_that_it_has(name, mia):
    assert mia.get(address(name, "lions"), language="DE").status_code == 200
    for language in ("pl", "no language"):
        answer = mia.get(address(name, "lions"), language=language)
        assert answer.json()["errors"] == {"language": ["Valid values: de, es, fr."]}
    none = mia.get(address("comparison-list", "lions"), language="de")
    assert none.json()["errors"] == {"language": ["There are none yet."]}


def test_a_list_gives_the_whole_address_of_its_next_page_also_as_a_link(mia):
    answer = mia.get(address("caption-list", "lions"), limit=2)
    following = answer.json()["next"]
    assert following.startswith("http://testserver/api/v1/")
    assert answer["Link"] == f'<{following}>; rel="next"'
    assert not mia.get(address("caption-list", "lions")).has_header("Link")
