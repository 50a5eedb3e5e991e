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


class Step(TextChoices):
    """In the order in which they are done."""

    IMAGES = "images", gettext_lazy("Images with licences")
    ENGLISH = "english", gettext_lazy("English captions")
    PROJECT = "project", gettext_lazy("Project")
    CONSENT = "consent", gettext_lazy("Consent text")
    GUIDELINES = "guidelines", gettext_lazy("Guidelines")
    LANGUAGES = "languages", gettext_lazy("Languages")
    PEOPLE = "people", gettext_lazy("People")
    PILOT = "pilot", gettext_lazy("Pilots")
    ACCEPT = "accept", gettext_lazy("Decisions about the pilots")
    MAIN = "main", gettext_lazy("Main rounds")
    VERIFICATION = "verification", gettext_lazy("Verification")
    RELEASE = "release", gettext_lazy("Release")


class State(TextChoices):
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
class Facts:
    """What a project has. `unauthored` counts images whose licence requires an author, but that have none,
    and `without_english` those that no model of the project has described.
    """

    has_collection: bool = False
    images: int = 0
    unlicensed: int = 0
    unauthored: int = 0
    without_english: int = 0
    has_project: bool = True
    has_consent_gaps: bool = False
    has_default_guidelines: bool = False
    languages: Sequence[LanguageFacts] = ()
    is_released: bool = False


@dataclass(frozen=True)
class SetupStep:
    """`what` says what is missing; `languages` are those in which it is."""

    step: Step
    state: State
    what: str = ""
    languages: Sequence[LanguageFacts] = ()

    @property
    def is_done(self) -> bool:
        return self.state == State.DONE

    @property
    def is_open(self) -> bool:
        return self.state in (State.TO_DO, State.ADVISED)


BEFORE_A_PROJECT = (Step.IMAGES, Step.ENGLISH, Step.PROJECT)
OF_A_PROJECT = tuple(step for step in Step if step != Step.PROJECT)


def setup_steps(facts: Facts) -> list[SetupStep]:
    """Return the steps of a project, or those before there is one, in order."""
    wanted = OF_A_PROJECT if facts.has_project else BEFORE_A_PROJECT
    return [_STEPS[step](facts) for step in wanted]


def next_step(steps: Sequence[SetupStep]) -> SetupStep | None:
    """Return the first step that has to be done, or else the first that is recommended."""
    return next((step for step in steps if step.state == State.TO_DO), None) or next(
        (step for step in steps if step.is_open), None
    )


def _images(facts: Facts) -> SetupStep:
    if not facts.has_collection:
        return SetupStep(Step.IMAGES, State.TO_DO, _("Create a collection, and add images to it."))
    if not facts.images:
        return SetupStep(Step.IMAGES, State.TO_DO, _("The collection has no images. Add some."))
    if facts.unlicensed:
        text = ngettext(
            "%(number)d of %(all)d images has no licence. A release would refuse it.",
            "%(number)d of %(all)d images have no licence. A release would refuse them.",
            facts.unlicensed,
        )
        return SetupStep(Step.IMAGES, State.TO_DO, text % {"number": facts.unlicensed, "all": facts.images})
    if facts.unauthored:
        text = ngettext(
            "%(number)d of %(all)d images has no author, but its licence requires one. A release would refuse it.",
            "%(number)d of %(all)d images have no author, but their licences require one. A release would refuse them.",
            facts.unauthored,
        )
        return SetupStep(Step.IMAGES, State.TO_DO, text % {"number": facts.unauthored, "all": facts.images})
    return SetupStep(Step.IMAGES, State.DONE)


def _english(facts: Facts) -> SetupStep:
    if not facts.images:
        return SetupStep(Step.ENGLISH, State.WAITS, _("First add images."))
    if facts.without_english >= facts.images:
        return SetupStep(Step.ENGLISH, State.TO_DO, _("No image has an English caption. Import some, or run a model."))
    if facts.without_english:
        text = ngettext(
            "%(number)d of %(all)d images has no English caption and is left out until it has one.",
            "%(number)d of %(all)d images have no English caption and are left out until they have one.",
            facts.without_english,
        )
        return SetupStep(Step.ENGLISH, State.ADVISED, text % {"number": facts.without_english, "all": facts.images})
    return SetupStep(Step.ENGLISH, State.DONE)


def _project(facts: Facts) -> SetupStep:
    if not facts.images or facts.without_english >= facts.images:
        return SetupStep(Step.PROJECT, State.WAITS, _("First add images with English captions."))
    return SetupStep(Step.PROJECT, State.TO_DO, _("Choose the images, the models and the languages."))


def _consent(facts: Facts) -> SetupStep:
    if facts.has_consent_gaps:
        text = _("The consent text still has gaps in brackets. Fill them in before anybody joins.")
        return SetupStep(Step.CONSENT, State.TO_DO, text)
    return SetupStep(Step.CONSENT, State.DONE)


def _guidelines(facts: Facts) -> SetupStep:
    if facts.has_default_guidelines:
        return SetupStep(Step.GUIDELINES, State.ADVISED, _("Adapt the default guidelines to your images."))
    return SetupStep(Step.GUIDELINES, State.DONE)


def _languages(facts: Facts) -> SetupStep:
    if not facts.languages:
        return SetupStep(Step.LANGUAGES, State.TO_DO, _("The project has no language. Add some."))
    return SetupStep(Step.LANGUAGES, State.DONE)


def _people(facts: Facts) -> SetupStep:
    if not facts.languages:
        return SetupStep(Step.PEOPLE, State.WAITS, _("First add languages."))
    short = [one for one in facts.languages if one.able < one.needed and not one.is_main_closed]
    uninvited = [one for one in short if one.able + one.invited < one.needed]
    if uninvited:
        text = _("Not enough people can write in %(languages)s. Invite some.") % {"languages": named(uninvited)}
        return SetupStep(Step.PEOPLE, State.TO_DO, text, uninvited)
    if short:
        text = _("People were invited, but not enough have joined: %(languages)s.") % {"languages": named(short)}
        return SetupStep(Step.PEOPLE, State.ADVISED, text, short)
    return SetupStep(Step.PEOPLE, State.DONE)


def _of_languages(
    step: Step,
    text: StrPromise,
    *,
    is_done: Callable[[LanguageFacts], bool],
    may_begin: Callable[[LanguageFacts], bool],
    before: StrPromise,
    has_begun: Callable[[LanguageFacts], bool] = lambda _one: False,
    begun: StrPromise | str = "",
) -> Callable[[Facts], SetupStep]:
    """Make a step that is done language by language; it waits until it may begin in one of those that are left.

    Languages in which it `has_begun` are named with what is left to do in them.
    """

    def step_of(facts: Facts) -> SetupStep:
        left = [one for one in facts.languages if not is_done(one)]
        ready = [one for one in left if may_begin(one)]
        if facts.languages and not left:
            return SetupStep(step, State.DONE)
        if not ready:
            return SetupStep(step, State.WAITS, str(before))
        fresh = [one for one in ready if not has_begun(one)]
        going = [one for one in ready if has_begun(one)]
        what = [str(said) % {"languages": named(those)} for said, those in ((text, fresh), (begun, going)) if those]
        return SetupStep(step, State.TO_DO, " ".join(what), ready)

    return step_of


def _release(facts: Facts) -> SetupStep:
    if facts.is_released:
        return SetupStep(Step.RELEASE, State.DONE)
    if not any(one.is_main_closed for one in facts.languages):
        return SetupStep(Step.RELEASE, State.WAITS, _("After a main round."))
    if facts.unlicensed or facts.unauthored:
        return SetupStep(Step.RELEASE, State.WAITS, _("First complete licences and authors of images."))
    return SetupStep(Step.RELEASE, State.TO_DO, _("Make a release of what is finished."))


def named(languages: Sequence[LanguageFacts]) -> str:
    """Name some languages, and say how many others there are."""
    first = ", ".join(one.name for one in languages[:NAMED])
    others = len(languages) - NAMED
    if others <= 0:
        return first
    text = ngettext("%(first)s and %(number)d other", "%(first)s and %(number)d others", others)
    return text % {"first": first, "number": others}


_STEPS: dict[Step, Callable[[Facts], SetupStep]] = {
    Step.IMAGES: _images,
    Step.ENGLISH: _english,
    Step.PROJECT: _project,
    Step.CONSENT: _consent,
    Step.GUIDELINES: _guidelines,
    Step.LANGUAGES: _languages,
    Step.PEOPLE: _people,
    Step.PILOT: _of_languages(
        Step.PILOT,
        gettext_lazy("Open the pilot: %(languages)s."),
        has_begun=lambda one: one.is_pilot_open,
        begun=gettext_lazy("Close the pilot when it is written: %(languages)s."),
        is_done=lambda one: one.is_pilot_written,
        may_begin=lambda one: one.able > 0,
        before=gettext_lazy("After people have joined."),
    ),
    Step.ACCEPT: _of_languages(
        Step.ACCEPT,
        gettext_lazy("Have the pilot rated, and accept or reject it: %(languages)s."),
        is_done=lambda one: one.is_pilot_decided,
        may_begin=lambda one: one.is_pilot_written,
        before=gettext_lazy("After a pilot."),
    ),
    Step.MAIN: _of_languages(
        Step.MAIN,
        gettext_lazy("Open the main round: %(languages)s."),
        has_begun=lambda one: one.is_main_open,
        begun=gettext_lazy("Close the main round when it is written: %(languages)s."),
        is_done=lambda one: one.is_main_closed,
        may_begin=lambda one: one.is_pilot_decided,
        before=gettext_lazy("After a pilot is accepted."),
    ),
    Step.VERIFICATION: _of_languages(
        Step.VERIFICATION,
        gettext_lazy("Have a sample of the captions rated: %(languages)s."),
        has_begun=lambda one: one.is_verification_open,
        begun=gettext_lazy("Close the verification when it is rated: %(languages)s."),
        is_done=lambda one: one.is_verified,
        may_begin=lambda one: one.is_main_closed,
        before=gettext_lazy("After a main round."),
    ),
    Step.RELEASE: _release,
}
