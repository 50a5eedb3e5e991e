"""Names that an operation lacks are refused, and what would be right is said; lists say where they go on."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from rest_framework import serializers

from core.people.api.requested import MAX_LISTED, check_form
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
    answer = mia.get(address("rating-list", "lions"), langauge="de")
    assert code(answer) == (422, "invalid")
    assert answer.json()["errors"] == {
        "langauge": ["There is no such name here. Valid names: cursor, limit, language, round."]
    }


def test_a_parameter_that_comes_twice_where_one_counts_is_refused(mia):
    answer = mia.get(f"{address('caption-list', 'lions')}?language=de&language=fr")
    assert code(answer) == (422, "invalid")
    assert answer.json()["errors"] == {"language": ["Give it once."]}
    export = f"{address('export-show', 'lions')}?what=captions&format=csv&language=de&language=fr"
    assert mia.get(export).status_code == 200


def test_what_is_not_found_is_not_called_by_the_name_of_its_table(mia):
    answer = mia.get(address("comparison-show", "lions", 999_999))
    assert code(answer) == (404, "not-found")
    assert answer.json()["detail"] == "Not found."


def test_an_unknown_field_is_refused_and_nothing_is_made(seeded, mia):
    answer = mia.post(address("release-list", "lions"), title="x", licence="CC-BY-4.0", authors="A, B", colour="red")
    assert list(answer.json()["errors"]) == ["colour"]
    assert not seeded.project.releases.exists()


def test_an_error_about_a_choice_lists_the_valid_values(mia):
    answer = mia.post(address("release-list", "lions"), title="x", licence="beer", authors="A, B")
    assert "CC-BY-4.0" in answer.json()["errors"]["licence"][-1]
    answer = mia.get(address("invitation-list", "lions"), role="king")
    assert "annotator" in answer.json()["errors"]["role"][0]


@pytest.mark.parametrize(("choices", "says_which"), [(3, True), (MAX_LISTED + 1, False)])
def test_a_choice_that_a_form_refuses_is_answered_with_the_valid_values_if_they_are_few(choices, says_which):
    class ColourForm(forms.Form):
        colour = forms.ChoiceField(choices=[(f"c{number}", "") for number in range(choices)])

    with pytest.raises(serializers.ValidationError) as refused:
        check_form(ColourForm({"colour": "red"}))
    detail: Any = refused.value.detail
    reasons = detail["colour"]
    assert "red" in reasons[0]
    assert reasons[1:] == (["Valid values: c0, c1, c2."] if says_which else [])


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
