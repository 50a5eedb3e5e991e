"""A project with something of every kind of work, and everybody who has to do with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from django.utils import timezone

from annotation.models import Release, SecondReading
from annotation.services import corrections
from core.conversation.models import ReportedImage
from core.conversation.services import ask_managers
from core.images.models import Collection, ImportJob, ImportKind, ImportStage
from core.images.selectors import served_image
from core.jobs.models import JobState
from core.people.models import Delivery, Invitation, Membership, Project, Role, Session, User, Webhook
from core.people.rules.pseudonyms import pseudonym
from core.people.rules.review_links import link_token
from core.people.selectors.accounts import handle_of
from core.people.services import tokens
from core.people.services.personal_links import make_link
from gapgame.services import playing
from office.dashboard.models import NoticeKind
from office.dashboard.rules.emails import token_to_stop
from office.practice.services.attempts import start_attempt
from office.recruitment.models import PanelStudy
from research.inference.models import CaptioningModel, Encoder, ModelCaption, Run, RunState, Training
from research.selection.models import CandidateList, LanguageTable, SelectedImage, Selection, Subset
from sxs_eval.services import judging
from tests.annotation.submitting import submit_captions
from tests.api.seeded import WRITTEN, Seeded, make_seeded
from tests.api.test_projects import make_release
from tests.factories import (
    join_project,
    make_annotator,
    make_comparison,
    make_player,
    make_rater,
    make_round,
    make_season,
    make_user,
)
from tests.inference.embedded import put_set, put_training
from tests.leaks.addresses import routes, routes_of
from tests.practice.making import make_practice
from tests.recruitment.panel import make_study
from tests.scoring.scored import make_references, make_scoring
from tests.tiers import some

NAME, NOTE, HOOK = "Löwenprojekt", "Name the animals.", "hook-of-lions.example.org"
DAY = timedelta(days=1)

INSIDERS = some(range(7), short=1, reason="the manager reaches most addresses; the others, little else")
"""Which of `World.insiders` asks."""


@dataclass
class World:
    seeded: Seeded
    insiders: Sequence[User]
    known: Mapping[str, Sequence[object]]


def draft_selection(project: Project, collection: Collection) -> Selection:
    """A draft with two images for German."""
    about: dict[str, Any] = {"project": project, "source": collection, "number": 1, "name": NAME, "seed": 1}
    about |= {"languages": ["de"], "levels": ["region"], "per_language": 2, "areas": {"de": {"region": ["DE"]}}}
    selection = Selection.objects.create(**about, table="x", created_at=timezone.now(), state=JobState.DONE)
    SelectedImage.objects.bulk_create(
        SelectedImage(
            selection=selection,
            language_id="de",
            level="region",
            position=place,
            key=entry.key,
            image_id=entry.image_id,
        )
        for place, entry in enumerate(collection.entries.order_by("position")[:2], start=1)
    )
    return selection


def make_world(media: Path) -> World:
    """A project with something of every kind of work, and everybody who has to do with it."""
    seeded, now = make_seeded(), timezone.now()
    project, manager = seeded.project, seeded.manager
    project.name = NAME
    project.save()
    Membership.objects.create(project=project, user=manager, role=Role.RESEARCHER)
    bob = User.objects.get(username="bob-lions")
    another = make_round(project=project, collection=seeded.main.collection, language="cs")
    cid = make_annotator(another, "cid-lions")
    submit_captions(another, cid, WRITTEN, now=now)
    caption = another.captions.first()
    corrections.return_for_correction(caption_id=caption.pk, note=NOTE, by=manager, now=now)
    reading = SecondReading.objects.create(
        caption=seeded.submitted.items.first().caption, reader=bob, asked_by=manager, asked_at=now
    )
    release = make_release(project, media)
    Release.objects.filter(pk=release.pk).update(
        counts={"captions": 0, "files": [{"name": "LICENSE", "bytes": 2, "sha256": "0" * 64}]}
    )
    hook = Webhook.objects.create(
        project=project, url=f"https://{HOOK}/", secret="whsec_x", events=[], created_at=now, created_by=manager
    )
    delivery = Delivery.objects.create(webhook=hook, event="x", payload={}, due_at=now, created_at=now)
    token = tokens.make_token(user=bob, name="x", may_write=True, expires_at=now + DAY, now=now).row
    session = Session.objects.create(pk="k" * 32, session_data="", expire_date=now + DAY, person=bob.pk)
    about: dict[str, Any] = {"project": project, "created_by": manager, "expires_at": now + DAY}
    invitation = Invitation.objects.create(role=Role.RATER, token="x" * 40, **about)
    comparison = make_comparison(project=project)
    rita = make_rater(comparison, "rita")
    judged = judging.take_batch(comparison=comparison, person=rita, now=now, rng=Random(1))
    season = make_season(project=project, starts_at=now - DAY, ends_at=now + DAY)
    player = make_player(season, "paul")
    who: dict[str, Any] = {"player_id": player.pk, "user": player.user, "now": now}
    playing.take_batch(**who, language="en", rng=Random(1))
    turn = playing.open_turn(**who)
    assert turn is not None
    scoring = make_scoring(make_references(project=project))
    model = CaptioningModel.objects.first()
    assert model is not None
    run = Run.objects.create(
        is_shared=True,
        model=model,
        collection=seeded.main.collection,
        queue="gpu",
        state=RunState.DONE,
        total=1,
        created_at=now,
    )
    image = seeded.main.collection.entries.first().image
    job = ImportJob.objects.create(
        kind=ImportKind.CAPTIONS, collection=seeded.main.collection, source_name="x.jsonl", state=JobState.DONE
    )
    encoder = Encoder.objects.create(is_shared=True, name="Colours", backend="sentences", signature="c-1")
    vectors = put_set(encoder, seeded.main.collection, [[1.0, float(number)] for number in range(9)])
    training = put_training({image: "A training's caption"}, is_shared=True, card="# A card")
    for kind in (Collection, CaptioningModel, Encoder, Run, Training):
        kind.objects.update(project=project, is_shared=False)
    ImportJob.objects.update(project=project)
    files = ImportJob.objects.create(
        kind=ImportKind.FILES,
        stage=ImportStage.PREVIEW,
        project=project,
        source_name="y.jsonl",
        state=JobState.DONE,
        options={"wish": {}, "preview": [], "gaps": []},
    )
    draft_selection(project, seeded.main.collection)
    study = make_study(project)
    PanelStudy.objects.create(study=study, description=NAME, minutes=20, budget=100)
    make_practice(project, is_required=False)
    attempt = start_attempt(person=seeded.ann, project=project, kind="rating", language="de", now=now)
    CandidateList.objects.create(project=project, slug="world", name="World", created_at=now)
    Subset.objects.create(project=project, slug="few", name=NAME, created_at=now).images.add(image)
    LanguageTable.objects.create(project=project, number=1, areas={}, created_at=now)
    reported = ReportedImage.objects.create(project=project, image=image, reported_at=now)
    asked = ask_managers(project=project, person=seeded.ann, text="May I?", now=now)
    parts = served_image(image, seeded.ann).large.split("/")
    known: dict[str, Sequence[object]] = {
        **seeded.known(),
        "slug": [project.slug],
        "tag": ["de"],
        "job": [f"release-{release.pk}"],
        "person_id": [seeded.ann.pk],
        "caption_id": [caption.pk],
        "reading_id": [reading.pk],
        "action": ["close"],
        "layout": ["jsonl", "json", "csv", "tex"],
        "name": ["manifest.json", "LICENSE"],
        "image_number": [1],
        "token": [invitation.token],
        "key": ["guessed"],
        "uidb36": ["1"],
        "token_id": [token.pk],
        "handle": [handle_of(session.pk)],
        "webhook_id": [hook.pk],
        "delivery_id": [delivery.pk],
        "pk": [invitation.pk],
        "comparison_id": [comparison.pk],
        "rater_id": [rita.pk],
        "gold_id": [1],
        "season_slug": [season.slug],
        "list_slug": ["world"],
        "subset_slug": ["few"],
        "item_set_id": [season.item_set_id],
        "item_id": [season.item_set.items.first().pk],
        "player_id": [player.pk],
        "turn_id": [turn.pk],
        "scoring_id": [scoring.pk],
        "set_id": [scoring.references_id],
        "model_id": [model.pk],
        "run_id": [run.pk],
        "training_id": [training.pk],
        "study_id": [study.pk],
        "attempt_id": [attempt.pk],
        "kind": ["rating"],
        "organization_slug": ["guessed"],
        "provider_id": ["guessed"],
        "recruitment:study-enter token": [study.token],
        "dashboard:guide-show name": ["managers"],
        "people:review-list token": [link_token(project.pk, "te")],
        "people:review-text token": [link_token(project.pk, "te")],
        "dashboard:email-stop token": [token_to_stop(manager.pk, NoticeKind.DIGEST)],
        "recruitment:event-take token": [study.token],
        "reported_id": [reported.pk],
        "thread_id": [asked.thread_id],
        "answer_id": [project.saved_answers.create(title="Yes", text="Yes.").pk],
        "job_id": [job.pk],
        "api:run-step action": ["pause"],
        "api:training-step action": ["pause"],
        "api:panel-step action": ["pause"],
        "recruitment:panel-act action": ["pause"],
        "public_id": [image.public_id],
        "size": [parts[-3]],
        "signature": [parts[-2]],
    }
    known |= {f"sxs_eval:{name} batch_id": [judged.pk] for name in _names("sxs_eval", "batch_id")}
    known |= {f"gapgame:{name} slug": [season.slug] for name in PLAYERS}
    known |= {f"images:{name} slug": [seeded.main.collection.slug] for name in _names("images", "slug")}
    known |= {f"inference:{name} set_id": [vectors.pk] for name in _names("inference", "set_id")}
    known |= {
        f"corpora:{name} slug": [seeded.main.collection.slug] for name in ("collection-locate", "collection-places")
    }
    of_collections = [route.name for route in routes_of("api:") if "/collections/%(slug)s" in route.template]
    known |= {f"{name} slug": [seeded.main.collection.slug] for name in of_collections}
    of_judging = [name for name in _names("api", "batch_id") if name.startswith(("judging-", "judgement-"))]
    known |= {f"api:{name} batch_id": [judged.pk] for name in of_judging}
    for app in ("imports", "api"):
        known |= {f"{app}:{name} job_id": [files.pk] for name in _names(app, "job_id")}
    described = ModelCaption.objects.filter(image__entries__collection=seeded.main.collection)
    for name in ("inference:caption-switch", "api:model-caption-switch"):
        known[f"{name} caption_id"] = [described.first().pk]
    known["api:annotator-decide pseudonym"] = [pseudonym(project, seeded.ann.pk)]
    for name in ("conversation:report-send", "api:report-send"):
        known[f"{name} kind"] = ["captions"]
    known["api:annotator-marks pseudonym"] = [pseudonym(project, seeded.ann.pk)]
    for name in ("people:member-remove", "api:member-remove"):
        known[f"{name} pk"] = [Membership.objects.get(project=project, user=bob).pk]
    lea = join_project(project, make_user("lea"), Role.PLAYER)
    make_link(user=lea, now=now)
    for name in ("people:link-replace", "people:link-revoke", "api:member-link"):
        known[f"{name} pk"] = [Membership.objects.get(project=project, user=lea).pk]
    known["api:player-decide pseudonym"] = [pseudonym(project, player.user_id)]
    known["api:rater-decide pseudonym"] = [pseudonym(project, rita.pk)]
    known["inference:stabilisers-export slug"] = [seeded.main.collection.slug]
    for name in ("collection-settings", "collection-duplicate", "collection-delete", "image-take-out"):
        known[f"dashboard:{name} slug"] = [seeded.main.collection.slug]
    # A name that no address has any more would fill none.
    assert {key.partition(" ")[0] for key in known if " " in key} <= {route.name for route in routes()}
    insiders = [manager, seeded.ann, seeded.rae, bob, cid, rita, player.user]
    assert len(insiders) == len(INSIDERS)
    return World(seeded, insiders, known)


PLAYERS = (
    *("season-show", "season-join", "player-edit", "batch-take", "turn-open", "turn-fetch"),
    *("turn-list", "leaderboard-show", "rules-show"),
)


def _names(namespace: str, argument: str) -> list[str]:
    found = [route.name.partition(":")[2] for route in routes_of(f"{namespace}:") if argument in route.arguments]
    assert found, f"no address of {namespace} has a <{argument}>"
    return found
