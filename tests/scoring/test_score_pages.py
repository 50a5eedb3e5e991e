"""Pages of scores: what they say, what they warn of, and whom they say nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from charts.texts import signed_number
from core.images.models import ImportJob
from core.jobs.models import JobState
from core.people.models import Membership, Role
from research.inference.models import ModelCaption
from research.scoring.forms import scores as forms
from research.scoring.models import Pass, ReferenceKind, ReferenceSet, Scoring
from research.scoring.selectors.scores import shown_times, title_of
from research.scoring.services.references import put_references
from research.scoring.services.scorings import ask_again, ask_where_changed
from tests.annotation.submitting import take
from tests.exported import export_address
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_comparison,
    make_project,
    make_rater,
    make_round,
    make_user,
    make_vectors,
)
from tests.queries import queries_of
from tests.scoring.scored import make_references, make_scoring, run
from tests.sxs_eval.judged import judge_all, keys_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def references(project):
    return make_references(project=project, collection=make_collection(4))


@pytest.fixture
def good(references):
    """Of a model that says what people say."""
    model = make_captioner(references.collection, "Good", text="test caption", language="de")
    return make_scoring(references, model=model)


@pytest.fixture
def poor(references):
    model = make_captioner(references.collection, "Poor", text="something else", language="de")
    return make_scoring(references, model=model)


@pytest.fixture
def both_done(good, poor):
    for scoring in (good, poor):
        run(scoring)


@pytest.fixture
def manager(client, project):
    client.force_login(project.created_by)
    return client


def address(name, *rest, slug="lions"):
    return reverse(f"scoring:{name}", args=[slug, *rest])


def csv_of(client, at):
    return b"".join(client.get(at).streaming_content).decode()


def images_of(response):
    return [shown["key"] for shown in response.context["listing"]["images"]]


def test_what_a_figure_cannot_say_stands_above_it_and_in_the_file(manager, project):
    alike = make_references(project=project, collection=make_collection(2), texts=["a dog runs", "..."])
    scoring = make_scoring(alike)
    run(scoring)

    addresses = [address("score-list"), address("scoring-show", scoring.pk), export_address("lions", "scores")]
    for text in [text_of(manager.get(addresses[0])), text_of(manager.get(addresses[1])), csv_of(manager, addresses[2])]:
        assert "CIDEr is 0 by definition, whatever the captions are" in text
        assert "0 of 2 candidates and 2 of 4 references are not blank, but have no token by whitespace-1+norm-1" in text


class TestTable:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_models_stand_with_their_metrics_times_100_and_the_best_is_marked(self, manager, both_done):
        text = text_of(manager.get(address("score-list")))
        assert "German · People" in text
        assert "100.0 ★ best" in text
        assert text.index("Good") < text.index("Poor")

    def test_it_can_be_sorted_by_any_column_either_way(self, manager, both_done):
        firsts = {"": "Good", "-model": "Poor", "-cider-d": "Good", "cider-d": "Poor", "x": "Good"}
        for sort, first in firsts.items():
            (group,) = manager.get(address("score-list"), {"sort": sort}).context["page"]["groups"]
            assert group["lines"][0]["row"].scoring.model.name == first, sort

    def test_a_language_without_scores_shows_none_and_a_metric_alone_all_languages_in_one_table(self, manager, good):
        run(good)
        assert "No scores match" in text_of(manager.get(address("score-list"), {"language": "fr"}))
        page = manager.get(address("score-list"), {"metric": "rouge-l"}).context["page"]
        assert [head.label for head in page["heads"]] == ["Model", "ROUGE-L"]
        assert page["matrix"]["plot"]["summary"] == "German: Good 100.0"

    def test_scores_on_different_references_come_with_a_warning_and_without_a_best(self, manager, good, poor):
        caption = ModelCaption.objects.filter(model=poor.model).order_by("pk").first()
        caption.delete()
        run(good)
        run(poor)
        response = manager.get(address("score-list"))
        text = text_of(response)
        ((what, _parts),) = response.context["page"]["groups"][0]["unlike"]
        assert what.startswith("CIDEr-D, BLEU-1, ")
        assert f"{what}: these should not be compared, because they differ in references:" in text
        assert "★" not in text
        assert "1 missing" in text

    @pytest.mark.postgres
    def test_what_is_being_computed_is_polled_for_until_it_is_there(self, manager, good):
        page = manager.get(address("score-list"))
        assert 'hx-trigger="every 2s"' in page.text
        assert "Computing: 0 of 3 metrics" in text_of(page)
        polled = manager.get(address("scores-progress"), headers={"HX-Request": "true"})
        assert "HX-Refresh" not in polled
        run(good)
        assert manager.get(address("scores-progress"), headers={"HX-Request": "true"})["HX-Refresh"] == "true"
        assert manager.get(address("scores-progress")).status_code == 302

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_changed_references_make_it_out_of_date(self, manager, good, references):
        run(good)
        assert "out of date" not in text_of(manager.get(address("score-list")))
        image = references.collection.entries.first().image_id
        put_references(reference_set=references, captions={image: ["ganz anders"]}, now=NOW)
        assert "out of date" in text_of(manager.get(address("score-list")))
        assert "have changed since" in text_of(manager.get(address("scoring-show", good.pk)))

    def test_captions_that_came_since_are_counted_for_one_scoring_and_never_for_a_list(self, manager, good):
        run(good)
        assert "have changed since" not in text_of(manager.get(address("scoring-show", good.pk)))
        ModelCaption.objects.filter(model=good.model).order_by("pk").first().delete()
        assert "have changed since" in text_of(manager.get(address("scoring-show", good.pk)))
        with CaptureQueriesContext(connection) as queries:
            assert "out of date" not in text_of(manager.get(address("score-list")))
        assert not [query for query in queries.captured_queries if "inference_modelcaption" in query["sql"]]
        (asked,) = ask_where_changed(now=NOW)
        assert Pass.objects.get(pk=asked).scoring == good
        assert "running" in text_of(manager.get(address("score-list")))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_queries_do_not_grow_with_models_and_languages(self, manager, project, good):
        run(good)

        def queries():
            with CaptureQueriesContext(connection) as queries:
                assert manager.get(address("score-list")).status_code == 200
            return len(queries)

        few = queries()
        for language in ("fr", "es"):
            more = make_references(project=project, collection=good.references.collection, language=language)
            for _model in range(2):
                run(make_scoring(more))
        assert queries() == few

    def test_files_have_the_values_themselves(self, manager, good):
        scored = run(good)
        response = manager.get(export_address("lions", "scores"))
        value = scored.scores.get(metric="cider-d").value
        assert f'"{value!r}"' in b"".join(response.streaming_content).decode()


class TestSettingUp:
    def test_a_scoring_is_set_up_in_two_steps(self, manager, references):
        model = make_captioner(references.collection, "Good", text="test caption", language="de")
        first = manager.get(address("scoring-create"))
        assert "German: People (4 images)" in text_of(first)
        where = f"{address('scoring-create')}?references={references.pk}"
        second = manager.get(where)
        assert "Good (4 of 4 images)" in text_of(second)
        sent = {"models": [model.pk], "metrics": ["bleu", "cider-d"], "tokenizer": "whitespace", "normalise": "on"}
        assert manager.post(where, sent)["Location"] == address("score-list")
        scoring = Scoring.objects.get()
        assert (scoring.metrics, scoring.normalise) == (["bleu", "cider-d"], True)
        assert scoring.passes.count() == 1

    def test_all_languages_and_models_are_scored_in_one_step(self, manager, project, references):
        japanese = make_references(project=project, collection=references.collection, language="ja")
        good = make_captioner(references.collection, "Good", language="de")
        make_captioner(references.collection, "Plain", language="de")
        for caption in good.captions.all():
            good.captions.create(image=caption.image, language_id="ja", text=caption.text)
        form = manager.get(address("scoring-create")).context["several"]
        sent = {f"many-{name}": form.fields[name].initial for name in ("references", "models", "metrics")}
        assert manager.post(address("scoring-create"), {"many": "1", **sent})["Location"] == address("score-list")
        made = Scoring.objects.values_list("model__name", "references", "tokenizer")
        german = [(name, references.pk, "whitespace") for name in ("Good", "Plain")]
        assert sorted(made) == sorted([*german, ("Good", japanese.pk, "icu")])

    def test_nothing_ticked_scores_nothing(self, manager, project, references):
        make_references(project=project, collection=references.collection, language="ja")
        answer = manager.post(address("scoring-create"), {"many": "1"})
        assert (answer.status_code, Scoring.objects.exists()) == (422, False)

    def test_nothing_chosen_is_said_and_nothing_made(self, manager, references):
        make_captioner(references.collection, "Good", text="test caption", language="de")
        response = manager.post(f"{address('scoring-create')}?references={references.pk}", {"tokenizer": "icu"})
        assert response.status_code == 422
        assert not Scoring.objects.exists()

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(("language", "tokenizer"), [("de", "whitespace"), ("ja", "icu"), ("th", "icu")])
    def test_tokens_are_found_by_icu_where_no_spaces_are_written(self, manager, project, language, tokenizer):
        references = make_references(project=project, language=language)
        make_captioner(references.collection, language=language)
        page = manager.get(address("scoring-create"), {"references": references.pk})
        assert page.context["form"]["tokenizer"].initial == tokenizer

    def test_word_vectors_are_offered_only_with_translated_references(self, manager, project, references):
        make_vectors("de")
        translated = make_references(
            project=project, collection=references.collection, name="Translated", kind=ReferenceKind.TRANSLATED
        )
        make_captioner(references.collection, language="de")
        fields = [
            set(manager.get(address("scoring-create"), {"references": one.pk}).context["form"].fields)
            for one in (references, translated)
        ]
        assert "vectors" not in fields[0]
        assert "vectors" in fields[1]

    def test_what_needs_java_says_so_and_whether_it_is_there(self, manager, references, monkeypatch):
        make_captioner(references.collection, language="de")
        monkeypatch.setattr(forms, "why_no_java", lambda: "There is no Java here.")
        text = text_of(manager.get(address("scoring-create"), {"references": references.pk}))
        assert "need Java and the public COCO tool. There is no Java here." in text


class TestOneScoring:
    def test_it_shows_signatures_and_what_changed_between_passes(self, manager, good, references):
        run(good)
        image = references.collection.entries.first().image_id
        put_references(reference_set=references, captions={image: ["ganz anders"]}, now=NOW)
        ask_again(scoring=good, now=NOW + timedelta(hours=1))
        run(good, at=NOW + timedelta(hours=1))
        text = text_of(manager.get(address("scoring-show", good.pk)))
        assert "cider-d|v:1|text:whitespace-1+norm-1" in text
        assert "References changed." in text

    def test_it_can_be_computed_anew_and_removed(self, manager, good):
        run(good)
        manager.post(address("scoring-again", good.pk))
        assert good.passes.count() == 2
        assert "with their history" in text_of(manager.get(address("scoring-drop", good.pk)))
        assert manager.post(address("scoring-drop", good.pk))["Location"] == address("score-list")
        assert not Scoring.objects.exists()

    def test_a_failed_pass_says_why(self, manager, project):
        empty = make_references(project=project, texts=["eins"])
        model = make_captioner(make_collection(1), "Elsewhere", language="de")
        scoring = make_scoring(empty, model=model)
        assert run(scoring).state == JobState.FAILED
        for name, rest in (("scoring-show", [scoring.pk]), ("score-list", [])):
            assert "has no caption in German" in text_of(manager.get(address(name, *rest)))


class TestImages:
    def test_the_worst_come_first_and_the_best_where_asked(self, manager, references):
        model = make_captioner(references.collection, "Mixed", text="test caption", language="de")
        bad = ModelCaption.objects.filter(model=model).order_by("-pk").first()
        ModelCaption.objects.filter(pk=bad.pk).update(text="ganz was anderes")
        scoring = make_scoring(references, model=model)
        run(scoring)
        key = references.collection.entries.get(image=bad.image_id).key
        where = address("scoring-images", scoring.pk)
        worst = manager.get(where, {"metric": "rouge-l"})
        assert images_of(worst)[0] == key
        assert images_of(manager.get(where, {"metric": "rouge-l", "show": "best"}))[-1] == key
        content = worst.text
        assert '<dd class="pair__caption" lang="de" dir="auto">ganz was anderes</dd>' in content
        assert f'<dd lang="de" dir="auto">an image of {key}</dd>' in content

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_cannot_be_asked_for_gives_the_nearest_there_is(self, manager, good):
        run(good)
        for asked in ({"page": "99"}, {"page": "x"}, {"metric": "?"}, {"show": "?", "against": "-1"}):
            assert len(images_of(manager.get(address("scoring-images", good.pk), asked))) == 4, asked

    def test_a_metric_is_put_beside_what_people_said_of_the_same_pair(
        self, manager, project, references, both_done, good, poor
    ):
        comparison = make_comparison(
            project=project, collection=references.collection, base=poor.model, test=good.model, replication=1
        )
        scores = dict(zip(keys_of(comparison), [-3, 3, 3, 3], strict=True))
        judge_all(comparison, make_rater(comparison), scores)
        response = manager.get(address("scoring-images", good.pk), {"metric": "rouge-l", "show": "disagreement"})
        assert images_of(response)[0] == keys_of(comparison)[0]
        assert "the metric rates it higher" in text_of(response)
        assert "People: −3.0" in text_of(response)
        seen_from_below = manager.get(address("scoring-images", poor.pk), {"show": "disagreement"})
        assert "People: +3.0" in text_of(seen_from_below)
        asked = queries_of(lambda: manager.get(address("scoring-images", good.pk), {"show": "worst"}))
        assert not any("sxs_eval_comparison" in query for query in asked), "judgements are read where shown"

    def test_without_judgements_or_scores_of_the_other_it_says_what_lacks(self, manager, project, references, good):
        run(good)
        where, asked = address("scoring-images", good.pk), {"show": "disagreement"}
        assert "Nobody has compared" in text_of(manager.get(where, asked))
        comparison = make_comparison(project=project, collection=references.collection, test=good.model, replication=1)
        judge_all(comparison, make_rater(comparison), dict.fromkeys(keys_of(comparison), 1))
        assert "Score it first" in text_of(manager.get(where, asked))

    def test_nothing_of_images_in_ones_own_hands_is_shown(self, client, project, references, both_done, good, poor):
        round = make_round(project=make_project(), collection=references.collection)
        person = make_annotator(round)
        Membership.objects.create(project=project, user=person, role=Role.RESEARCHER)
        take(round, person, now=timezone.now())
        client.force_login(person)
        assert client.get(address("scoring-images", good.pk))["Location"] == address("scoring-show", good.pk)
        compared = client.get(address("score-compare"), {"test": good.pk, "base": poor.pk})
        closed = [compared, client.get(address("reference-show", references.pk))]
        for response in closed:
            assert "an unfinished batch" in text_of(response)
            assert "an image of" not in text_of(response)
        refused = client.get(reverse("api:reference-captions", args=["lions", references.pk]))
        assert (refused.status_code, refused.json()["code"]) == (409, "images-assigned")
        files = [client.get(export_address("lions", what)) for what in ("image-scores", "scores")]
        assert [file.status_code for file in files] == [422, 200]


class TestTwoModels:
    def test_differences_have_intervals_and_the_images_that_are_farthest_apart(self, manager, both_done, good, poor):
        response = manager.get(address("score-compare"), {"test": good.pk, "base": poor.pk, "method": "permutation"})
        text = text_of(response)
        assert "Good − Poor" in text
        assert "Difference over the 4 images that both describe" in text
        assert "smallest possible: 0.1250" in text
        assert "Fewer than 8 images are not resampled" in text
        assert "bootstrap resamples" not in text
        assert "Good is ahead" in text
        assert "Poor is ahead" not in text
        again = manager.get(address("score-compare"), {"test": good.pk, "base": poor.pk, "method": "permutation"})
        assert again.context["comparison"] == response.context["comparison"]

    def test_programs_read_the_same_figures(self, manager, project, both_done, good, poor):
        where, asked = reverse("api:scores-compare", args=["lions"]), {"test": good.pk, "base": poor.pk}
        for method in ("bootstrap", "permutation"):
            page = manager.get(address("score-compare"), {**asked, "method": method}).context["comparison"]
            told = manager.get(where, {**asked, "method": method}).json()
            assert told["results"]
            for one, line in zip(told["results"], page["lines"], strict=True):
                assert (title_of(one["metric"]), one["images"]) == (line["title"], page["images"])
                assert f"{one['p']:.4f}" in line["p"]
                times = shown_times(one["metric"])
                assert line["difference"] == signed_number(one["difference"] * times, 2)
        assert (told["method"], told["seed"], told["resamples"]) == ("permutation", page["seed"], page["resamples"])
        wrong = manager.get(where, {"test": good.pk, "base": good.pk})
        assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["base"])
        assert str(poor.pk) in manager.get(where, {"test": "x", "base": poor.pk}).json()["errors"]["test"][-1]

    def test_two_sets_of_references_are_not_compared(self, manager, project, good):
        run(good)
        other = make_scoring(make_references(project=project, name="Others", collection=good.references.collection))
        run(other)
        text = text_of(manager.get(address("score-compare"), {"test": good.pk, "base": other.pk}))
        assert "different references" in text


class TestReferences:
    def test_a_researcher_sees_the_report_of_their_own_file_and_no_other(self, client, project):
        person = make_user()
        Membership.objects.create(project=project, user=person, role=Role.RESEARCHER)
        client.force_login(person)
        own = ImportJob.objects.create(kind="refs", source_name="r.jsonl", created_by=person)
        other = ImportJob.objects.create(kind="refs", source_name="r.jsonl", created_by=project.created_by)
        statuses = [client.get(reverse("images:import-show", args=[job.pk])).status_code for job in (own, other)]
        assert statuses == [200, 404]

    def test_a_set_is_listed_shown_and_removed_unless_something_stands_on_it(self, manager, references):
        assert "German People" in text_of(manager.get(address("reference-list")))
        shown = manager.get(address("reference-show", references.pk))
        assert "test caption of" in text_of(shown)
        scoring = make_scoring(references)
        manager.post(address("reference-drop", references.pk))
        assert ReferenceSet.objects.exists()
        scoring.delete()
        manager.post(address("reference-drop", references.pk))
        assert not ReferenceSet.objects.exists()

    def test_right_to_left_captions_find_their_direction(self, manager, project):
        references = make_references(project=project, language="ar", texts=["قطة"])
        content = manager.get(address("reference-show", references.pk)).text
        assert '<li lang="ar" dir="auto">قطة</li>' in content
