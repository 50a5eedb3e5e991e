"""Long work of every kind is polled at one address, by those who may read what it makes."""

from __future__ import annotations

import pytest

from annotation.models import Round
from annotation.services.rounds import fill_round
from core.images.models import ImportJob, ImportKind
from core.people.models import Membership, Role
from research.scoring.models import Pass
from sxs_eval.models import Comparison
from sxs_eval.services.comparisons import fill_comparison
from tests.api.seeded import Program, Seeded, make_failed_release, make_seeded
from tests.api.test_work import address, code
from tests.factories import make_comparison, make_round, make_user
from tests.scoring.scored import make_references, make_scoring

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


def test_a_job_says_why_it_failed_and_where_what_it_makes_is(seeded, mia):
    made = make_failed_release(seeded.project)
    job = mia.get(address("job-show", f"release-{made.pk}")).json()
    assert (job["state"], job["error"]) == ("failed", "No.")
    assert mia.get(job["results"][0]).json()["number"] == made.number


def test_a_job_of_several_things_is_over_when_all_are_and_failed_if_one_is(seeded, mia):
    references = make_references(project=seeded.project)
    made = [make_scoring(references, normalise=normalise) for normalise in (True, False)]
    where = f"/api/v1/jobs/score-{made[0].pk},{made[1].pk}/"
    states = []
    for first, second in [("queued", "queued"), ("done", "queued"), ("done", "failed"), ("done", "done")]:
        for scoring, state in zip(made, (first, second), strict=True):
            about = {"total": 2, "done": 2 if state == "done" else 0, "asked_at": scoring.created_at, "state": state}
            Pass.objects.update_or_create(scoring=scoring, defaults=about)
        job = mia.get(where).json()
        states.append((job["state"], job["done"], job["total"]))
    assert states == [("queued", 0, 4), ("running", 2, 4), ("failed", 2, 4), ("done", 4, 4)]
    assert [mia.get(one).json()["id"] for one in job["results"]] == [one.pk for one in made]


@pytest.mark.django_db(transaction=True)
def test_rounds_and_comparisons_say_when_they_were_filled():
    round, comparison = make_round(images=2), make_comparison(images=2)
    Round.objects.update(awaits_tasks=True)
    Comparison.objects.update(awaits_pairs=True)
    for project, job, fill in [
        (round.project, f"round-{round.pk}", lambda: fill_round(round_id=round.pk)),
        (comparison.project, f"comparison-{comparison.pk}", lambda: fill_comparison(comparison_id=comparison.pk)),
    ]:
        where, manager = address("job-show", job), Program(project.created_by)
        assert manager.get(where).json()["finished_at"] is None
        fill()
        assert manager.get(where).json()["finished_at"] is not None


@pytest.mark.parametrize("job", ["release-1", "release", "release-", "release-x", "paint-1", "score-1,2", "import-99"])
def test_a_job_that_is_not_there_is_not_found(job, seeded, mia):
    assert code(mia.get(address("job-show", job))) == (404, "not-found")


def test_a_job_is_found_by_those_alone_who_may_read_what_it_makes(seeded, mia):
    scoring = make_scoring(make_references(project=seeded.project))
    files = ImportJob.objects.create(kind=ImportKind.FILES, project=seeded.project, source_name="x.jsonl")
    jobs = [address("job-show", job) for job in (f"score-{scoring.pk}", f"import-{files.pk}")]
    outsider = Program(make_user("olga"))
    researcher = make_user("rob")
    Membership.objects.create(project=seeded.project, user=researcher, role=Role.RESEARCHER)
    rob = Program(researcher)
    assert [mia.get(job).status_code for job in jobs] == [200, 200]
    # Researchers see only their own imports.
    assert [rob.get(job).status_code for job in jobs] == [200, 404]
    assert [outsider.get(job).status_code for job in jobs] == [404, 404]
