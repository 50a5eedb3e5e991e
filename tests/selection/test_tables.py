"""Tables of where languages are spoken: what is shipped, what is refused, and the level of a place."""

import pytest

from core.languages.rules.registry import LANGUAGES
from geography import codes
from geography.places import PointPlace
from research.selection.rules.tables import Areas, PlaceLevel, TableError, level_of, read_table, shipped_table

BENGALI = {"region": ["BD", "IN-WB"], "country": ["BD", "IN"], "continent": ["AS"]}


def test_the_shipped_table_has_a_region_a_country_and_a_continent_for_each_of_the_36_languages():
    areas = shipped_table().areas
    assert areas.keys() == {language.tag for language in LANGUAGES}
    assert all(each.region and each.country and each.continent for each in areas.values())


def test_every_code_of_the_shipped_table_has_borders_so_that_none_selects_nothing():
    used = {code for each in shipped_table().areas.values() for code in each.region | each.country}
    assert [code for code in sorted(used) if not codes.is_known(code) or codes.canonical(code) != code] == []


def test_no_region_of_the_shipped_table_lies_outside_the_countries_of_its_language():
    for tag, areas in shipped_table().areas.items():
        assert {code.split("-")[0] for code in areas.region} <= areas.country, tag


@pytest.mark.parametrize(
    ("tag", "in_region", "in_country_only"),
    [
        ("bn", {"BD", "IN-WB", "IN-TR"}, {"IN"}),
        ("te", {"IN-AP", "IN-TG"}, {"IN"}),
        ("hi", {"IN-UP", "IN-BR", "IN-DL"}, {"IN"}),
        ("quz", {"PE-CUS", "PE-PUN"}, {"PE"}),
        ("mi", {"NZ-GIS", "NZ-NTL"}, {"NZ"}),
        ("sw", {"TZ", "KE", "CD-NK"}, {"CD"}),
        ("fr", {"FR", "CA-QC", "BE-WAL", "CH-GE"}, {"CA", "BE", "CH"}),
        ("de", {"DE", "AT", "IT-BZ", "CH-ZH"}, {"IT", "CH"}),
        ("sv", {"SE", "AX"}, {"FI"}),
    ],
)  # fmt: skip
def test_a_country_that_is_too_coarse_counts_by_its_regions(tag, in_region, in_country_only):
    areas = shipped_table().areas[tag]
    assert in_region <= areas.region
    assert in_country_only <= areas.country - areas.region


def test_each_country_cut_into_regions_says_why():
    for tag, areas in shipped_table().areas.items():
        cut = {code.split("-")[0] for code in areas.region if "-" in code}
        assert cut <= areas.reasons.keys(), tag


def test_older_and_newer_codes_of_one_place_are_the_same():
    assert read_table({"te": {"region": ["IN-TS"]}}).areas["te"].region == {"IN-TG"}


def test_a_tag_is_read_as_languages_are_stored():
    assert read_table({"QU": {"country": ["PE"]}}).areas.keys() == {"quz"}


def test_what_a_table_writes_it_reads_again_with_its_reasons():
    written = shipped_table().as_entries()
    again = read_table(written)
    assert again.as_entries() == written
    assert again.version == shipped_table().version


def test_the_version_follows_the_codes_and_neither_their_order_nor_the_reasons():
    version = read_table({"bn": BENGALI}).version
    turned = {name: codes[::-1] for name, codes in BENGALI.items()} | {"reasons": {"IN": "Too large."}}
    assert read_table({"bn": turned}).version == version
    assert read_table({"bn": BENGALI | {"region": ["BD"]}}).version != version


def test_all_that_is_wrong_is_said_at_once():
    wrong = {
        "b n": BENGALI,
        "xx": BENGALI,
        "de": {"region": ["IN-WV"], "country": ["IN-WB"], "continent": ["XX"]},
        "fr": ["FR"],
        "it": {},
        "es": {"region": "ES", "area": ["ES"]},
        "hu": {"country": ["HU"], "reasons": ["so"]},
    }
    with pytest.raises(TableError) as caught:
        read_table(wrong, tags={"bn", "de", "fr", "it", "es", "hu"})
    problems = caught.value.problems
    assert "xx: there is no language with this tag." in problems
    assert "de: no region has the code IN-WV. Codes look like IN, IN-WB." in problems
    assert "de: no country has the code IN-WB. Codes look like IN." in problems
    assert "de: no continent has the code XX. Codes look like AF, AN, AS, EU, NA, OC, SA." in problems
    assert "fr: give an object with the lists region, country and continent." in problems
    assert "it: the language has no place. Give at least one code." in problems
    assert "es: region must be a list of codes." in problems
    assert "es: area is not known. The lists are region, country and continent." in problems
    assert "hu: reasons must be an object with a text for each code." in problems
    assert any(problem.startswith("'b n' is not a BCP-47 language tag") for problem in problems)


@pytest.mark.parametrize("nothing", [{}, [], "bn", None, 3])
def test_what_is_no_table_is_refused(nothing):
    with pytest.raises(TableError, match="A table is an object"):
        read_table(nothing)


def test_one_language_by_two_tags_is_refused():
    with pytest.raises(TableError, match="twice"):
        read_table({"qu": {"country": ["PE"]}, "quz": {"country": ["PE"]}})


def test_a_region_that_was_imported_is_known():
    assert read_table({"mi": {"region": ["IWI-1"]}}, imported={"IWI-1"}).areas["mi"].region == {"IWI-1"}


@pytest.mark.parametrize(
    ("place", "level"),
    [
        (PointPlace(("IN",), ("IN-WB",), "AS"), PlaceLevel.REGION),
        (PointPlace(("BD",), ("BD-C",), "AS"), PlaceLevel.REGION),
        (PointPlace(("CN", "IN"), (), "AS"), PlaceLevel.COUNTRY),
        (PointPlace(("IN",), ("IN-UP",), "AS"), PlaceLevel.COUNTRY),
        (PointPlace(("NP",), (), "AS"), PlaceLevel.CONTINENT),
        (PointPlace(("DE",), (), "EU"), PlaceLevel.ANYWHERE),
        (PointPlace(), PlaceLevel.ANYWHERE),
    ],
)
def test_the_level_of_a_place_is_the_best_that_holds(place, level):
    areas = Areas(frozenset({"BD", "IN-WB"}), frozenset({"BD", "IN"}), frozenset({"AS"}))
    assert level_of(place, areas) is level
