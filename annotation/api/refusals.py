"""What the services refuse, each with a code that stays and the sentence that the pages say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import Http404
from django.utils.translation import gettext as _

from allocation.services.errors import (
    BatchReturnedError,
    LeaseExpiredError,
    NoTasksAvailableError,
    OpenBatchExistsError,
    PoolBusyError,
    PoolClosedError,
)
from annotation.models import CaptionBatch, CaptionItem, Feedback, Verdict, VerificationBatch
from annotation.permissions import has_assigned_pictures
from annotation.rules.text_checks import COPIED
from annotation.services import batches
from annotation.services.releases import ReleaseSettingsError
from people.api.problems import ApiError, explain
from people.models import Project, User
from people.selectors.qualification import NotQualifiedError

explain(
    {
        "not-qualified": "Something keeps you from this round; errors says what, such as consent or feedback to read.",
        "round-closed": "The round hands out nothing at present.",
        "busy": "Others are taking the last of it this very moment. Ask again in some seconds.",
        "nothing-left": "Nothing is left for you in this round.",
        "moved-on": "The batch is past the stage that this is about, or not there yet.",
        "not-all-rated": "Every caption has to be rated first; errors names the positions.",
        "unfinished": "Captions are missing or cannot be handed in; errors says why, by position.",
        "almost-copied": "Captions are almost the English ones; errors says which. Change them, or send copies_seen.",
        "bad-text": "The text cannot be kept as it is.",
        "conflict": "The text was changed since the revision you began from; text and revision are what is stored.",
        "time-ran-out": "The lease is over. What was written is kept; the batch can be taken up again.",
        "given-back": "The batch was given back. It can be taken up again.",
        "all-gone": "Everything in the batch has gone to others since.",
        "batch-in-hand": "Another batch of the round is in your hands; batch says which.",
        "pictures-in-hand": "You have pictures of the project to finish yourself, and would read what others wrote.",
        "release-refused": "The project cannot be released as it is; errors says why.",
    }
)

REASSIGNED = (CaptionBatch.DoesNotExist, CaptionItem.DoesNotExist, VerificationBatch.DoesNotExist, Verdict.DoesNotExist)


@contextmanager
def refusals() -> Iterator[None]:
    """Say as a problem what a service refuses."""
    try:
        yield
    except NotQualifiedError as stopped:
        why = {
            missing_requirement.code: [missing_requirement.message]
            for missing_requirement in stopped.missing_requirements
        }
        raise ApiError(
            403, "not-qualified", " ".join(str(b.message) for b in stopped.missing_requirements), why
        ) from None
    except PoolClosedError:
        said = _("This round is closed for now. A manager can open it again.")
        raise ApiError(409, "round-closed", said) from None
    except PoolBusyError:
        said = _("Other people are taking the last images right now. Try again in a few seconds.")
        raise ApiError(409, "busy", said) from None
    except REASSIGNED:
        raise Http404(_("This image is not assigned to you.")) from None
    except Feedback.DoesNotExist:
        raise Http404(_("You have no such feedback.")) from None
    except batches.StaleStateError:
        raise ApiError(409, "moved-on", _("This batch has moved to another stage in another tab.")) from None
    except batches.UnratedImagesError as stopped:
        missing = ", ".join(map(str, stopped.positions))
        said = _("Rate every caption first. Not rated yet: %(missing)s.") % {"missing": missing}
        errors = {str(position): [_("Not rated yet.")] for position in stopped.positions}
        raise ApiError(409, "not-all-rated", said, errors) from None
    except batches.IncompleteBatchError as stopped:
        errors = {str(position): [str(problem.message)] for position, problem in stopped.problems.items()}
        raise ApiError(409, "unfinished", _("Some captions cannot be submitted yet."), errors) from None
    except batches.NearCopyError as told:
        said = _(
            "Some captions are almost the same as what was shown on the first screen. Change them, or send copies_seen."
        )
        errors = {str(position): [str(COPIED.message)] for position in told.positions}
        raise ApiError(409, "almost-copied", said, errors) from None
    except batches.InvalidCaptionError as refused:
        said = str(refused.problem.message)
        raise ApiError(422, "bad-text", said, {"text": [said]}) from None
    except batches.StaleDraftError as conflict:
        said = _(
            "This caption was changed elsewhere in the meantime. The fields text and revision hold the saved version."
        )
        item = conflict.item
        raise ApiError(409, "conflict", said, text=item.text, revision=item.revision) from None
    except LeaseExpiredError:
        said = _("This batch has expired. You can resume it.")
        raise ApiError(410, "time-ran-out", said) from None
    except BatchReturnedError:
        raise ApiError(410, "given-back", _("This batch was returned. You can resume it.")) from None
    except NoTasksAvailableError:
        said = _("Other people have taken all images of this batch since then. Your drafts are kept.")
        raise ApiError(409, "all-gone", said) from None
    except OpenBatchExistsError as stopped:
        said = _("Finish or return this batch first.")
        raise ApiError(409, "batch-in-hand", said, batch=str(stopped.batch.pk)) from None
    except ReleaseSettingsError as refused:
        raise ApiError(409, "release-refused", str(refused), {"release": refused.problems}) from None


def nothing_left(sentence: str) -> ApiError:
    return ApiError(409, "nothing-left", sentence)


def check_no_assigned_pictures(user: User, project: Project) -> None:
    """What others wrote is not for who has yet to write, judge or guess about the same pictures.

    Raises
    ------
    ApiError
    """
    if has_assigned_pictures(user, project):
        raise ApiError(
            409,
            "pictures-in-hand",
            _("The file has other people’s captions of images in a batch that is assigned to you. Submit "
                "that batch first, or ask another manager for the file."),
        )  # fmt: skip
