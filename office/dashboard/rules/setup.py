"""The steps from an empty project to a release: which are done, what is missing, and what has to come before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

NAMED = 5
"""How many languages a sentence names."""


class ProjectStep(TextChoices):
    """In the order in which they are done."""

    IMAGES = "images", gettext_lazy("Images with licences")
    ENGLISH = "english", gettext_lazy("English captions")
    CONSENT = "consent", gettext_lazy("Consent text")
    GUIDELINES = "guidelines", gettext_lazy("Guidelines")
    LANGUAGES = "languages", gettext_lazy("Languages")
    PEOPLE = "people", gettext_lazy("People")
    PILOT = "pilot", gettext_lazy("Pilots")
    ACCEPT = "accept", gettext_lazy("Decisions about the pilots")
    MAIN = "main", gettext_lazy("Main rounds")
    VERIFICATION = "verification", gettext_lazy("Verification")
    RELEASE = "release", gettext_lazy("Release")


class StepState(TextChoices):
    DONE = "done", gettext_lazy("Done")
    TO_DO = "to-do", gettext_lazy("To do")
    ADVISED = "advised", gettext_lazy("Recommended")
    WAITS = "waits", gettext_lazy("Later")


@dataclass(frozen=True)
class LanguageFacts:
    """How far a language is. `able` people can write in it, and it needs `needed`."""

    tag: str
    name: str
    needed: int = 0
    able: int = 0
    invited: int = 0
    is_pilot_open: bool = False
    is_pilot_written: bool = False
    is_pilot_decided: bool = False
    is_main_open: bool = False
    is_main_closed: bool = False
    is_verification_open: bool = False
    is_verified: bool = False


@dataclass(frozen=True, kw_only=True)
class ProjectFacts:
    """What a project has. `unauthored` counts images whose licence requires an author, but that have none,
    and `without_english` those that no model of the project has described.
    """

    has_collection: bool = False
    images: int = 0
    unlicensed: int = 0
    unauthored: int = 0
    without_english: int = 0
    has_consent_gaps: bool = False
    has_default_guidelines: bool = False
    languages: Sequence[LanguageFacts] = ()
    is_released: bool = False


@dataclass(frozen=True)
class SetupStep:
    """`what` says what is missing; `languages` are those in which it is."""

    step: ProjectStep
    state: StepState
    what: str = ""
    languages: Sequence[LanguageFacts] = ()

    @property
    def is_done(self) -> bool:
        return self.state == StepState.DONE

    @property
    def is_open(self) -> bool:
        return self.state in (StepState.TO_DO, StepState.ADVISED)


StepFinding = tuple[StepState, str] | tuple[StepState, str, Sequence[LanguageFacts]] | None
"""The state of a step, what is missing, and the languages in which it is; None if it is done."""


def setup_steps(facts: ProjectFacts) -> list[SetupStep]:
    """Return the steps of a project in order."""
    return [SetupStep(step, *(_STEPS[step](facts) or (StepState.DONE,))) for step in ProjectStep]


def next_step(steps: Sequence[SetupStep]) -> SetupStep | None:
    """Return the first step that has to be done, or else the first that is recommended."""
    return next((step for step in steps if step.state == StepState.TO_DO), None) or next(
        (step for step in steps if step.is_open), None
    )


def _images(facts: ProjectFacts) -> StepFinding:
    if not facts.has_collection:
        return StepState.TO_DO, _("The project has no images. Import some.")
    if not facts.images:
        return StepState.TO_DO, _("The collection has no images. Add some.")
    if facts.unlicensed:
        text = ngettext(
            "%(number)d of %(all)d images has no licence. A release would refuse it.",
            "%(number)d of %(all)d images have no licence. A release would refuse them.",
            facts.unlicensed,
        )
        return StepState.TO_DO, text % {"number": facts.unlicensed, "all": facts.images}
    if facts.unauthored:
        text = ngettext(
            "%(number)d of %(all)d images has no author, but its licence requires one. A release would refuse it.",
            "%(number)d of %(all)d images have no author, but their licences require one. A release would refuse them.",
            facts.unauthored,
        )
        return StepState.TO_DO, text % {"number": facts.unauthored, "all": facts.images}
    return None


def _english(facts: ProjectFacts) -> StepFinding:
    if not facts.images:
        return StepState.WAITS, _("First add images.")
    if facts.without_english >= facts.images:
        return StepState.TO_DO, _("No image has an English caption. Import some, or run a model.")
    if facts.without_english:
        text = ngettext(
            "%(number)d of %(all)d images has no English caption and is left out until it has one.",
            "%(number)d of %(all)d images have no English caption and are left out until they have one.",
            facts.without_english,
        )
        return StepState.ADVISED, text % {"number": facts.without_english, "all": facts.images}
    return None


def _consent(facts: ProjectFacts) -> StepFinding:
    text = _("The consent text does not say who to ask, or under which licence captions are published.")
    return (StepState.TO_DO, text) if facts.has_consent_gaps else None


def _guidelines(facts: ProjectFacts) -> StepFinding:
    text = _("Adapt the default guidelines to your images.")
    return (StepState.ADVISED, text) if facts.has_default_guidelines else None


def _languages(facts: ProjectFacts) -> StepFinding:
    return None if facts.languages else (StepState.TO_DO, _("The project has no language. Add some."))


def _people(facts: ProjectFacts) -> StepFinding:
    if not facts.languages:
        return StepState.WAITS, _("First add languages.")
    short = [one for one in facts.languages if one.able < one.needed and not one.is_main_closed]
    uninvited = [one for one in short if one.able + one.invited < one.needed]
    if uninvited:
        text = _("Not enough people can write in %(languages)s. Invite some.")
        return StepState.TO_DO, text % {"languages": languages_named(uninvited)}, uninvited
    if short:
        text = _("People were invited, but not enough have joined: %(languages)s.")
        return StepState.ADVISED, text % {"languages": languages_named(short)}, short
    return None


def _of_languages(
    text: StrPromise,
    *,
    is_done: Callable[[LanguageFacts], bool],
    may_begin: Callable[[LanguageFacts], bool],
    before: StrPromise,
    has_begun: Callable[[LanguageFacts], bool] = lambda _one: False,
    begun: StrPromise | str = "",
) -> Callable[[ProjectFacts], StepFinding]:
    """Make a step that is done language by language; it waits until it may begin in one of those that are left.

    Languages in which it `has_begun` are named with what is left to do in them.
    """

    def find(facts: ProjectFacts) -> StepFinding:
        left = [one for one in facts.languages if not is_done(one)]
        ready = [one for one in left if may_begin(one)]
        if facts.languages and not left:
            return None
        if not ready:
            return StepState.WAITS, str(before)
        fresh, going = ([one for one in ready if has_begun(one) is is_going] for is_going in (False, True))
        what = [
            str(said) % {"languages": languages_named(those)}
            for said, those in ((text, fresh), (begun, going))
            if those
        ]
        return StepState.TO_DO, " ".join(what), ready

    return find


def _release(facts: ProjectFacts) -> StepFinding:
    if facts.is_released:
        return None
    if not any(one.is_main_closed for one in facts.languages):
        return StepState.WAITS, _("After a main round.")
    if facts.unlicensed or facts.unauthored:
        return StepState.WAITS, _("First complete licences and authors of images.")
    return StepState.TO_DO, _("Make a release of what is finished.")


def languages_named(languages: Sequence[LanguageFacts]) -> str:
    """Name some languages, and say how many others there are."""
    first = ", ".join(one.name for one in languages[:NAMED])
    others = len(languages) - NAMED
    if others <= 0:
        return first
    text = ngettext("%(first)s and %(number)d other", "%(first)s and %(number)d others", others)
    return text % {"first": first, "number": others}


_STEPS: dict[ProjectStep, Callable[[ProjectFacts], StepFinding]] = {
    ProjectStep.IMAGES: _images,
    ProjectStep.ENGLISH: _english,
    ProjectStep.CONSENT: _consent,
    ProjectStep.GUIDELINES: _guidelines,
    ProjectStep.LANGUAGES: _languages,
    ProjectStep.PEOPLE: _people,
    ProjectStep.PILOT: _of_languages(
        gettext_lazy("Open the pilot: %(languages)s."),
        has_begun=lambda one: one.is_pilot_open,
        begun=gettext_lazy("Close the pilot when it is written: %(languages)s."),
        is_done=lambda one: one.is_pilot_written,
        may_begin=lambda one: one.able > 0,
        before=gettext_lazy("After people have joined."),
    ),
    ProjectStep.ACCEPT: _of_languages(
        gettext_lazy("Have the pilot rated, and accept or reject it: %(languages)s."),
        is_done=lambda one: one.is_pilot_decided,
        may_begin=lambda one: one.is_pilot_written,
        before=gettext_lazy("After a pilot."),
    ),
    ProjectStep.MAIN: _of_languages(
        gettext_lazy("Open the main round: %(languages)s."),
        has_begun=lambda one: one.is_main_open,
        begun=gettext_lazy("Close the main round when it is written: %(languages)s."),
        is_done=lambda one: one.is_main_closed,
        may_begin=lambda one: one.is_pilot_decided,
        before=gettext_lazy("After a pilot is accepted."),
    ),
    ProjectStep.VERIFICATION: _of_languages(
        gettext_lazy("Have a sample of the captions rated: %(languages)s."),
        has_begun=lambda one: one.is_verification_open,
        begun=gettext_lazy("Close the verification when it is rated: %(languages)s."),
        is_done=lambda one: one.is_verified,
        may_begin=lambda one: one.is_main_closed,
        before=gettext_lazy("After a main round."),
    ),
    ProjectStep.RELEASE: _release,
}
