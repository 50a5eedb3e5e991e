"""A manager's pages of translations: consent, guidelines and instructions in the languages of those who work."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core.languages.models import Language
from core.people.forms.texts import TranslationForm
from core.people.models import Role, TextKind
from core.people.permissions import project_for
from core.people.requests import user_of
from core.people.rules.markdown import to_html
from core.people.selectors.texts import latest_of, original_of, translation_rows
from core.people.services.texts import StaleTranslationError, save_translation


@require_safe
def text_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    texts = translation_rows(project, Language.objects.all())
    return render(request, "people/texts.html", {"project": project, "texts": texts})


@require_http_methods(["GET", "HEAD", "POST"])
def text_translate(request: HttpRequest, slug: str, kind: str, tag: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    language = Language.objects.filter(pk=tag).first()
    original = original_of(project, TextKind(kind)) if kind in TextKind.values else None
    if language is None or original is None:
        raise Http404(_("There is no such page."))
    last = latest_of(project, TextKind(kind), language)
    initial = {"version": original.version, "body": last.body if last else original.body}
    form = TranslationForm(request.POST or None, initial=initial)
    status = 422 if form.is_bound else 200
    if form.is_valid():
        publishes = request.POST.get("do") == "publish"
        try:
            save_translation(
                project=project, kind=TextKind(kind), language=language, publishes=publishes, by=user_of(request),
                now=timezone.now(), **form.cleaned_data,
            )  # fmt: skip
        except StaleTranslationError as stale:
            messages.error(request, str(stale))
            typed = form.cleaned_data["body"]
            form = TranslationForm(initial={"version": original.version, "body": typed})
            status = 409
        else:
            messages.success(request, _("People can read it now.") if publishes else _("Saved as a draft."))
            return redirect("people:text-list", slug)
    form.fields["body"].widget.attrs |= {"lang": language.tag, "dir": language.direction}
    context = {
        "project": project,
        "kind": TextKind(kind),
        "language": language,
        "original": original,
        "original_html": to_html(original.body),
        "last": last,
        "form": form,
    }
    return render(request, "people/text_translate.html", context, status=status)
