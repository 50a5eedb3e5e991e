"""Guidelines: version after version, with examples that give nobody's caption away, and what changed."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import GuidelineExample, Guidelines, Rating, Round
from annotation.rules.word_diff import ADDED, REMOVED, UNCHANGED, TextPiece, word_diff
from annotation.selectors.guidelines import examples_for
from annotation.services import batches, campaign
from annotation.services.projects import StaleGuidelinesError, publish_guidelines
from core.allocation.models import Pool
from core.images.models import Image
from core.people.models import AuditEntry, LanguageLevel, LanguageSkill, Membership, Project, Role, User
from tests.annotation.submitting import submit_captions, take, write
from tests.clients import client_of
from tests.factories import NOW, make_annotator, make_language, make_project, make_round
from tests.kept import kept


def publish(project: Project, *, examples=(), **fields) -> Guidelines:
    values = {"rating": "Choose a level.\n", "writing": "Write two sentences.\n", "note": "Two sentences now."}
    return publish_guidelines(project=project, examples=examples, by=project.created_by, now=NOW, **(values | fields))


def example(round: Round, language: str = "en", image: Image | None = None) -> GuidelineExample:
    return GuidelineExample(
        image=image or round.tasks.order_by("pk").first().image,
        language=make_language(language),
        caption="Zwei Boote <am> Strand",
        level=Rating.EXCELLENT,
        why="It names **both**.",
    )


def page_of(project: Project, user: User, query: str = "") -> str:
    response = client_of(user).get(reverse("annotation:guidelines-show", args=[project.slug]) + query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@kept
def round() -> Round:
    return make_round(images=2, batch_size=2)


class TestComparing:
    def test_words_are_compared_and_the_pieces_are_both_texts(self):
        before, after = "Name the people.\nOne sentence.\n", "Name all people.\nOne sentence.\nNo guesses.\n"
        pieces = word_diff(before, after)
        assert pieces == [
            TextPiece(UNCHANGED, "Name "),
            TextPiece(REMOVED, "the"),
            TextPiece(ADDED, "all"),
            TextPiece(UNCHANGED, " people.\nOne sentence.\n"),
            TextPiece(ADDED, "No guesses.\n"),
        ]
        assert "".join(piece.text for piece in pieces if piece.kind != ADDED) == before
        assert "".join(piece.text for piece in pieces if piece.kind != REMOVED) == after

    @pytest.mark.parametrize(("before", "after"), [("", ""), ("", "New.\n"), ("Old.\n", ""), ("Same\n", "Same\n")])
    def test_texts_that_are_empty_or_the_same_are_compared_too(self, before, after):
        pieces = word_diff(before, after)
        assert "".join(piece.text for piece in pieces if piece.kind != ADDED) == before
        assert "".join(piece.text for piece in pieces if piece.kind != REMOVED) == after


@pytest.mark.django_db
class TestPublishing:
    def test_batches_taken_from_now_on_have_it_and_those_assigned_keep_theirs(self, round):
        ann, bob = make_annotator(round), make_annotator(round)
        before = take(round, ann)
        made = publish(round.project, examples=[example(round)])
        again = Round.objects.select_related("pool", "project", "language").get(pk=round.pk)
        assert take(again, bob).guidelines == made
        before.refresh_from_db()
        assert before.guidelines.version == 1
        assert made.examples.get().caption == "Zwei Boote <am> Strand"

    def test_only_the_rounds_that_were_chosen_change(self, round):
        other = make_round(images=1, project=round.project, language="sw")
        publish(round.project, rounds=[other.pk])
        round.refresh_from_db()
        other.refresh_from_db()
        assert (round.guidelines.version, other.guidelines.version) == (1, 2)

    def test_a_round_that_is_decided_keeps_its_version(self, round):
        who = {"by": round.project.created_by, "now": NOW}
        campaign.close_round(round=round, **who)
        campaign.accept_round(round=round, **who)
        publish(round.project)
        round.refresh_from_db()
        assert round.guidelines.version == 1

    def test_who_began_from_an_older_version_is_told_so(self, round):
        publish(round.project, after=1)
        with pytest.raises(StaleGuidelinesError, match="Version 2"):
            publish(round.project, after=1)
        assert AuditEntry.objects.filter(action="guidelines.published").count() == 1

    def test_a_part_without_an_end_is_refused_on_the_page(self, round):
        address = reverse("annotation:guidelines-edit", args=[round.project.slug])
        said = {"rating": "x\n{FOR annotator}\ny", "writing": "z", "after": "1", "publish": "on"}
        answer = client_of(round.project.created_by).post(address, said)
        assert "Line 2: this part has no end" in answer.content.decode()
        assert Guidelines.objects.filter(project=round.project).count() == 1


@pytest.mark.django_db
class TestWhoSeesAnExample:
    """Whoever has its image in hand does not, nor who may yet write about it in the language of its caption."""

    @pytest.mark.parametrize("language", ["en", "sw"])
    def test_one_in_english_or_a_third_language_is_there_for_writers(self, round, language):
        made = publish(round.project, examples=[example(round, language)])
        assert len(examples_for(made, make_annotator(round)).shown) == 1

    def test_not_while_the_image_is_in_their_hands(self, round):
        ann = make_annotator(round)
        made = publish(round.project, examples=[example(round)])
        batch = take(round, ann)
        examples = examples_for(made, ann)
        assert (examples.shown, examples.kept_back) == ([], 1)
        assert "Boote" not in page_of(round.project, ann)
        write(batch, ann, "Ein Bild davon")
        assert "Boote" not in page_of(round.project, ann, "?version=2&before=1")
        batches.submit_batch(batch_id=batch.pk, person=ann, now=NOW)
        assert "Zwei Boote &lt;am&gt; Strand" in page_of(round.project, ann)

    def test_not_in_the_language_in_which_they_may_yet_write_about_it(self, round):
        ann, bob = make_annotator(round), make_annotator(round)
        made = publish(round.project, examples=[example(round, "de")])
        assert examples_for(made, ann).kept_back == 1
        submit_captions(round, bob)
        assert examples_for(made, bob).kept_back == 0

    def test_not_before_the_round_that_will_have_it_is_opened_nor_after_it_was_accepted(self, round):
        ann = make_annotator(round)
        made = publish(round.project, examples=[example(round, "de")])
        for state in ("planned", "closed"):
            Round.objects.filter(pk=round.pk).update(state=state)
            assert examples_for(made, ann).kept_back == 1
        Round.objects.filter(pk=round.pk).update(state="accepted", decided_at=NOW)
        assert examples_for(made, ann).kept_back == 1
        Round.objects.filter(pk=round.pk).update(state="skipped", reason="Dropped.")
        assert examples_for(made, ann).kept_back == 0

    def test_not_where_another_project_may_hand_it_to_them(self, round):
        other = make_round(collection=round.collection, captioners=list(round.captioners.all()), language="sw")
        ann = make_annotator(round)
        Membership.objects.create(project=other.project, user=ann, role=Role.ANNOTATOR)
        LanguageSkill.objects.create(user=ann, language=make_language("sw"), level=LanguageLevel.NATIVE)
        made = publish(round.project, examples=[example(round, "sw")])
        assert examples_for(made, ann).kept_back == 1

    def test_a_manager_sees_all_of_them_unless_an_image_is_in_their_hands_elsewhere(self, round):
        manager = round.project.created_by
        made = publish(round.project, examples=[example(round, "de")])
        assert len(examples_for(made, manager).shown) == 1
        other = make_round(collection=round.collection, captioners=list(round.captioners.all()), language="sw")
        Membership.objects.create(project=other.project, user=manager, role=Role.ANNOTATOR)
        LanguageSkill.objects.create(user=manager, language=make_language("sw"), level=LanguageLevel.NATIVE)
        User.objects.filter(pk=manager.pk).update(reads_english=True)
        manager = User.objects.get(pk=manager.pk)
        other.project.consent_texts.get().consents.create(user=manager, given_at=NOW)
        take(other, manager)
        assert examples_for(made, manager).kept_back == 1
        address = reverse("annotation:guidelines-edit", args=[round.project.slug])
        stopped = client_of(manager).get(address, follow=True)
        assert "Submit that batch first" in stopped.content.decode()
        assert "Boote" not in stopped.content.decode()


@pytest.mark.django_db
class TestReading:
    @pytest.fixture
    def ann(self, round) -> User:
        """Who handed in a batch of one image, and has another before them."""
        Pool.objects.filter(pk=round.pool_id).update(batch_size=1)
        ann = make_annotator(round)
        submit_captions(round, ann)
        return ann

    def test_two_versions_are_compared_word_by_word_and_who_never_worked_here_is_told_of_none(self, round):
        publish(round.project, rating="Choose one level.\n")
        text = page_of(round.project, make_annotator(round), "?version=2&before=1")
        assert "From version 1 to version 2" in text
        assert "<del>a</del><ins>one</ins>" in text
        assert "Two sentences now." in text
        assert "The guidelines have changed" not in work_page(make_annotator(round))

    def test_the_work_page_says_what_changed_until_a_batch_has_it(self, ann, round):
        assert "The guidelines have changed" not in work_page(ann)
        publish(round.project)
        text = work_page(ann)
        assert "The guidelines have changed since your last batch. The new version is 2." in text
        assert "Two sentences now." in text
        assert "?version=2&amp;before=1" in text
        submit_captions(Round.objects.select_related("pool", "project", "language").get(pk=round.pk), ann)
        assert "The guidelines have changed" not in work_page(ann)

    def test_a_reviewer_is_told_of_no_change_in_what_others_read_and_stays_a_reviewer(self, round):
        publish(round.project, rating="One.\n{FOR annotator}\nOld.\n{END}\n")
        publish(round.project, rating="One.\n{FOR annotator}\nNew.\n{END}\n")
        query = "?version=3&before=2"
        assert "<ins>New.</ins>" in page_of(round.project, make_annotator(round), query)
        text = page_of(round.project, make_annotator(round), f"{query}&for=rater")
        assert "The text is the same." in text
        assert 'href="?version=1&amp;for=rater"' in text
        assert '<input type="hidden" name="for" value="rater">' in text

    @pytest.mark.parametrize("query", ["?version=9", "?version=x", "?before=9", "?version=99999999999999"])
    def test_a_version_that_is_not_there_is_not_found(self, round, query):
        address = reverse("annotation:guidelines-show", args=[round.project.slug]) + query
        assert client_of(round.project.created_by).get(address).status_code == 404

    def test_a_version_of_another_project_is_not_found(self, round):
        publish(make_project())
        address = reverse("annotation:guidelines-show", args=[round.project.slug]) + "?version=2"
        assert client_of(round.project.created_by).get(address).status_code == 404


def work_page(user: User) -> str:
    return " ".join(client_of(user).get(reverse("annotation:work-show")).content.decode().split())


@pytest.mark.django_db
class TestEditing:
    @pytest.fixture
    def manager(self, round) -> Client:
        return client_of(round.project.created_by)

    @pytest.fixture
    def address(self, round) -> str:
        return reverse("annotation:guidelines-edit", args=[round.project.slug])

    def sent(self, round: Round, **fields: object) -> dict[str, object]:
        texts = {"rating": "Choose.\r\n\r\nWell.", "writing": "Write.", "note": "Shorter.", "after": "1"}
        return texts | {"rounds": [str(round.pk)], "do": "publish"} | fields

    def test_an_image_is_found_added_and_published_without_scripts(self, round, manager, address):
        key = round.collection.entries.order_by("position").last()
        page = manager.post(address, self.sent(round, do="find", find=key.key))
        assert f'value="{key.image_id}"' in page.content.decode()
        added = manager.post(address, self.sent(round, do="add", image=str(key.image_id)))
        assert 'name="example-0-caption"' in added.content.decode()
        assert "Shorter." in added.content.decode()
        assert "This field is required" not in added.content.decode()
        words = {
            "example-0-image": str(key.image_id),
            "example-0-caption": "Two boats.",
            "example-0-language": "en",
            "example-0-level": "GOOD",
            "example-0-why": "",
        }
        refused = manager.post(address, self.sent(round, **(words | {"example-0-caption": ""})))
        assert refused.status_code == 422
        assert manager.post(address, self.sent(round, **words)).status_code == 302
        made = Guidelines.objects.get(version=2)
        assert (made.rating, made.writing, made.note) == ("Choose.\n\nWell.\n", "Write.\n", "Shorter.")
        assert list(made.examples.values_list("image", "caption", "level")) == [(key.image_id, "Two boats.", "GOOD")]
        round.refresh_from_db()
        assert round.guidelines == made

    def test_it_begins_with_the_examples_of_the_version_before_and_one_can_be_taken_out(self, round, manager, address):
        publish(round.project, examples=[example(round), example(round, image=round.tasks.order_by("pk").last().image)])
        begun = manager.get(address).content.decode()
        assert begun.count("Zwei Boote &lt;am&gt; Strand") == 2
        words = {
            f"example-{n}-{name}": "x" for n in (0, 1) for name in ("image", "caption", "language", "level", "why")
        }
        left = manager.post(address, self.sent(round, do="drop-example-0", **words)).content.decode()
        assert 'name="example-1-caption"' in left
        assert 'name="example-0-caption"' not in left

    def test_an_image_of_another_project_is_no_example(self, round, manager, address):
        image = make_round(images=1).tasks.get().image
        added = manager.post(address, self.sent(round, do="add", image=str(image.pk)))
        assert "Choose an image first." in added.content.decode()

    def test_two_managers_do_not_overwrite_each_other(self, round, manager, address):
        publish(round.project)
        refused = manager.post(address, self.sent(round, after="1"))
        assert refused.status_code == 409
        assert "Version 2 was published" in refused.content.decode()
        assert "Shorter." in refused.content.decode()
        assert manager.post(address, self.sent(round, after="2")).status_code == 302

    @pytest.mark.parametrize("odd", [{"image": "x", "do": "add"}, {"do": "drop-example-x"}, {"do": "burn"}])
    def test_odd_requests_change_nothing(self, round, manager, address, odd):
        assert manager.post(address, self.sent(round, **odd)).status_code == 200
        assert Guidelines.objects.count() == 1

    def test_the_examples_of_a_project_without_rounds_have_no_images_to_choose_from(self):
        project = make_project()
        shown = client_of(project.created_by).get(reverse("annotation:guidelines-edit", args=[project.slug]))
        assert "No image key contains that." in shown.content.decode()
        assert not GuidelineExample.objects.exists()
