"""Pages of models: the list of them, what each is and has made, and registering new ones."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core.people.models import Role
from research.inference.backends import registry
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, ModelCaption, Translator
from research.inference.selectors import models as selectors
from tests.factories import make_captioner, make_collection
from tests.inference.captioned import COMMIT
from tests.inference.watched import make_model, make_person, make_running, start_run
from tests.queries import queries_of
from tests.sxs_eval.judged import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]


@pytest.fixture
def models(tmp_path, settings):
    """The operator's folder, with one model in it."""
    settings.MODELS_FOLDER = tmp_path
    save_model(tmp_path / "blip-base", {"model_type": "blip"})
    return tmp_path


def save_model(folder, config):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"")


def show(model):
    return reverse("inference:model-show", args=[model.pk])


def register(client, kind, **values):
    return client.post(f"{reverse('inference:model-create')}?kind={kind}", {"name": "New", **values})


def errors_of(response):
    assert response.status_code == 422
    return response.context["form"].errors


class TestList:
    def test_each_model_stands_with_its_kind_and_how_much_it_has_made(self, researcher):
        collection = make_collection(3)
        make_captioner(collection, "Imported one", language="de")
        model = make_model("Fake one", is_pivot=True)
        make_running(start_run(model, collection))
        text = text_of(researcher.get(reverse("inference:model-list")))
        assert "Imported one Shared with all imported 3 German" in text
        assert "Fake one pivot Shared with all Fake 0 – 1 running" in text

    def test_of_many_languages_those_with_most_captions_are_named(self, researcher):
        collection = make_collection(2)
        model = make_captioner(collection, "Wide", language="sw")
        image = collection.entries.first().image
        for tag in ("de", "fr", "es", "it", "nl"):
            ModelCaption.objects.create(model=model, image=image, language_id=tag, text="x")
        text = text_of(researcher.get(reverse("inference:model-list")))
        assert "7 Swahili 2 ," in text
        assert "and 2 more" in text

    def test_what_the_models_said_is_not_shown(self, researcher):
        make_captioner(make_collection(2), text="Nuxblathering")
        assert "Nuxblathering" not in researcher.get(reverse("inference:model-list")).text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_hundred_models_take_as_many_queries_as_one_and_can_be_looked_for(self, researcher):
        address = reverse("inference:model-list")
        make_model("Fake 0", source="somewhere")
        few = queries_of(lambda: researcher.get(address))
        for number in range(1, 100):
            make_model(f"Fake {number}")
        with CaptureQueriesContext(connection) as many:
            response = researcher.get(address)
        assert len(many) <= len(few) + 1
        assert "Page 1 of 2" in text_of(response)
        assert "Fake 99" in text_of(researcher.get(address, {"q": "fake 99"}))
        assert "Fake 99" not in text_of(researcher.get(address, {"q": "SOMEWHERE"}))
        assert "No models match" in text_of(researcher.get(address, {"q": "nothing"}))

    def test_captions_are_counted_anew_once_there_is_one_more_and_not_before(self, researcher):
        collection = make_collection(3)
        model = make_captioner(collection, "m", language="de")
        assert selectors.caption_counts([model.pk]) == {model.pk: {"de": 3}}
        with CaptureQueriesContext(connection) as queries:
            assert selectors.caption_counts([model.pk]) == {model.pk: {"de": 3}}
        assert not [query for query in queries if "GROUP BY" in query["sql"]]
        image = collection.entries.first().image
        ModelCaption.objects.create(model=model, image=image, language_id="fr", text="x")
        assert selectors.caption_counts([model.pk]) == {model.pk: {"de": 3, "fr": 1}}

    def test_managers_and_researchers_are_led_to_the_import(self, client):
        address, wanted = reverse("inference:model-list"), reverse("imports:import-choose")
        for role in (Role.MANAGER, Role.RESEARCHER):
            client.force_login(make_person(role))
            assert wanted in client.get(address).text


class TestOne:
    def test_it_says_what_it_is_and_which_languages_it_writes_by_its_own_codes(self, researcher):
        translator = Translator.objects.create(is_shared=True, name="Fake translator", backend="fake")
        english = make_captioner(make_collection(1), "English")
        model = make_model("Both", backend="translated", english_model=english, translator=translator)
        text = text_of(researcher.get(show(model)))
        for said in ("translated by a machine", "English captions English", "Translated by Fake translator"):
            assert said in text
        assert "It can write English en French fra German deu" in text
        assert "Queue default" in text
        assert "Both" in text_of(researcher.get(show(english)))

    def test_captions_are_counted_by_language_and_what_they_say_is_not_shown(self, researcher):
        model = make_captioner(make_collection(4), "m", text="Nuxblathering", language="de")
        response = researcher.get(show(model))
        assert "German de – 4" in text_of(response)
        assert "It can" not in text_of(response)
        assert "Nuxblathering" not in response.text

    def test_options_and_decoding_stand_in_words(self, researcher):
        options = {"prompts": {"de": "ein Bild von"}, "languages": ["de", "fr"], "batch_size": 8}
        model = make_model(options=options, decoding=Decoding(beams=4, length_penalty=1.2).stored())
        text = text_of(researcher.get(show(model)))
        for said in ("prompts, de ein Bild von", "languages de, fr", "batch_size 8", "Beams 4", "Length penalty 1.2"):
            assert said in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_its_variants_and_runs_stand_below(self, researcher):
        collection = make_collection(2)
        model = make_model("Base", decoding=Decoding().stored())
        variant = make_model("Wide", variant_of=model, decoding=Decoding(beams=5).stored())
        run = start_run(model, collection)
        response = researcher.get(show(model))
        assert show(variant) in response.text
        assert reverse("inference:run-show", args=[run.pk]) in response.text
        assert show(model) in researcher.get(show(variant)).text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_where_it_can_be_run_the_way_there_is_offered(self, researcher):
        model = make_model()
        assert f"{reverse('inference:run-create')}?model={model.pk}" in researcher.get(show(model)).text
        imported = make_captioner(make_collection(1))
        assert reverse("inference:run-create") not in researcher.get(show(imported)).text

    @pytest.mark.parametrize(
        ("fields", "said"),
        [({"source": "nowhere"}, "There is no such model."), ({"backend": "gone"}, "No backend 'gone' is installed")],
    )
    def test_where_it_cannot_it_says_why(self, researcher, fields, said):
        model = make_model(**fields)
        response = researcher.get(show(model))
        assert said in text_of(response)
        assert reverse("inference:run-create") not in response.text

    def test_languages_that_the_platform_does_not_know_are_told_of(self, researcher, monkeypatch):
        backend = registry.backends()["fake"]
        monkeypatch.setattr(backend, "languages", lambda _spec: {"de": "de", "tlh": "klingon"})
        assert "not set up on this installation: tlh" in text_of(researcher.get(show(make_model())))


class TestRegistering:
    def test_first_the_kind_is_chosen(self, researcher):
        response = researcher.get(reverse("inference:model-create"))
        for name in (*registry.backends(), "translated"):
            assert f'href="?kind={name}"' in response.text
        assert "Translation of another model" in text_of(response)

    def test_what_a_kind_needs_and_this_process_lacks_is_said(self, researcher, monkeypatch):
        monkeypatch.setattr(registry, "missing_modules", lambda _backend: ["torch"])
        assert "Needs torch on the worker" in text_of(researcher.get(reverse("inference:model-create")))
        text = text_of(researcher.get(reverse("inference:model-create"), {"kind": "fake"}))
        assert "pip install -r requirements/gpu.txt" in text

    def test_a_model_from_a_folder_with_what_single_languages_need(self, researcher, models):
        page = researcher.get(reverse("inference:model-create"), {"kind": "encoder-decoder"})
        assert '<option value="blip-base">blip-base</option>' in page.text
        response = register(
            researcher,
            "encoder-decoder",
            folder="blip-base",
            description="Of the lab.",
            is_pivot="on",
            prompts="en: a picture of\nde:ein Bild: von",
            separators="de:  <de> ",
            languages="en\r\nde: ger\n\n",
            batch_size="16",
        )
        model = CaptioningModel.objects.get()
        assert response.url == show(model)
        about = (model.name, model.backend, model.source, model.is_pivot)
        assert about == ("New", "encoder-decoder", "blip-base", True)
        assert model.options == {
            "prompts": {"en": "a picture of", "de": "ein Bild: von"},
            "separators": {"de": " <de> "},
            "languages": {"en": "en", "de": "ger"},
            "batch_size": 16,
        }
        assert model.created_by is not None

    def test_a_model_of_the_hub_with_its_commit_and_an_option_that_has_no_field(self, researcher, models):
        more = '{"family": "blip"}'
        register(researcher, "encoder-decoder", elsewhere=f"lab/blip@{COMMIT}", languages="en\nde", more=more)
        model = CaptioningModel.objects.get()
        assert (model.source, model.is_pivot) == (f"lab/blip@{COMMIT}", False)
        assert model.options == {"languages": ["en", "de"], "family": "blip"}

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({}, "folder"),
            ({"folder": "blip-base", "elsewhere": f"lab/blip@{COMMIT}"}, "folder"),
            ({"folder": "../../etc"}, "folder"),
            ({"elsewhere": "lab/blip"}, "elsewhere"),
            ({"elsewhere": ".."}, "__all__"),
            ({"folder": "blip-base", "prompts": "no colon"}, "prompts"),
            ({"folder": "blip-base", "prompts": "de: one\nde: two"}, "prompts"),
            ({"folder": "blip-base", "languages": "de:"}, "languages"),
            ({"folder": "blip-base", "more": "{not json"}, "more"),
            ({"folder": "blip-base", "more": "[1]"}, "more"),
            ({"folder": "blip-base", "more": '{"misspelt": 1}'}, "__all__"),
            ({"folder": "blip-base", "batch_size": "0"}, "batch_size"),
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_is_registered(self, researcher, models, values, field):
        response = register(researcher, "encoder-decoder", **values)
        assert set(errors_of(response)) == {field}
        assert not CaptioningModel.objects.exists()

    def test_what_was_typed_is_still_there_after_an_error(self, researcher, models):
        response = register(researcher, "encoder-decoder", prompts="en: a picture of", more="{not json")
        assert "en: a picture of" in response.text
        assert "<details open>" in response.text

    def test_a_model_behind_an_endpoint_of_the_settings(self, researcher, settings):
        settings.CAPTION_ENDPOINTS = {"lab": "http://gpu7.example:8000/v1"}
        settings.CAPTION_ENDPOINT_KEYS = {"lab": "sk-secret"}
        page = researcher.get(reverse("inference:model-create"), {"kind": "endpoint"})
        assert '<option value="lab">lab</option>' in page.text
        values = {"model": "llava", "prompt": "Write in {language}.", "languages": "de: German\nfr", "per_minute": "30"}
        response = register(researcher, "endpoint", source="lab", **values)
        model = CaptioningModel.objects.get()
        assert model.source == "lab"
        assert model.options == {
            "model": "llava",
            "prompt": "Write in {language}.",
            "languages": {"de": "German", "fr": "fr"},
            "per_minute": 30.0,
        }
        shown = researcher.get(response.url)
        assert "llava" in shown.text
        for secret in ("gpu7", "sk-secret"):
            assert secret not in page.text + shown.text

    def test_an_address_in_place_of_an_endpoints_name_is_refused(self, researcher, settings):
        settings.CAPTION_ENDPOINTS = {"lab": "http://gpu7.example:8000/v1"}
        response = register(researcher, "endpoint", source="http://169.254.169.254/", model="x")
        assert set(errors_of(response)) == {"source"}

    def test_a_kind_that_needs_nothing_is_asked_for_a_name_alone(self, researcher):
        form = researcher.get(reverse("inference:model-create"), {"kind": "palette"}).context["form"]
        assert set(form.fields) == {"name", "description", "project"}
        register(researcher, "palette")
        assert CaptioningModel.objects.get().backend == "palette"

    def test_a_packages_backend_is_given_a_source_and_options_as_json(self, researcher):
        register(researcher, "fake", source="somewhere", more='{"side": 32}')
        model = CaptioningModel.objects.get()
        assert (model.source, model.options) == ("somewhere", {"side": 32})

    def test_what_the_backend_refuses_is_said_above_the_form(self, researcher):
        assert errors_of(register(researcher, "fake", source="nowhere")) == {"__all__": ["There is no such model."]}

    def test_a_name_that_is_taken_is_refused(self, researcher):
        make_model("New")
        response = register(researcher, "fake")
        assert errors_of(response) == {"__all__": ["The name “New” is already taken. Choose another."]}

    def test_a_model_that_could_write_nothing_is_refused(self, researcher, monkeypatch):
        monkeypatch.setattr(registry.backends()["fake"], "languages", lambda _spec: {})
        assert "cannot write any language" in str(errors_of(register(researcher, "fake")))

    def test_a_kind_that_is_not_there_leads_to_those_that_are(self, researcher):
        assert "What kind of model is it?" in text_of(register(researcher, "guessed"))
        assert not CaptioningModel.objects.exists()


class TestTranslations:
    def translator(self, researcher, kind="fake", **values):
        return researcher.post(f"{reverse('inference:translator-create')}?kind={kind}", {"name": "NLLB", **values})

    def test_a_translator_is_registered_and_then_the_model_that_it_makes_of_another(self, researcher):
        english = make_captioner(make_collection(1), "English")
        page = researcher.get(reverse("inference:model-create"), {"kind": "translated"})
        assert reverse("inference:translator-create") in page.text
        response = self.translator(researcher, source="somewhere")
        translator = Translator.objects.get()
        assert (translator.name, translator.backend, translator.source) == ("NLLB", "fake", "somewhere")
        assert "The translator is registered." in text_of(researcher.get(response.url))
        values = {"english_model": english.pk, "translator": translator.pk}
        response = register(researcher, "translated", **values)
        model = CaptioningModel.objects.get(name="New")
        assert response.url == show(model)
        assert (model.backend, model.english_model, model.translator) == ("translated", english, translator)

    def test_a_translation_is_not_translated_again(self, researcher):
        translator = Translator.objects.create(is_shared=True, name="Fake translator", backend="fake")
        english = make_captioner(make_collection(1), "English")
        model = make_model("Both", backend="translated", english_model=english, translator=translator)
        response = register(researcher, "translated", english_model=model.pk, translator=translator.pk)
        assert set(errors_of(response)) == {"english_model"}

    def test_first_the_translators_kind_is_chosen(self, researcher):
        response = researcher.get(reverse("inference:translator-create"))
        for name in registry.translators():
            assert f'href="?kind={name}"' in response.text

    def test_two_translators_cannot_have_one_name(self, researcher):
        self.translator(researcher)
        assert errors_of(self.translator(researcher)) == {
            "__all__": ["The name “NLLB” is already taken. Choose another."]
        }
        assert Translator.objects.count() == 1

    def test_a_translator_that_knows_no_language_is_refused(self, researcher, monkeypatch):
        monkeypatch.setattr(registry.translators()["fake"], "languages", lambda _spec: {})
        assert "cannot translate into any language" in str(errors_of(self.translator(researcher)))


class TestAccess:
    def test_whoever_does_research_finds_them_by_the_main_way(self, researcher):
        response = researcher.get(reverse("inference:model-list"))
        assert f'<a href="{reverse("inference:model-list")}" aria-current="page">Models</a>' in response.text

    def test_a_model_that_is_not_there_is_not_found(self, researcher):
        assert researcher.get(reverse("inference:model-show", args=[1])).status_code == 404
