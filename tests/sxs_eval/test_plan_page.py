"""The page that proposes comparisons and makes those that are chosen."""

from __future__ import annotations

import re

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core.people.models import AuditEntry, Membership, Role
from research.inference.models import CaptioningModel, ModelCaption
from research.selection.models import Subset
from sxs_eval import tasks
from sxs_eval.models import Comparison
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.services.planning import ChosenPair, create_planned
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import NOW, make_comparison, make_language, make_user
from tests.selection.placing import make_subset, place, say_where_spoken
from tests.sxs_eval.planning import SCORES, create, describe, form_of, keys_of, page_of, rows_of, seen_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("models")]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("role", [Role.MANAGER, Role.RESEARCHER])
def test_managers_and_researchers_see_the_thresholds_and_the_core_languages(project, role):
    person = make_user("rosa")
    Membership.objects.create(project=project, user=person, role=role)

    page = client_of(person).get(page_of(project))

    assert page.status_code == 200
    assert 'value="zh, en, hi, es"' in page.content.decode()
    assert re.search(r'name="small" value="1"', page.content.decode())
    assert "assume 20" in page.content.decode()


def test_the_proposal_says_why_and_what_it_costs_and_ticks_no_pair_without_a_score(manager, project, collection):
    page = manager.post(page_of(project), form_of(collection))
    text = page.content.decode()
    rows = rows_of(page)

    assert page.status_code == 200
    row, is_ticked = rows["de", "Alpha", "Beta"]
    assert is_ticked
    assert row.differences == ["+2", "−5"]
    assert [str(reason) for reason in row.reasons] == ["the two sets disagree"]
    assert (row.cost.images, row.cost.judgements, row.cost.attention) == (3, 9, 2)
    assert rows["zh", "Alpha", "Beta"][1]
    clear, is_ticked = rows["de", "Alpha", "Gamma"]
    assert (clear.differences, clear.reasons, is_ticked) == (["+20", "+20"], [], False)
    assert page.context["ticked"].judgements == 18
    assert page.context["ticked"].hours == pytest.approx((18 + 4) * 20 / 3600)
    for part in ("2 comparisons proposed", "2 pairs are clear", "−5", "core language", "no session is planned there"):
        assert part in text
    assert not Comparison.objects.exists()
    row, is_ticked = rows_of(page)["zh", "Alpha", "Gamma"]
    assert (row.differences, is_ticked) == (["–", "–"], False)
    assert "Gamma has no scores in zh." in page.content.decode()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_click_creates_what_is_ticked_with_one_seed_and_has_its_pairs_made(
    manager, project, collection, models, django_capture_on_commit_callbacks, monkeypatch
):
    asked: list[int] = []
    monkeypatch.setattr(tasks.fill_comparison, "delay", asked.append)
    with django_capture_on_commit_callbacks(execute=True):
        answer = create(manager, project, form_of(collection))

    made = list(Comparison.objects.order_by("language_id"))
    assert answer.status_code == 302
    assert answer.url == reverse("sxs_eval:comparison-list", args=[project.slug])
    assert [(comparison.language_id, comparison.base.name, comparison.test.name) for comparison in made] == [
        ("de", "Alpha", "Beta"),
        ("zh", "Alpha", "Beta"),
    ]
    assert sorted(asked) == sorted(comparison.pk for comparison in made)
    for comparison in made:
        assert (comparison.collection, comparison.subset, comparison.seed, comparison.scale) == (collection, 3, 7, 7)
        assert (comparison.replication, comparison.gold_percent, comparison.repeat_percent) == (3, 10, 5)
        assert (comparison.created_by, comparison.project) == (project.created_by, project)
    assert AuditEntry.objects.filter(project=project, action="comparison.added").count() == 2


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_clear_pair_can_be_ticked_and_a_proposed_one_left_out(manager, project, collection, models):
    ids = sorted((models["Alpha"].pk, models["Gamma"].pk))

    create(manager, project, form_of(collection), f"de:{ids[0]}:{ids[1]}")

    [made] = Comparison.objects.all()
    assert (made.language_id, made.base.name, made.test.name) == ("de", "Alpha", "Gamma")


@pytest.mark.parametrize(("metric", "chosen_by"), [("cider-d", "cider-d"), ("", "*")])
def test_comparisons_proposed_by_their_scores_say_by_which_metric(
    manager, project, collection, models, metric, chosen_by
):
    create(manager, project, form_of(collection, metric=metric))

    made = Comparison.objects.order_by("language_id").values_list("language", "chosen_by")
    assert list(made) == [("de", chosen_by), ("zh", "")], "Chinese is a core language."


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_people_who_create_the_same_plan_at_once_make_it_once(collection, project, models):
    chosen = [ChosenPair(make_language(tag), models["Alpha"], models["Beta"]) for tag in ("de", "zh")]
    turned = [ChosenPair(pair.language, pair.test, pair.base) for pair in chosen]

    created = together(
        lambda sessions: create_planned(
            project=project,
            chosen=sessions,
            collection=collection,
            setting=ComparisonSetting(subset=3, seed=7),
            by=project.created_by,
            now=NOW,
        ),
        [chosen, turned, chosen, turned],
    )

    assert Comparison.objects.count() == 2
    assert sorted(len(made) for made, _there in created) == [0, 0, 0, 2]
    assert sum(there for _made, there in created) == 6


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("changed", "is_there"),
    [({}, True), ({"seed": 8}, False), ({"subset": 2}, False), ({"subset": None}, False), ({"language": "zh"}, False)],
)
def test_a_comparison_of_the_same_images_is_there_already_whichever_model_is_the_base(
    manager, project, collection, models, changed, is_there
):
    existing = make_comparison(
        project=project,
        collection=collection,
        base=models["Beta"],
        test=models["Alpha"],
        **({"subset": 3, "seed": 7, "language": "de"} | changed),
    )

    page = manager.post(page_of(project), form_of(collection))
    row, is_ticked = rows_of(page)["de", "Alpha", "Beta"]

    assert (row.existing == existing) == is_there
    assert is_ticked != is_there
    assert ("Already exists" in page.content.decode()) == (is_there or changed == {"language": "zh"})


def test_of_a_whole_collection_another_seed_is_no_other_comparison(manager, project, collection, models):
    make_comparison(project=project, collection=collection, base=models["Alpha"], test=models["Beta"], seed=1)

    page = manager.post(page_of(project), form_of(collection, subset="", seed="2"))

    assert rows_of(page)["de", "Alpha", "Beta"][0].existing is not None


def test_the_same_comparison_in_another_project_is_of_no_matter(manager, project, collection, models):
    make_comparison(collection=collection, base=models["Alpha"], test=models["Beta"], subset=3, seed=7)

    page = manager.post(page_of(project), form_of(collection))

    assert rows_of(page)["de", "Alpha", "Beta"][0].existing is None


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ("language,model,a,b\nde,Alpha,1,2\nde,Delta,1,2\n", "No model is registered under this name: Delta."),
        ("language,model,a,b\nde,Ä,1,2\nde,Ö,1,2\n", "No models are registered under these names: Ä, Ö."),
        ("language,model,a,b\ntlh,Alpha,1,2\ntlh,Beta,1,2\n", "The language tlh is not in the table of languages."),
        (
            "language,model,a,b\nfr,Alpha,1,2\nfr,Beta,1,2\n",
            "This collection has no captions in this language by: Alpha, Beta.",
        ),
    ],
)
def test_what_cannot_be_compared_here_is_told_in_its_row_and_cannot_be_made(
    manager, project, collection, scores, problem
):
    page = manager.post(page_of(project), form_of(collection, scores=scores))
    [(row, is_ticked)] = rows_of(page).values()

    assert (row.problem, row.key, is_ticked) == (problem, "", False)
    assert problem in page.content.decode()
    assert page.context["ticked"].judgements == 0
    forged = create(manager, project, form_of(collection, scores=scores), "", "fr:1:2")
    assert forged.status_code == 422
    assert not Comparison.objects.exists()


def test_images_count_that_both_models_describe(manager, project, collection):
    entries = list(collection.entries.all())
    for name, part in (("Early", entries[:3]), ("Late", entries[1:]), ("First", entries[:1]), ("Rest", entries[1:])):
        model = CaptioningModel.objects.create(is_shared=True, name=name)
        ModelCaption.objects.bulk_create(
            ModelCaption(model=model, image_id=entry.image_id, language_id="de", text=name) for entry in part
        )
    scores = "language,model,a,b\n" + "".join(
        f"de,{name},1,2\n" for name in ("Alpha", "Early", "Late", "First", "Rest")
    )

    rows = rows_of(manager.post(page_of(project), form_of(collection, scores=scores, subset="")))

    assert rows["de", "Alpha", "Early"][0].cost.images == 3
    assert rows["de", "Early", "Late"][0].cost.images == 2
    nothing = rows["de", "First", "Rest"][0]
    assert (nothing.key, nothing.problem) == ("", "No image in the collection has captions by both models.")


@pytest.mark.parametrize("changed", [{"small": "30"}, {"seed": "8"}, {"scores": SCORES + "zh,Gamma,1,1\n"}])
def test_nothing_is_made_from_a_form_that_was_changed_since_the_proposal(manager, project, collection, changed):
    answer = create(manager, project, form_of(collection), **changed)

    assert answer.status_code == 422
    assert "No comparisons were created, because you changed the form" in answer.content.decode()
    assert not Comparison.objects.exists()


def test_without_a_tick_nothing_is_made_and_that_is_said(manager, project, collection):
    answer = create(manager, project, form_of(collection), "no:such:row")

    assert answer.status_code == 422
    assert "Select at least one comparison" in answer.content.decode()
    assert keys_of(answer) == []


def test_ticks_stay_where_the_form_is_sent_again_and_its_comparisons_are_made_once(manager, project, collection):
    proposal = manager.post(page_of(project), form_of(collection))
    [key, *_rest] = keys_of(proposal)

    again = manager.post(page_of(project), form_of(collection, seen=seen_of(proposal), session=key))

    assert keys_of(again) == [key]
    assert again.context["ticked"].sessions == 1
    form = form_of(collection) | {"session": keys_of(proposal), "seen": seen_of(proposal), "create": ""}

    answers = [manager.post(page_of(project), form) for _time in range(2)]

    assert [answer.status_code for answer in answers] == [302, 302]
    assert Comparison.objects.count() == 2
    said = [str(message) for message in get_messages(answers[1].wsgi_request)]
    assert any("2 comparisons already existed" in message for message in said)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_as_many_queries_are_made_for_many_pairs_as_for_few(manager, project, collection):
    def queries_for(*names: str) -> int:
        rows = "".join(f"{tag},{name},1,2\n" for tag in ("de", "zh") for name in names)
        with CaptureQueriesContext(connection) as queries:
            page = manager.post(page_of(project), form_of(collection, scores="language,model,a,b\n" + rows))
        assert len(keys_of(page)) == len(names) * (len(names) - 1)
        return len(queries)

    manager.get(page_of(project))
    for number in range(6):
        describe(collection, f"m{number}", "de", "zh")

    assert queries_for("Alpha", "Beta") == queries_for("Alpha", "Beta", *(f"m{number}" for number in range(6)))


def test_thresholds_of_the_form_are_those_of_the_proposal(manager, project, collection):
    everything = manager.post(page_of(project), form_of(collection, small="30", core=""))
    percent = manager.post(page_of(project), form_of(collection, small="", small_percent="4", core=""))

    assert rows_of(everything)["de", "Alpha", "Gamma"][1]
    assert "Every difference counts as small" in everything.content.decode()
    assert [str(reason) for reason in rows_of(percent)["de", "Alpha", "Beta"][0].reasons] == [
        "the two sets disagree",
        "small difference",
    ]
    assert not rows_of(percent)["de", "Alpha", "Gamma"][1]


class TestImageFilter:
    @pytest.fixture
    def subset(self, project, collection) -> Subset:
        return make_subset(project, "xm2", [entry.image for entry in collection.entries.order_by("position")[:2]])

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_plan_over_a_subset_counts_and_compares_its_images_alone(
        self, manager, project, collection, subset, nudged
    ):
        form = form_of(collection, only=" SUBSET:xm2 ", subset="")
        row, _ = rows_of(manager.post(page_of(project), form))["de", "Alpha", "Beta"]
        assert (row.images, row.cost.images) == (2, 2)
        create(manager, project, form)
        assert {made.images for made in Comparison.objects.all()} == {"subset:xm2"}
        row, is_ticked = rows_of(manager.post(page_of(project), form))["de", "Alpha", "Beta"]
        assert row.existing is not None
        assert not is_ticked
        row, _ = rows_of(manager.post(page_of(project), form_of(collection, subset="")))["de", "Alpha", "Beta"]
        assert (row.images, row.existing) == (4, None)

    def test_a_filter_by_language_leaves_other_images_in_each(self, manager, project, collection):
        say_where_spoken(project, {"de": {"region": ["DE"], "country": ["DE"], "continent": ["EU"]}})
        place(collection.entries.first().image, "DE", continent="EU")
        rows = rows_of(manager.post(page_of(project), form_of(collection, only="region")))
        assert rows["de", "Alpha", "Beta"][0].images == 1
        assert "says nothing about" in rows["zh", "Alpha", "Beta"][0].problem
        place(collection.entries.first().image, "FR", continent="EU")
        row, _ = rows_of(manager.post(page_of(project), form_of(collection, only="region")))["de", "Alpha", "Beta"]
        assert "The images that the filter leaves have no captions in this language by" in row.problem

    def test_an_unknown_subset_is_named_before_a_plan_is_proposed(self, manager, project, collection):
        page = manager.post(page_of(project), form_of(collection, only="subset:none"))
        assert page.status_code == 422
        assert "This project has no subset “none”." in page.content.decode()
