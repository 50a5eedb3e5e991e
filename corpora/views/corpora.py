"""Managers' pages of corpora: create, set up, build, follow, download and delete them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from corpora import tasks
from corpora.forms.corpora import CorpusForm, FilesForm, SettingsForm
from corpora.permissions import corpus_for
from corpora.selectors import corpus_pages as selectors
from corpora.services import corpus_builds as services
from parallel_text.step_names import STEP_NAMES
from people.models import Role
from people.permissions import READERS, project_for
from people.requests import is_htmx, user_of

PER_PAGE = 50


@require_safe
@login_required
def corpus_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    page = Paginator(selectors.builds_of(project), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "corpora/corpora.html", {"project": project, "page": page})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def corpus_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    form = CorpusForm(request.POST or None)
    if form.is_valid():
        try:
            build = services.create_build(
                project=project, name=form.cleaned_data["name"], by=user_of(request), now=timezone.now()
            )
        except services.CorpusRefusedError as refused:
            form.add_error("name", str(refused))
        else:
            return redirect("corpora:corpus-show", slug, build.slug)
    context = {"project": project, "form": form}
    return render(request, "corpora/corpus_create.html", context, status=422 if form.errors else 200)


@require_safe
@login_required
def corpus_show(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug)
    context = {"project": build.project, "build": build, "page": selectors.corpus_page(build)}
    return render(request, "corpora/corpus.html", context | {"form": SettingsForm(build=build), "upload": FilesForm()})


@require_safe
@login_required
def corpus_progress(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    """Render the part that refreshes itself; at the end the whole page is loaded again."""
    build = corpus_for(request.user, slug, corpus_slug)
    if not is_htmx(request):
        return redirect("corpora:corpus-show", slug, corpus_slug)
    page = selectors.corpus_page(build)
    response = render(request, "corpora/_corpus_steps.html", {"project": build.project, "build": build, "page": page})
    if not page.is_going:
        response["HX-Refresh"] = "true"
    return response


@require_POST
@login_required
def corpus_configure(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    form = SettingsForm(request.POST, build=build)
    if form.is_valid():
        services.configure(build=build, configuration=form.configuration, by=user_of(request), now=timezone.now())
        messages.success(request, _("The settings were saved."))
        return redirect("corpora:corpus-show", slug, corpus_slug)
    context = {"project": build.project, "build": build, "page": selectors.corpus_page(build), "form": form}
    return render(request, "corpora/corpus.html", context | {"upload": FilesForm()}, status=422)


@require_POST
@login_required
def corpus_start(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    """Build what is not up to date or, with a `step`, that step and all after it again."""
    build, step = corpus_for(request.user, slug, corpus_slug, Role.MANAGER), request.POST.get("step", "")
    about: dict[str, Any] = {"build": build, "by": user_of(request), "now": timezone.now()}
    try:
        if step in STEP_NAMES:
            services.start_from(step=step, **about)
        else:
            services.start(**about)
    except services.CorpusRefusedError as refused:
        messages.error(request, str(refused))
    else:
        tasks.ask_for_corpus(build.pk)
    return redirect("corpora:corpus-show", slug, corpus_slug)


@require_POST
@login_required
def corpus_stop(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    services.stop(build=build, by=user_of(request), now=timezone.now())
    messages.success(request, _("Building was stopped. What is done is kept."))
    return redirect("corpora:corpus-show", slug, corpus_slug)


@require_POST
@login_required
def corpus_delete(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    services.delete_build(build=build, by=user_of(request), now=timezone.now())
    messages.success(request, _("The corpus was deleted."))
    return redirect("corpora:corpus-list", slug)


@require_safe
@login_required
def corpus_download(request: HttpRequest, slug: str, corpus_slug: str, name: str) -> FileResponse:
    build = corpus_for(request.user, slug, corpus_slug)
    file = selectors.published_file(build, name)
    if file is None:
        raise Http404(_("There is no such file of this corpus."))
    return FileResponse(
        file, as_attachment=True, filename=f"{build.slug}-{name}", content_type="application/octet-stream"
    )
