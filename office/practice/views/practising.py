"""Practising: examples one by one, each with an answer and its reason, before there is work."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.conversation.services import MessageRefusedError
from core.languages.models import Language
from core.people.requests import RefusalsShown, user_of
from office.practice.models import PracticeAttempt, PracticeKind
from office.practice.permissions import attempt_for, project_to_practise, wanted_by
from office.practice.rules.grading import fewest_right
from office.practice.selectors.practising import (
    PracticeState,
    items_of,
    needed_of,
    practice_states,
    shown_answer,
    shown_item,
)
from office.practice.services.attempts import (
    NotAnAnswerError,
    NotNextError,
    NoTryLeftError,
    answer_item,
    faults_of,
    start_attempt,
    write_to_managers,
)


@require_safe
def practice_show(request: HttpRequest, slug: str) -> HttpResponse:
    user = user_of(request)
    project = project_to_practise(user, slug)
    wanted = wanted_by(user, project)
    found: dict[tuple[int, str], tuple[str, PracticeState]] = {}
    for (_project, _kind, language), state in zip(wanted, practice_states(user, wanted), strict=True):
        if state is not None:
            found.setdefault((state.practice.pk, state.language_id), (language, state))
    languages = Language.objects.in_bulk({state.language_id for _language, state in found.values()})
    rows = [
        {
            "state": state,
            "working": working,
            "language": languages[state.language_id],
            "total": state.total,
            "needed": fewest_right(total=state.total, pass_percent=state.practice.pass_percent),
        }
        for working, state in found.values()
    ]
    return render(request, "practice/practice.html", {"project": project, "rows": rows})


@require_POST
def practice_start(request: HttpRequest, slug: str) -> HttpResponse:
    user = user_of(request)
    project = project_to_practise(user, slug)
    kind, language = request.POST.get("kind", ""), request.POST.get("language", "")
    if (project.pk, kind, language) not in wanted_by(user, project):
        raise Http404(_("There is no such page."))
    try:
        attempt = start_attempt(person=user, project=project, kind=kind, language=language, now=timezone.now())
    except NoTryLeftError:
        return redirect("practice:practice-show", slug)
    return redirect("practice:attempt-show", attempt.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def attempt_show(request: HttpRequest, attempt_id: int) -> HttpResponse:
    """Show the next example, what was right in the one before (`?after=`), or how the try ended."""
    user = user_of(request)
    attempt = attempt_for(user, attempt_id)
    items = items_of(attempt)
    answers = {answer.item_id: answer for answer in attempt.answers.all()}
    following = next((item for item in items if item.pk not in answers), None)
    context = {
        "attempt": attempt,
        "project": attempt.practice.project,
        "answered": len(answers),
        "total": len(items),
        "needed": needed_of(attempt, len(items)),
        "is_writing": attempt.practice.kind == PracticeKind.WRITING,
    }
    status = 200
    if request.method == "POST":
        position = request.POST.get("position", "")
        try:
            number = int(position) if position.isdecimal() and len(position) < 5 else 0
            given = request.POST.get("answer", "")
            answer_item(attempt=attempt, position=number, answer=given, now=timezone.now())
        except NotNextError:
            return redirect("practice:attempt-show", attempt.pk)
        except NotAnAnswerError as refused:
            messages.error(request, str(refused))
            context["typed"], status = given, 422
        else:
            response = redirect("practice:attempt-show", attempt.pk)
            response["Location"] += f"?after={number}"
            return response
    asked = request.GET.get("after", "")
    before = next((item for item in items if str(item.position) == asked and item.pk in answers), None)
    if before is not None:
        answer = answers[before.pk]
        context["answer"] = shown_answer(attempt, answer, items, user)
        context["faults"] = faults_of(attempt, before, answer.answer) if context["is_writing"] else []
        context["is_last"] = following is None
    elif following is not None:
        context["item"] = shown_item(attempt, following, items, user)
    else:
        context["state"] = _state_after(attempt)
    return render(request, "practice/attempt.html", context, status=status)


@require_POST
def message_send(request: HttpRequest, attempt_id: int) -> HttpResponse:
    attempt = attempt_for(user_of(request), attempt_id)
    with RefusalsShown(request, MessageRefusedError):
        write_to_managers(attempt=attempt, text=request.POST.get("text", ""), now=timezone.now())
    return redirect("practice:attempt-show", attempt_id)


def _state_after(attempt: PracticeAttempt) -> PracticeState | None:
    practice = attempt.practice
    return practice_states(attempt.person, [(practice.project_id, practice.kind, attempt.working_language_id)])[0]
