"""The page of a project's word vectors."""

from __future__ import annotations

import pytest
from django.urls import reverse

from research.inference.models import VectorKind, WordVectorSet
from tests.clients import client_of
from tests.factories import make_user
from tests.gapgame.seasons import text_of

pytestmark = pytest.mark.django_db


def test_a_large_table_is_imported_in_the_background(project, manager, monkeypatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("gapgame.tasks.ask_for_packaged_vectors", asked.append)
    response = manager.post(
        reverse("gapgame:vectors-import", args=[project.slug]), {"name": "glove-6b-50d"}, follow=True
    )
    assert asked == ["glove-6b-50d"]
    assert "being imported" in text_of(response)


def test_packaged_vectors_are_imported_by_a_button_for_the_languages_of_the_model(project, manager) -> None:
    url = reverse("gapgame:vectors-import", args=[project.slug])
    assert manager.post(url, {"name": "use-multilingual-v3", "language": "hi"}).status_code == 404
    assert manager.post(url, {}).status_code == 404
    assert client_of(make_user()).post(url, {"name": "glove-6b-50d"}).status_code == 404
    assert not WordVectorSet.objects.exists()
    response = manager.post(url, {"name": "use-multilingual-v3", "language": "de"}, follow=True)
    made = WordVectorSet.objects.get(language="de")
    assert made.name in text_of(response)
    assert made.kind == VectorKind.ENCODER
    manager.post(url, {"name": "use-multilingual-v3", "language": "de"})
    assert WordVectorSet.objects.count() == 1
