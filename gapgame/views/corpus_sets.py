"""From a corpus to the game and to tasks for machines."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from corpora.models import CorpusBuild
from corpora.permissions import corpus_for
from gapgame.forms.corpus_sets import CorpusSetForm, TaskForm
from gapgame.services.corpus_sets import CorpusSetError, make_set
from gapgame.services.corpus_tasks import CorpusTaskError, task_archive
from gapgame.services.items import ItemSetNameTakenError
from gapgame.tasks import ask_for_item_import
from people.models import Role
from people.requests import user_of


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def corpus_set_create(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    form = CorpusSetForm(request.POST or None, initial={"name": build.name})
    if form.is_valid():
        back = reverse("gapgame:item-set-list", args=[slug])
        name, choice = form.cleaned_data["name"], form.choice()
        try:
            job = make_set(build=build, name=name, choice=choice, back=back, by=user_of(request))
        except ItemSetNameTakenError:
            form.add_error("name", _("The project already has a set with this name. Choose another name."))
        except CorpusSetError as refused:
            form.add_error(None, str(refused))
        else:
            ask_for_item_import(job.pk)
            return redirect("images:import-show", job.pk)
    return _page(request, build, form, TaskForm(build=build))


@require_safe
@login_required
def task_download(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse | FileResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    form = TaskForm(request.GET, build=build)
    if form.is_valid():
        try:
            archive = task_archive(build=build, **form.options())
        except CorpusTaskError as refused:
            form.add_error(None, str(refused))
        else:
            name = f"{build.slug}-{form.cleaned_data['language'] or 'gap'}.zip"
            return FileResponse(archive, as_attachment=True, filename=name)
    return _page(request, build, CorpusSetForm(initial={"name": build.name}), form)


def _page(request: HttpRequest, build: CorpusBuild, form: CorpusSetForm, task: TaskForm) -> HttpResponse:
    context = {"project": build.project, "build": build, "form": form, "task": task}
    is_refused = (form.is_bound and form.errors) or (task.is_bound and task.errors)
    return render(request, "gapgame/corpus_set_create.html", context, status=422 if is_refused else 200)
