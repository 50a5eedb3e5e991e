"""The 36 languages, their tags, and adding others."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction

from core.languages.admin import LanguageForm
from core.languages.models import Language
from core.languages.rules.registry import LANGUAGES
from core.languages.rules.scripts import MalformedScriptError, canonical_script, script_of_tag
from core.people.management.arguments import language_of
from crosslens_metrics.language_tags import ALIASES, MalformedTagError, canonical_tag, spaces_separate_words

PROTOCOL_TAGS = (
    "en ar zh hr cs da nl fil fi fr de el he hi hu id it ja ko no fa pl pt ro ru es sv th tr uk vi bn quz mi sw te"
)


def test_the_registry_holds_the_36_languages_of_the_protocol_in_its_order():
    assert " ".join(entry.tag for entry in LANGUAGES) == PROTOCOL_TAGS
    assert len(LANGUAGES) == 36


def test_only_arabic_hebrew_and_persian_run_from_right_to_left():
    assert {entry.tag for entry in LANGUAGES if entry.direction == "rtl"} == {"ar", "fa", "he"}


def test_only_chinese_japanese_and_thai_write_without_spaces_between_words():
    assert {entry.tag for entry in LANGUAGES if not entry.spaced} == {"zh", "ja", "th"}
    for entry in LANGUAGES:
        assert spaces_separate_words(entry.tag) == entry.spaced


def test_no_two_languages_share_a_name_and_every_tag_and_script_is_canonical():
    assert len({entry.english_name for entry in LANGUAGES}) == len({entry.own_name for entry in LANGUAGES}) == 36
    for entry in LANGUAGES:
        assert canonical_tag(entry.tag) == entry.tag
        assert [canonical_script(code) for code in entry.scripts] == list(entry.scripts) != []
    assert set(ALIASES.values()) <= {entry.tag for entry in LANGUAGES}


@pytest.mark.django_db
def test_the_table_is_seeded_with_the_registry():
    rows = Language.objects.values_list("tag", "english_name", "own_name", "scripts", "direction", "spaced")
    assert {(*row[:3], tuple(row[3]), *row[4:]) for row in rows} == {tuple(entry) for entry in LANGUAGES}


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        *(("de", "de"), ("DE", "de"), (" de ", "de"), ("iw", "he"), ("IW", "he"), ("qu", "quz"), ("tl", "fil")),
        *(("in", "id"), ("mo", "ro"), ("pt_BR", "pt-BR"), ("zh_hans_cn", "zh-Hans-CN")),
        *(("pt-br", "pt-BR"), ("ZH-HANS-cn", "zh-Hans-CN"), ("sr-cyrl", "sr-Cyrl"), ("es-419", "es-419")),
        *(("zh-YUE", "zh-yue"), ("sl-rozaj-BISKE-1994", "sl-rozaj-biske-1994"), ("de-1996", "de-1996")),
        *(("en-ca-X-CA", "en-CA-x-ca"), ("de-u-CO-phonebk", "de-u-co-phonebk")),
        *(("x-whatever", "x-whatever"), ("qu-BO", "qu-BO")),
    ],
)
def test_a_tag_has_one_spelling(written, stored):
    assert canonical_tag(written) == stored
    assert canonical_tag(stored) == stored


@pytest.mark.parametrize(
    "tag",
    [
        *("", " ", "d", "german language", "pt__BR", "de-", "-de", "de--AT", "dé", "ſv", "de\n-AT"),
        *("abcdefghi", "a" * 36, "en-x", "de-u", "de-1996-1996", "en-u-co-standard-u-nu-latn"),
    ],
)
def test_what_is_no_tag_is_refused_with_a_sentence(tag):
    with pytest.raises(MalformedTagError) as refusal:
        canonical_tag(tag)
    assert str(refusal.value).endswith(".")


def test_the_script_of_a_tag_is_the_one_it_names():
    assert script_of_tag("sr-Cyrl-RS") == "Cyrl"
    assert script_of_tag("sr") is None
    assert script_of_tag("en-x-Cyrl") is None


def test_a_script_is_four_letters():
    assert canonical_script("latn") == "Latn"
    with pytest.raises(MalformedScriptError):
        canonical_script("Latin")


@pytest.mark.django_db
@pytest.mark.parametrize(("tag", "found"), [("iw", "he"), ("QU", "quz"), ("Fil", "fil"), ("tl", "fil")])
def test_a_language_is_found_by_any_spelling_and_alias(tag, found):
    assert language_of(tag).pk == found
    with pytest.raises(CommandError, match="no language eu"):
        language_of("eu")


@pytest.mark.django_db
class TestAddLanguage:
    def add(self, tag, *arguments, english="Some", own="Own"):
        call_command("add_language", tag, "--english-name", english, "--own-name", own, *arguments)

    def test_a_language_is_added_under_its_canonical_tag(self, capsys):
        self.add("UR-pk", "--rtl", "--script", "arab", english="Urdu", own="اردو")

        added = Language.objects.get(pk="ur-PK")
        assert (added.direction, added.spaced, added.scripts) == ("rtl", True, ["Arab"])
        assert "ur-PK: Urdu (اردو)" in capsys.readouterr().out

    def test_words_without_spaces_and_several_scripts_are_kept(self):
        self.add("lo", "--unspaced", "--script", "Laoo", "--script", "Latn")

        added = Language.objects.get(pk="lo")
        assert (added.direction, added.spaced, added.scripts) == ("ltr", False, ["Laoo", "Latn"])

    def test_the_script_in_the_tag_is_taken_where_none_is_given(self):
        self.add("sr-cyrl")
        self.add("eu")

        assert Language.objects.get(pk="sr-Cyrl").scripts == ["Cyrl"]
        assert Language.objects.get(pk="eu").scripts == []

    @pytest.mark.parametrize("tag", ["de", "DE", "iw", "qu"])
    def test_a_language_that_is_there_is_not_added_twice(self, tag):
        with pytest.raises(CommandError, match="already exists"):
            self.add(tag)
        assert Language.objects.count() == 36

    @pytest.mark.parametrize(
        ("tag", "arguments", "named"),
        [("pt--BR", [], "not a BCP-47"), ("eu", ["--script", "Latin"], "ISO 15924")],
    )
    def test_a_malformed_tag_or_script_is_refused_and_named(self, tag, arguments, named):
        with pytest.raises(CommandError, match=named):
            self.add(tag, *arguments)

    def test_a_name_is_not_optional(self):
        with pytest.raises(CommandError, match="own_name"):
            self.add("eu", own=" ")


@pytest.mark.postgres
@pytest.mark.django_db
def test_the_table_refuses_a_tag_that_differs_only_in_case():
    with pytest.raises(IntegrityError), transaction.atomic():
        Language.objects.create(tag="DE", english_name="German again", own_name="Deutsch")


@pytest.mark.postgres
@pytest.mark.django_db
def test_the_table_refuses_an_unknown_direction():
    with pytest.raises(IntegrityError), transaction.atomic():
        Language.objects.create(tag="eu", english_name="Basque", own_name="Euskara", direction="up")


@pytest.mark.django_db
class TestAdministration:
    def form(self, **changes):
        fields = {
            "tag": "eu",
            "english_name": "Basque",
            "own_name": "Euskara",
            "direction": "ltr",
            "scripts": '["latn"]',
        }
        return LanguageForm(fields | changes)

    def test_a_language_added_there_gets_the_canonical_tag_and_scripts(self):
        added = self.form(tag="EU-es").save()
        assert (added.pk, added.scripts) == ("eu-ES", ["Latn"])

    @pytest.mark.parametrize(
        "change", [{"tag": "eu--ES"}, {"scripts": '["Latin"]'}, {"scripts": '"Latn"'}, {"tag": "iw"}]
    )
    def test_what_the_command_refuses_is_refused_there_too(self, change):
        assert not self.form(**change).is_valid()

    def test_the_tag_cannot_be_changed_nor_the_language_deleted(self, admin_client):
        page = admin_client.get("/admin/languages/language/de/change/")
        if page.status_code == 404:
            pytest.skip("the administration has no address in this configuration")
        assert b'name="tag"' not in page.content
        assert admin_client.post("/admin/languages/language/de/delete/", {"post": "yes"}).status_code == 403
