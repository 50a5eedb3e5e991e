"""Who may ask for pages of models; and what nobody sends by hand is answered with a page that says what is wrong."""

from __future__ import annotations

from itertools import cycle
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.urls import reverse

from research.inference.backends.captioners import BackendDownError, FailedImage, GeneratedCaption
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, ModelCaption, Run, Translator
from research.inference.urls import urlpatterns
from tests.factories import (
    NOW,
    make_collection,
)
from tests.inference.captioned import COMMIT
from tests.inference.embedded import put_training
from tests.inference.fake_backend import FakeCaptioner
from tests.inference.fake_runs import counts, fake, go, log_of, make_run  # noqa: F401 - fake is a fixture
from tests.inference.watched import create_address
from tests.tiers import some

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "researcher")]


MARKUP = "<script>alert(1)</script>"
ODD = ["a\0b", "9" * 5000, "nan", "\ud800", MARKUP, "[" * 9999]
ODD += ["-1", "1e999", "٣²", "{language.__class__}", "../../etc"]

SETTINGS = ("beams", "max_tokens", "min_tokens", "length_penalty", "temperature", "top_p", "seed", "precision")
OF_FILES = ("prompt", "prompts", "separators", "languages", "batch_size", "more")
OF_ENDPOINTS = ("model", "prompt", "prompts", "languages", "concurrency", "per_minute", "more")


class Rows:
    def __init__(self):
        self.collection = make_collection(images=2)
        self.model = CaptioningModel.objects.create(is_shared=True, name="Colours", backend="palette")
        image = self.collection.entries.first().image
        self.caption = ModelCaption.objects.create(model=self.model, image=image, language_id="en", text="A cat.")
        self.encoder = Encoder.objects.create(is_shared=True, name="Eyes", backend="mobilenet")
        self.translator = Translator.objects.create(
            is_shared=True, name="T", backend="endpoint", source="lab", options={"model": "m"}
        )
        about = {"collection": self.collection, "queue": "gpu", "created_at": NOW}
        self.training = put_training({}, is_shared=True)
        self.run = Run.objects.create(is_shared=True, model=self.model, **about)
        of_set = Run.objects.create(is_shared=True, encoder=self.encoder, **about)
        self.set = EmbeddingSet.objects.create(encoder=self.encoder, run=of_set, created_at=NOW)

    def counts(self):
        self.run.refresh_from_db()
        made = (Run, CaptioningModel, Translator, Encoder, EmbeddingSet)
        return self.run.state, [model.objects.count() for model in made]

    def form(self, name):
        """The address of a page, or of the form on it."""
        if name == "run-create":
            return create_address(self.model, self.collection)
        return self.address(name) + ("?kind=endpoint" if name in ("model-create", "translator-create") else "")

    def address(self, name):
        known = {
            "model_id": self.model.pk,
            "run_id": self.run.pk,
            "training_id": self.training.pk,
            "set_id": self.set.pk,
            "caption_id": self.caption.pk,
            "slug": self.collection.slug,
            "public_id": self.collection.entries.select_related("image").first().image.public_id,
        }
        (pattern,) = (one for one in urlpatterns if one.name == name)
        return reverse(f"inference:{name}", kwargs={each: known[each] for each in pattern.pattern.converters})


@pytest.fixture
def rows(settings, tmp_path):
    settings.CAPTION_ENDPOINTS, settings.CAPTION_ENDPOINT_KEYS = {"lab": "http://127.0.0.1:1/v1"}, {"lab": "none"}
    settings.MODELS_FOLDER = tmp_path
    return Rows()


def sent(client, rows, odd):
    """Each address with each of its questions, then each form with each of its fields, one odd value after another."""
    odd = cycle(value.encode("utf-8", "surrogatepass") for value in odd)
    asked = {
        "model-list": ("q", "page"),
        "model-create": ("kind",),
        "translator-create": ("kind",),
        "gallery": ("collection", "show", "key", "model", "language", "after", "before"),
        "run-list": ("model", "page"),
        "run-create": ("model", "collection"),
        "run-show": ("log",),
        "run-progress": ("last",),
        "run-failures": ("page",),
        "model-try": ("key",),
        "model-stabilisers": ("collection",),
        "embedding-list": ("page",),
        "embedding-create": ("encoder",),
        "embedding-show": ("key",),
    }
    for name, questions in asked.items():
        for question in questions:
            usual = {"model": rows.model.pk, "collection": rows.collection.slug} if name == "run-create" else {}
            yield name, question, client.get(rows.address(name), usual | {question: next(odd)})
    model, collection = rows.model.pk, rows.collection.slug
    of_hub, of_endpoint = {"elsewhere": f"a/b@{COMMIT}"}, {"source": "lab", "model": "m"}
    forms = [
        ("model-try", "", {"languages": "en"}, (*SETTINGS, "key", "collection", "languages")),
        ("run-create", f"?model={model}&collection={collection}", {"count": ""}, (*SETTINGS, "name", "languages")),
        ("embedding-create", "", {"collection": collection}, ("encoder", "collection", "captions_of", "language")),
        ("encoder-create", "", {"backend": "vision"}, ("name", "backend", "source", "pool", "description")),
        ("model-create", "?kind=encoder-decoder", of_hub, ("name", "folder", "elsewhere", *OF_FILES)),
        ("model-create", "?kind=chat", of_hub, OF_FILES),
        ("model-create", "?kind=endpoint", of_endpoint, ("source", *OF_ENDPOINTS)),
        ("model-create", "?kind=translated", {}, ("english_model", "translator")),
        ("translator-create", "?kind=seq2seq", of_hub, ("elsewhere", "batch_size")),
        ("translator-create", "?kind=endpoint", of_endpoint, ("prompt", "model")),
    ]
    for name, query, usual, fields in forms:
        # One by one where the first that is wrong keeps others from being looked at; the rest as one would have them.
        each = [{field: next(odd)} for field in fields] if name in ("model-create", "encoder-create") else []
        for wrong in [*each, {field: next(odd) for field in fields}]:
            body = urlencode({"name": "x"} | usual | wrong)
            response = client.post(rows.address(name) + query, body, content_type="application/x-www-form-urlencoded")
            yield name, query + ",".join(wrong), response
            if response.status_code == 302:
                yield name, "then", client.get(response["Location"])


@pytest.mark.parametrize(
    "odd",
    some([ODD, *([odd] for odd in ODD)], short=1, reason="each of them everywhere"),
    ids=lambda odd: ascii(odd[0][:8]) if len(odd) == 1 else "in turn",
)
def test_odd_values_are_answered(odd, client, rows):
    for name, what, response in sent(client, rows, odd):
        assert response.status_code in (200, 302, 422), (name, what)
        assert MARKUP.encode() not in response.content, (name, what)


UNKEPT = [
    *('{"extra": {"a": "\\ud800"}}', '{"extra": {"a\\u0000": 1}}', '{"prompt": "\\ud800 {language}"}'),
    *('{"\\ud800": 1}', '{"extra": {"a": NaN}}', '{"extra": {"a": 1e999}}', '{"extra": {"a": 9007199254740993}}'),
    *('{"extra": {"a": ' + "9" * 5000 + "}}", '{"extra": {"a": ' + '{"a":' * 900 + "1" + "}" * 901 + "}"),
    *('{"extra": ' + "[" * 9999 + "]" * 9999 + "}", '{"batch_size": 4097}', '{"side": 4097}', '{"read_s": 1e300}'),
]


@pytest.mark.parametrize("kind", ["chat", "endpoint"])
def test_options_that_cannot_be_kept_or_are_beyond_all_bounds_are_refused(kind, client, rows):
    of = {"source": "lab", "model": "m"} if kind == "endpoint" else {"elsewhere": f"a/b@{COMMIT}"}
    where = f"{reverse('inference:model-create')}?kind={kind}"
    for options in UNKEPT if kind == "chat" else UNKEPT[:1]:
        assert client.post(where, {"name": "x", "more": options} | of).status_code == 422, options[:24]
    assert client.post(where, {"name": "x", "more": "{}"} | of).status_code == 302


@pytest.mark.parametrize("name", ["a--b/c", f"{'x' * 200}/b"])
def test_what_can_be_no_name_on_the_hub_breaks_no_page(name, client, rows):
    sent = {"name": "x", "elsewhere": f"{name}@{COMMIT}"}
    response = client.post(f"{reverse('inference:model-create')}?kind=encoder-decoder", sent)
    assert response.status_code in (302, 422)
    sent = {"name": "x", "backend": "vision", "source": f"{name}@{COMMIT}"}
    assert client.post(reverse("inference:encoder-create"), sent).status_code in (302, 422)


def test_an_image_that_is_none_has_no_neighbours(client, rows):
    assert client.get(reverse("inference:embedding-neighbours", args=[rows.set.pk, uuid4()])).status_code == 404


BROKEN = "half a pair \ud800, and a NUL \0"


def test_what_a_backend_says_in_characters_that_cannot_be_kept_stops_no_run(fake, monkeypatch):  # noqa: F811
    monkeypatch.setattr(FakeCaptioner, "describe", lambda self: {"model": BROKEN})
    monkeypatch.setattr(
        FakeCaptioner, "caption", lambda self, prepared, **_about: [FailedImage(BROKEN) for _ in prepared]
    )
    run = go(make_run(2, languages=["de"]))
    assert counts(run) == (2, 0, 0, 2)
    assert "half a pair \ufffd" in run.failures.first().reason
    assert "half a pair \ufffd" in log_of(run)


def test_nor_does_what_it_says_when_it_is_down(fake, monkeypatch):  # noqa: F811
    def down(self: FakeCaptioner, *_what: object, **_about: object) -> list[GeneratedCaption | FailedImage]:
        raise BackendDownError(BROKEN)

    monkeypatch.setattr(FakeCaptioner, "caption", down)
    run = go(make_run(2, languages=["de"]))
    assert (run.state, run.error) == ("failed", "half a pair \ufffd, and a NUL \ufffd")
