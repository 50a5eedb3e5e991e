"""The word vectors for seasons, and importing those that come in packages."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from core.languages.models import Language
from core.people.permissions import READERS, project_for
from crosslens_metrics.formats.word_vectors import WordVectorFileError
from gapgame import tasks
from research.inference.models import WordVectorSet
from research.inference.services.word_vectors import GLOVE, USE_MULTILINGUAL, import_packaged


@require_safe
def vectors_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    context: dict[str, object] = {
        "project": project,
        "sets": WordVectorSet.objects.select_related("language").order_by("language", "name"),
    }
    context |= {"glove": GLOVE, "encoder": USE_MULTILINGUAL, "encoder_languages": _encoder_languages()}
    return render(request, "gapgame/vectors.html", context)


@require_POST
def vectors_import(request: HttpRequest, slug: str) -> HttpResponse:
    """Copy a table in the background; a model needs only a row, made at once."""
    project_for(request.user, slug, *READERS)
    if request.POST.get("name") == GLOVE.name:
        tasks.ask_for_packaged_vectors(GLOVE.name)
        text = _(
            "The vectors are being imported. If they do not appear below within a minute, their package is missing."
        )
        messages.info(request, text)
        return redirect("gapgame:vectors-show", slug)
    language = get_object_or_404(_encoder_languages(), pk=request.POST.get("language", "").replace("\0", ""))
    try:
        made = import_packaged(name=USE_MULTILINGUAL.name, language=language, now=timezone.now())
    except WordVectorFileError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("You can now use “%(vectors)s” in seasons.") % {"vectors": made.vectors})
    return redirect("gapgame:vectors-show", slug)


def _encoder_languages() -> QuerySet[Language]:
    return Language.objects.filter(pk__in=USE_MULTILINGUAL.languages)
