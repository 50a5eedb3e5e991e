"""Reports on their pages: the form without scripts, and the inbox in which managers read and decide."""

from __future__ import annotations

import re
from html import unescape
from random import Random
from typing import Any

import pytest

from annotation.models import CaptionGloss, Rating
from core.conversation.models import ReportedImage
from core.conversation.rules import ReportReason
from research.inference.models import Translator
from sxs_eval.services import judging
from tests.annotation.submitting import submit_captions, take
from tests.annotation.verifying import make_reviewer, make_verification
from tests.annotation.verifying import take as take_to_rate
from tests.clients import client_of
from tests.conversation.reporting import images_in, report
from tests.factories import (
    NOW,
    make_annotator,
    make_comparison,
    make_image,
    make_rater,
    make_round,
)

pytestmark = pytest.mark.django_db


class TestPages:
    def test_the_form_works_without_scripts_and_shows_no_caption(self):
        round = make_round(images=2, replication=1)
        batch = take(round, make_annotator(round))
        client = client_of(batch.lease.person)
        client.get("/work/")
        batch.lease.deadline = batch.lease.deadline.replace(year=2100)
        batch.lease.save()
        rate, address = f"/batches/{batch.pk}/rate/", f"/report/captions/{batch.pk}/1/"
        button = '<button type="submit" name="report" value="1">'

        assert button in client.get(rate).content.decode()
        assert client.post(rate, {"rating-2": "GOOD", "report": "1"})["Location"] == address
        assert batch.items.get(position=2).rating == Rating.GOOD, "what is not saved yet is not lost"
        shown = client.get(address)
        assert "english caption" not in shown.content.decode()
        assert client.post(address, {}).status_code == 422
        answer = client.post(address, {"reason": "broken", "comment": "grey"}, follow=True)
        assert "You will not get this image again." in answer.content.decode()
        assert button not in answer.content.decode()

    def test_a_manager_sees_it_among_needs_and_decides_in_the_inbox(self):
        round = make_round(images=1, replication=3)
        report(take(round, make_annotator(round)), comment="Only grey.")
        slug, client = round.project.slug, client_of(round.project.created_by)

        assert "1 message to answer" in client.get("/needs/").content.decode()
        inbox = client.get(f"/projects/{slug}/inbox/").content.decode()
        assert "Only grey." in inbox
        reported = ReportedImage.objects.get()
        client.post(f"/projects/{slug}/inbox/images/{reported.pk}/", {"state": "withdrawn"})
        assert "Only grey." not in client.get(f"/projects/{slug}/inbox/").content.decode()
        answered = client.get(f"/projects/{slug}/inbox/", {"shown": "answered", "language": "de"}).content.decode()
        assert "Only grey." in answered
        assert "message to answer" not in client.get("/needs/").content.decode()

    def test_a_manager_reads_the_captions_that_were_seen_with_the_image(self):
        round = make_round(images=2, replication=3)
        batch = take(round, make_annotator(round))
        english = batch.items.get(position=1).english
        report(batch)
        submit_captions(round, make_annotator(round), "Was Ann sieht")
        ratings = make_verification(round, places=1)
        to_rate = take_to_rate(ratings, make_reviewer(ratings))
        translator = Translator.objects.create(name="NLLB", backend="fake", source="x", project=round.project)
        verdict = to_rate.verdicts.exclude(caption__image=english.image).get()
        caption = verdict.caption
        CaptionGloss.objects.create(
            caption=caption, translator=translator, version="1", text="What Ann sees", made_at=NOW
        )
        report(to_rate, verdict.position, kind="ratings", reason=ReportReason.LANGUAGE)
        inbox, api = (f"{start}/projects/{round.project.slug}/inbox/" for start in ("", "/api/v1"))
        client = client_of(round.project.created_by)

        page = client.get(inbox).content.decode()
        assert page.count(english.text) == page.count(caption.text) == page.count("What Ann sees") == 1
        seen = [one["captions"] for row in client.get(f"{api}images/").json()["results"] for one in row["reports"]]
        assert [{"text": english.text, "language": "en"}] in seen
        assert [{"text": caption.text, "language": "de"}] in seen
        both = make_annotator(round, "both")
        round.project.memberships.create(user=both, role="manager")
        assert len(images_in(take(round, both))) == 2
        said = [client_of(both).get(address).content.decode() for address in (inbox, f"{api}images/")]
        assert [text for text in (english.text, caption.text, "What Ann sees") if text in "".join(said)] == []

    def test_a_manager_reads_both_captions_of_a_pair_and_no_model_s_name(self):
        comparison = make_comparison(images=1)
        batch = judging.take_batch(comparison=comparison, person=make_rater(comparison), now=NOW, rng=Random(1))
        report(batch, kind="pairs")

        page = client_of(comparison.project.created_by).get(f"/projects/{comparison.project.slug}/inbox/")
        sides = batch.judgements.get(position=1).sides
        shown = re.findall(r'<span lang="[^"]+"\s+dir="[^"]+">([^<]*)</span>', page.content.decode())
        assert tuple(map(unescape, shown)) == sides
        assert comparison.base.name not in page.content.decode()
        assert comparison.test.name not in page.content.decode()

    def test_the_worse_caption_of_a_gold_pair_is_not_read_while_its_own_image_is_in_hand(self):
        comparison = make_comparison(images=1)
        round = make_round(images=1, replication=3, project=comparison.project)
        gold = comparison.gold_pairs.create(
            image=make_image(), better="Better", worse="Worse", other_image=round.tasks.get().image
        )
        rater = make_rater(comparison)
        batch = judging.take_batch(comparison=comparison, person=rater, now=NOW, rng=Random(1))
        about: dict[str, Any] = {"comparison": comparison, "person": rater, "kind": "gold", "scale": comparison.scale}
        batch.judgements.create(gold=gold, position=9, test_is_left=True, **about)
        report(batch, 9, kind="pairs")
        both = make_annotator(round, "both")
        round.project.memberships.create(user=both, role="manager")
        inbox = f"/projects/{round.project.slug}/inbox/"
        assert "Worse" in client_of(both).get(inbox).content.decode()
        take(round, both)
        assert "Worse" not in client_of(both).get(inbox).content.decode()

    def test_a_manager_who_writes_about_the_image_does_not_read_what_was_said(self):
        round = make_round(images=1, replication=3)
        report(take(round, make_annotator(round)), comment="Quotes the caption.")
        manager = round.project.created_by
        assert manager is not None
        take(round, make_annotator(round, "writer"))
        batch = ReportedImage.objects.get().image.pk
        ann = make_annotator(round, "both")
        round.project.memberships.create(user=ann, role="manager")
        assert "Quotes" in client_of(ann).get(f"/projects/{round.project.slug}/inbox/").content.decode()
        assert images_in(take(round, ann)) == {batch}
        assert "Quotes" not in client_of(ann).get(f"/projects/{round.project.slug}/inbox/").content.decode()
