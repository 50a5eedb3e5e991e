"""Setting seasons up: what may be, what may change, and what never does once a season has begun."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.images.models import Image
from core.jobs.models import JobState
from core.people.models import Invitation, Project, Role
from core.people.rules.invitations import InvitationState
from core.people.selectors.invitations import invitation_state
from gapgame.models import Season, SeasonAccess
from gapgame.services import seasons as services
from gapgame.services.seasons import PUNCTUAL, STILL
from tests.concurrency import together
from tests.factories import NOW, make_item, make_player, make_project, make_vectors
from tests.gapgame.seasons import DAY, make_playable, play, terms_of, texts_of
from tests.tiers import some

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
OTHER_WORDS: dict[str, tuple[float, ...]] = {"cat": (1.0, 0.0), "dog": (0.0, 1.0)}


@pytest.fixture
def project() -> Project:
    return make_project()


def create(project: Project, *, name: str = "Spring", item_set=None, now=NOW, **fields) -> Season:
    return services.create_season(
        project=project,
        item_set=item_set or make_playable(project),
        texts=texts_of(name),
        terms=terms_of(**fields),
        by=project.created_by,
        now=now,
    )


def change(season: Season, terms=None, *, texts=None, now=NOW) -> Season:
    by = season.project.created_by
    return services.change_season(season=season, texts=texts or texts_of(season.name), terms=terms, by=by, now=now)


def test_a_season_keeps_the_signature_of_the_vectors_it_is_played_with(project) -> None:
    vectors = make_vectors()
    season = create(project, vectors=vectors)
    assert list(season.languages.values_list("language", "vectors", "signature")) == [
        ("en", vectors.pk, vectors.signature)
    ]
    assert season.batch_size == 100


def test_an_open_season_has_a_door_until_the_cut_off_and_one_by_invitation_has_none(project) -> None:
    opened = create(project, access=SeasonAccess.OPEN)
    assert opened.invitation.role == Role.PLAYER
    assert opened.invitation.expires_at == opened.ends_at
    assert opened.invitation.places > 1_000_000
    assert invitation_state(opened.invitation, opened.ends_at - SECOND) is InvitationState.OPEN
    assert invitation_state(opened.invitation, opened.ends_at) is InvitationState.EXPIRED
    assert create(project, name="Closed").invitation is None


def test_the_door_follows_the_cut_off_and_is_shut_with_open_access(project) -> None:
    season = create(project, access=SeasonAccess.OPEN)
    door = season.invitation
    season = change(season, terms_of(access=SeasonAccess.OPEN, ends_at=NOW + 5 * DAY))
    door.refresh_from_db()
    assert (season.invitation, door.expires_at) == (door, NOW + 5 * DAY)
    season = change(season, terms_of(access=SeasonAccess.INVITED))
    assert season.invitation is None
    assert invitation_state(Invitation.objects.get(pk=door.pk), NOW) is InvitationState.REVOKED
    assert change(season, terms_of(access=SeasonAccess.OPEN)).invitation not in (None, door)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"ends_at": NOW + DAY}, "after the start"),
        ({"starts_at": NOW - 2 * DAY, "ends_at": NOW - DAY}, "cut-off has already passed"),
        ({"starts_at": NOW - PUNCTUAL - SECOND}, "start has already passed"),
        ({"time_zone": "Europe/Atlantis"}, "Unknown time zone"),
        ({"vectors": {}}, "at least one language"),
    ],
)
def test_a_season_that_could_not_be_played_is_refused(project, fields, said) -> None:
    with pytest.raises(services.SeasonError, match=said):
        create(project, **fields)
    assert not Season.objects.exists()


def test_a_start_in_the_present_minute_begins_at_once(project) -> None:
    season = create(project, starts_at=NOW - PUNCTUAL)
    assert services.has_begun(season, NOW)


def test_vectors_of_another_language_and_one_without_ready_sentences_are_refused(project) -> None:
    german = make_vectors("de")
    with pytest.raises(services.SeasonError, match="not for the language en"):
        create(project, vectors={"en": german})
    with pytest.raises(services.SeasonError, match="language de"):
        create(project, vectors={"de": make_vectors("de")})
    unready = make_playable(project, ("Katze",), language="de")
    Image.objects.filter(pk=unready.items.get().images.get(position=2).image_id).update(state=JobState.QUEUED)
    with pytest.raises(services.SeasonError, match="images that are ready"):
        create(project, item_set=unready, vectors=make_vectors("de"))


def test_a_form_sent_twice_makes_one_season(project) -> None:
    item_set = make_playable(project)
    create(project, item_set=item_set)
    with pytest.raises(services.SeasonNameTakenError):
        create(project, item_set=item_set)
    assert Season.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_form_sent_twice_at_once_makes_one_season(project) -> None:
    item_set = make_playable(project)
    make_vectors()

    def send(_number: int) -> str:
        try:
            return create(project, item_set=item_set).slug
        except services.SeasonNameTakenError:
            return ""

    assert sorted(together(send, [1, 2, 3])) == ["", "", "spring"]
    assert Season.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_seasons_of_one_name_in_many_projects_made_at_once_have_addresses_of_their_own() -> None:
    projects = [make_project() for _ in range(4)]
    sets = {project.pk: make_playable(project) for project in projects}
    make_vectors()
    made = together(lambda project: create(project, item_set=sets[project.pk]).slug, projects)
    assert sorted(made) == ["spring", "spring-2", "spring-3", "spring-4"]


@pytest.mark.parametrize("name", ["New", "items", "Turns", "vectors"])
def test_no_season_has_the_address_of_another_page(project, name) -> None:
    assert create(project, name=name).slug == f"{name.lower()}-2"


def test_a_season_without_latin_letters_in_its_name_has_an_address(project) -> None:
    assert create(project, name="春").slug == "season"


def test_all_terms_can_be_changed_until_half_a_minute_before_the_start(project) -> None:
    season = create(project)
    other = make_vectors(words=OTHER_WORDS)
    wanted = terms_of(
        other,
        starts_at=NOW + 3 * DAY,
        ends_at=NOW + 4 * DAY,
        time_zone="Asia/Kolkata",
        batch_size=7,
        access=SeasonAccess.OPEN,
    )
    change(season, wanted, now=season.starts_at - STILL - SECOND)
    season.refresh_from_db()
    assert (season.starts_at, season.ends_at) == (wanted.starts_at, wanted.ends_at)
    assert (season.time_zone, season.batch_size, season.access) == ("Asia/Kolkata", 7, SeasonAccess.OPEN)
    assert [row.signature for row in season.languages.all()] == [other.signature]


TERMS_THAT_DIFFER = [
    {"starts_at": NOW + 5 * DAY, "ends_at": NOW + 6 * DAY},
    {"ends_at": NOW + 9 * DAY},
    {"time_zone": "Pacific/Kiritimati"},
    {"batch_size": 3},
    {"access": SeasonAccess.OPEN},
]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("fields", TERMS_THAT_DIFFER)
@pytest.mark.parametrize("since_start", some([-STILL, DAY, timedelta(0), 3 * DAY], short=1, reason="still later"))
def test_no_term_changes_once_the_season_has_begun(project, fields, since_start) -> None:
    season = create(project)
    before = Season.objects.filter(pk=season.pk).values().get()
    with pytest.raises(services.SeasonStartedError):
        change(season, terms_of(**fields), texts=texts_of("Other"), now=season.starts_at + since_start)
    assert Season.objects.filter(pk=season.pk).values().get() == before
    assert not Invitation.objects.exists()


def test_vectors_never_change_once_the_season_has_begun(project) -> None:
    season = create(project)
    before = list(season.languages.values())
    with pytest.raises(services.SeasonStartedError):
        change(season, terms_of(make_vectors(words=OTHER_WORDS)), now=season.starts_at)
    assert list(season.languages.values()) == before


def test_what_was_played_keeps_the_terms_whatever_the_clock_says(project) -> None:
    """A clock that is set back opens nothing again."""
    season = create(project, starts_at=NOW)
    play(make_player(season), item=season.item_set.items.first())
    with pytest.raises(services.SeasonStartedError):
        change(season, terms_of(), now=NOW - DAY)


def test_texts_change_at_any_time(project) -> None:
    season = create(project)
    change(season, texts=texts_of("Summer", description="Sun", prizes="A book"), now=NOW + 10 * DAY)
    season.refresh_from_db()
    assert (season.name, season.description, season.prizes) == ("Summer", "Sun", "A book")
    assert season.slug == "spring"


def test_a_name_that_is_taken_is_refused_and_ones_own_is_not(project) -> None:
    season, other = create(project), create(project, name="Autumn")
    change(season, texts=texts_of("Spring"))
    with pytest.raises(services.SeasonNameTakenError):
        change(other, texts=texts_of("Spring"))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_who_moves_the_start_into_the_past_stops_whoever_changes_the_vectors_at_the_same_time(project) -> None:
    """Whichever comes first: never are vectors changed of a season that has begun."""
    season = create(project)
    begins_now = terms_of(starts_at=NOW, ends_at=NOW + 2 * DAY)
    other = make_vectors(words=OTHER_WORDS)
    has_other = terms_of(other)

    def send(terms) -> str:
        try:
            change(season, terms)
        except services.SeasonStartedError:
            return "begun"
        return "done"

    outcomes = together(send, [begins_now, has_other])
    season = Season.objects.get(pk=season.pk)
    assert outcomes[0] == "done"
    assert season.starts_at == NOW
    # The one that came second was refused, or it came first and was overwritten before the season began.
    assert [row.signature for row in season.languages.all()] == [make_vectors().signature]


def test_a_season_that_has_not_begun_can_be_deleted_and_its_door_is_shut(project) -> None:
    season = create(project, access=SeasonAccess.OPEN)
    services.delete_season(season=season, by=season.project.created_by, now=NOW)
    assert not Season.objects.exists()
    assert invitation_state(Invitation.objects.get(), NOW) is InvitationState.REVOKED


def test_a_season_that_has_begun_is_never_deleted(project) -> None:
    season = create(project)
    with pytest.raises(services.SeasonStartedError):
        services.delete_season(season=season, by=season.project.created_by, now=season.starts_at)
    assert Season.objects.exists()


def test_a_language_may_be_added_before_the_start(project) -> None:
    item_set = make_playable(project)
    make_item(item_set, "Katze", language="de")
    season = create(project, item_set=item_set)
    english, german = make_vectors(), make_vectors("de")
    change(season, terms_of({"en": english, "de": german}))
    assert sorted(season.languages.values_list("language", flat=True)) == ["de", "en"]
