"""The page on which a second reader answers about a caption."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.forms.readings import ReadingForm
from annotation.permissions import reading_of
from annotation.services.feedback import FeedbackError
from annotation.services.readings import answer_reading
from core.images.selectors import served_image
from core.people.requests import user_of


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def reading_show(request: HttpRequest, reading_id: int) -> HttpResponse:
    """Show a caption and its image to whom a manager asked about it, and take the answer."""
    reading = reading_of(request.user, reading_id)
    form = ReadingForm(request.POST or None, initial={"answer": reading.answer, "comment": reading.comment})
    if form.is_valid():
        try:
            answer_reading(reading_id=reading.pk, reader=user_of(request), now=timezone.now(), **form.cleaned_data)
        except FeedbackError as refused:
            form.add_error("comment", str(refused))
        else:
            messages.success(request, _("Your answer was sent."))
            return redirect("annotation:work-show")
    image = served_image(reading.caption.image, user_of(request))
    context = {"reading": reading, "language": reading.caption.round.language, "image": image, "form": form}
    return render(request, "annotation/reading.html", context, status=422 if form.is_bound else 200)
