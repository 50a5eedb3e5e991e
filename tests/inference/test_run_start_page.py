"""The page on which a run is started: what can be chosen, and what is said before anything is made."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.people.models import Role
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, ModelCaption, Run, RunState, Translator
from tests.factories import make_captioner, make_collection
from tests.inference.watched import DECODING, address, create_address, make_model, make_person
from tests.sxs_eval.judged import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes", "asked")]


class TestStarting:
    @pytest.fixture
    def model(self):
        return make_model("Blathering")

    @pytest.fixture
    def collection(self):
        return make_collection(3)

    def send(self, researcher, model, collection, **values):
        data = DECODING | {"languages": ["de", "fr"], "name": ""} | values
        return researcher.post(create_address(model, collection), data)

    def test_first_model_and_collection_are_chosen(self, researcher, model, collection):
        make_captioner(collection, "Imported")
        response = researcher.get(reverse("inference:run-create"), {"model": model.pk})
        assert f'<option value="{model.pk}" selected>Blathering</option>' in response.text
        assert collection.slug in response.text
        assert "Imported" not in response.text

    def test_a_collections_own_page_leads_there_with_the_collection_chosen(self, client, model, collection):
        client.force_login(make_person(Role.MANAGER))
        address = f"{reverse('inference:run-create')}?collection={collection.slug}"
        assert address in client.get(reverse("images:collection-show", args=[collection.slug])).text
        assert f'<option value="{collection.slug}" selected>' in client.get(address).text

    def test_where_nothing_can_be_run_it_says_what_to_do(self, researcher):
        assert reverse("inference:model-create") in researcher.get(reverse("inference:run-create")).text

    def test_without_images_too(self, researcher, model):
        assert "no collection" in text_of(researcher.get(reverse("inference:run-create")))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_what_is_not_there_cannot_be_chosen(self, researcher, model, collection):
        page = reverse("inference:run-create")
        for number in ("9999", "9" * 30, "x"):
            text = text_of(researcher.get(page, {"model": number, "collection": collection.slug}))
            assert "There is no such model, or it cannot be run." in text
        text = text_of(researcher.get(page, {"model": model.pk, "collection": "guessed"}))
        assert "There is no such collection." in text

    def test_languages_stand_with_how_many_captions_there_are_and_those_of_others_cannot_be_chosen(
        self, researcher, model, collection
    ):
        first = collection.entries.first().image
        ModelCaption.objects.create(model=model, image=first, language_id="de", text="Ein Hund")
        response = researcher.get(create_address(model, collection))
        text = text_of(response)
        assert "German [de] 1 of 3" in text
        assert "Cusco Quechua – the model does not write it" in text
        (quechua,) = [line for line in response.text.splitlines() if 'value="quz"' in line and "checkbox" in line]
        (german,) = [line for line in response.text.splitlines() if 'value="de"' in line and "checkbox" in line]
        assert "disabled" in quechua
        assert "disabled" not in german
        assert "checked" in german

    def test_a_language_of_others_that_is_sent_all_the_same_is_refused(self, researcher, model, collection):
        response = self.send(researcher, model, collection, languages=["quz"])
        assert response.status_code == 422
        assert "Cusco Quechua" in response.context["form"].errors["languages"].as_text()
        assert not Run.objects.exists()

    def test_before_it_starts_it_says_what_is_to_be_made_and_what_is_there(self, researcher, model, collection):
        for entry in collection.entries.all()[:2]:
            ModelCaption.objects.create(model=model, image=entry.image, language_id="de", text="Ein Hund")
        response = self.send(researcher, model, collection, count="1")
        assert response.status_code == 200
        text = text_of(response)
        assert "4 captions to make , 2 already exist and are kept." in text
        assert "They are stored under Blathering ." in text
        assert not Run.objects.exists()

    def test_counting_with_a_gap_in_the_form_says_what_is_missing(self, researcher, model, collection):
        response = self.send(researcher, model, collection, count="1", languages=[])
        assert "Choose languages to see" in text_of(response)

    def test_it_starts_and_its_page_is_shown(self, researcher, model, collection, asked):
        response = self.send(researcher, model, collection, beams="5")
        run = Run.objects.get()
        assert response.url == address("show", run)
        assert (run.total, run.queue, run.decoding["beams"]) == (6, "gpu", 5)
        assert {language.tag for language in run.languages.all()} == {"de", "fr"}
        assert run.created_by is not None
        assert asked == [run.pk]

    def test_the_settings_offered_are_those_of_the_models_captions(self, researcher, model, collection):
        CaptioningModel.objects.filter(pk=model.pk).update(decoding=Decoding(beams=3, max_tokens=77).stored())
        form = researcher.get(create_address(model, collection)).context["form"]
        assert (form["beams"].value(), form["max_tokens"].value()) == (3, 77)

    def test_decoded_otherwise_it_says_that_the_captions_are_a_variants(self, researcher, model, collection):
        CaptioningModel.objects.filter(pk=model.pk).update(decoding=Decoding().stored())
        for entry in collection.entries.all():
            ModelCaption.objects.create(model=model, image=entry.image, language_id="de", text="Ein Hund")
        text = text_of(self.send(researcher, model, collection, beams="5", count="1"))
        assert "6 captions to make , 0 already exist" in text
        assert "under a new name, Blathering · beams 5 ," in text
        text = text_of(self.send(researcher, model, collection, beams="5", count="1", name="Blathering, wide"))
        assert "under a new name, Blathering, wide ," in text

    def test_what_it_says_beforehand_is_what_comes_true(self, researcher, model, collection):
        CaptioningModel.objects.filter(pk=model.pk).update(decoding=Decoding().stored())
        plan = self.send(researcher, model, collection, beams="5", count="1").context["plan"]
        self.send(researcher, model, collection, beams="5")
        run = Run.objects.get()
        assert (run.model.name, run.model.variant_of, run.total) == (plan["name"], model, plan["to_make"])
        Run.objects.update(state=RunState.CANCELLED)
        again = self.send(researcher, model, collection, beams="5", count="1").context["plan"]
        assert (again["name"], again["is_variant"], again["is_new_variant"]) == (plan["name"], True, False)
        # Started from the variant, with the settings of the first, they are the first one's.
        back = self.send(researcher, run.model, collection, count="1").context["plan"]
        assert (back["name"], back["is_variant"]) == (model.name, False)

    def test_what_the_service_refuses_is_said_above_the_form(self, researcher, model, collection):
        self.send(researcher, model, collection)
        response = self.send(researcher, model, collection)
        assert response.status_code == 422
        assert "is already captioning these images with this model" in text_of(response)

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            *(({"languages": []}, "languages"), ({"beams": "0"}, "beams"), ({"min_tokens": "50"}, "min_tokens")),
            *(({"beams": "3", "temperature": "1"}, "temperature"), ({"temperature": "nan"}, "temperature")),
            ({"precision": "int4"}, "precision"),
        ],
    )
    def test_settings_that_cannot_be_are_refused_where_they_stand(self, researcher, model, collection, values, field):
        response = self.send(researcher, model, collection, **values)
        assert response.status_code == 422
        assert set(response.context["form"].errors) == {field}
        assert not Run.objects.exists()

    def test_an_empty_collection_has_no_form(self, researcher, model):
        response = researcher.get(create_address(model, make_collection(0)))
        assert "This collection has no images yet." in text_of(response)
        assert 'id="run-form"' not in response.text

    def test_a_model_that_cannot_be_run_here_says_why(self, researcher, collection):
        text = text_of(researcher.get(create_address(make_model(source="nowhere"), collection)))
        assert "There is no such model." in text
        text = text_of(researcher.get(create_address(make_model("Of old", backend="gone"), collection)))
        assert "No backend 'gone' is installed here." in text

    def test_only_pivot_stabilised_models_are_asked_for_one_stabiliser(self, researcher, model, collection):
        assert "is_consistent" not in researcher.get(create_address(model, collection)).text
        pivot = make_model("Pivot", is_pivot=True)
        self.send(researcher, pivot, collection, is_consistent="on")
        assert Run.objects.get().decoding["is_consistent"] is True

    def test_a_translated_model_says_how_many_images_have_no_english_caption(self, researcher, collection):
        english = make_captioner(collection, "English")
        ModelCaption.objects.filter(image=collection.entries.first().image).delete()
        translator = Translator.objects.create(is_shared=True, name="Fake translator", backend="fake")
        model = make_model("Translated", backend="translated", english_model=english, translator=translator)
        response = self.send(researcher, model, collection, count="1")
        assert "1 image has no English caption by “English” and will fail." in text_of(response)
        assert "German [deu] 0 of 3" in text_of(response)
        self.send(researcher, model, collection)
        assert Run.objects.get().total == 6
