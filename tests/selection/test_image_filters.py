import pytest

from research.selection.rules.image_filters import (
    ALL_IMAGES,
    FilterKind,
    FilterTerm,
    ImageFilter,
    ImageFilterError,
    parse,
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("  ", []),
        ("region", [FilterTerm(FilterKind.REGION)]),
        ("Country , chosen", [FilterTerm(FilterKind.COUNTRY), FilterTerm(FilterKind.CHOSEN)]),
        ("chosen:BN", [FilterTerm(FilterKind.CHOSEN, "bn")]),
        ("level:region,in:in-wb", [FilterTerm(FilterKind.LEVEL, "region"), FilterTerm(FilterKind.IN, "IN-WB")]),
        ("on:as,subset:xm600", [FilterTerm(FilterKind.ON, "AS"), FilterTerm(FilterKind.SUBSET, "xm600")]),
        ("region,region", [FilterTerm(FilterKind.REGION)]),
    ],
)
def test_a_filter_is_read_as_terms_that_all_hold(text, terms):
    assert parse(text) == ImageFilter(tuple(terms))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("village", "“village” is not a term"),
        ("region,", "“” is not a term"),
        ("region:IN", "without a value"),
        ("level:town", "region, country, continent, anywhere"),
        ("on:XX", "AF, AN, AS, EU, NA, OC, SA"),
        ("in:", "such as IN or IN-WB"),
        ("in:a b", "such as IN or IN-WB"),
        ("chosen:", "language tag"),
        ("subset:a/b", "xm600"),
        ("in:IN," * 200, "400 characters"),
        (",".join(f"in:A{n}" for n in range(9)), "8 terms"),
    ],
)
def test_a_wrong_filter_says_which_term_is_wrong_and_what_is_allowed(text, said):
    with pytest.raises(ImageFilterError, match=said):
        parse(text)


def test_a_filter_is_written_as_it_is_read():
    assert str(parse(" LEVEL:Region , in:in-wb")) == "level:region,in:IN-WB"
    assert parse("") == ALL_IMAGES
    assert ALL_IMAGES.is_all


@pytest.mark.parametrize("text", ["region", "chosen", "in:IN,continent"])
def test_areas_and_chosen_depend_on_the_language(text):
    assert parse(text).depends_on_language


@pytest.mark.parametrize("text", ["", "chosen:bn", "level:region", "subset:xm600"])
def test_other_filters_are_the_same_for_all_languages(text):
    assert not parse(text).depends_on_language
