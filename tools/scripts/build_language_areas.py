"""Make `research/selection/data/language_areas.json` anew.

`python -m tools.scripts.build_language_areas`, with Babel 2.18 installed.

Countries are those where CLDR calls the language official, nationally or regionally. The region is made of those where
it is official nationally and at least half of the people use it, with exceptions that are listed here, each with a
reason. You do not need this script to run the platform: its output is kept in the repository. CLDR is under
the Unicode licence.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import shapely
from babel.core import get_global

from config import ROOT
from geography import outline_files

FILE = ROOT / "research/selection/data/language_areas.json"
TAGS = (
    *("ar", "bn", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fil", "fr", "he", "hi", "hr", "hu", "id", "it"),
    *("ja", "ko", "mi", "nl", "no", "pl", "pt", "quz", "ro", "ru", "sv", "sw", "te", "th", "tr", "uk", "vi", "zh"),
)
IN_CLDR = {"no": ("no", "nb", "nn"), "quz": ("qu",), "zh": ("zh", "zh_Hant")}
RESERVED = {"DG", "EA", "IC"}
"""Parts of GB and ES for which ISO 3166 only reserves a code."""

HALF_PERCENT = 50

IN_PARTS: dict[str, dict[str, tuple[str, str]]] = {
    "bn": {
        "IN": ("IN-WB IN-TR", "Official in West Bengal and Tripura; in Assam only in three districts of the south.")
    },
    "de": {
        "CH": (
            (
                "CH-AG CH-AI CH-AR CH-BE CH-BL CH-BS CH-GL CH-GR CH-LU CH-NW CH-OW CH-SG CH-SH CH-SO CH-SZ CH-TG CH-UR"
                " CH-ZG CH-ZH"
            ),
            "The cantons where most people speak German.",
        ),
        "IT": ("IT-BZ", "Official in South Tyrol, where most people speak it."),
    },
    "en": {
        "CA": (
            "CA-AB CA-BC CA-MB CA-NB CA-NL CA-NS CA-NT CA-NU CA-ON CA-PE CA-SK CA-YT",
            "All of Canada but Quebec, where the official language is French.",
        )
    },
    "fr": {
        "BE": ("BE-WAL BE-BRU", "The French-speaking region of Belgium, and its bilingual capital."),
        "CA": ("CA-QC CA-NB", "The provinces of Canada where French is official."),
        "CH": ("CH-GE CH-VD CH-NE CH-JU CH-FR CH-VS", "The cantons where most people speak French."),
        "IT": ("IT-23", "Official in the Aosta Valley."),
    },
    "hi": {
        "IN": (
            "IN-UP IN-BR IN-MP IN-RJ IN-HR IN-DL IN-UT IN-CT IN-JH IN-HP IN-CH",
            "The states and territories whose official language is Hindi and where most people speak it.",
        )
    },
    "hu": {
        "RO": (
            "RO-HR RO-CV",
            "Harghita and Covasna, where most people speak Hungarian and authorities use it as well.",
        ),
    },
    "it": {"CH": ("CH-TI", "The canton whose only official language is Italian.")},
    "mi": {"NZ": ("NZ-NTL NZ-BOP NZ-GIS NZ-HKB NZ-WKO", "The regions with the highest share of speakers.")},
    "nl": {"BE": ("BE-VLG BE-BRU", "The Dutch-speaking region of Belgium, and its bilingual capital.")},
    "quz": {
        "PE": (
            "PE-CUS PE-PUN PE-APU PE-ARE PE-MDD",
            "Cusco and the regions around it, where Cusco Quechua is spoken.",
        )
    },
    "sv": {"FI": ("FI-12", "Ostrobothnia, where about half of the people speak Swedish; Åland has a code of its own.")},
    "sw": {
        "CD": (
            "CD-NK CD-SK CD-MA CD-KA CD-OR",
            "The east, where Swahili is the national language; Katanga and Orientale as they were before 2015.",
        )
    },
    "te": {"IN": ("IN-AP IN-TG", "Official in Andhra Pradesh and Telangana.")},
}
"""Regions for a country that is too coarse, and why."""

WHOLE: dict[str, dict[str, str]] = {
    "es": {"PY": "Official and used by most people; CLDR counts first-language speakers here."},
    "ru": {"BY": "Official, and what most people speak at home; CLDR counts first-language speakers here."},
}
"""Countries that belong to the region against the rule."""

COUNTRY_ONLY: dict[str, dict[str, str]] = {
    "ar": {"IL": "Few people besides a minority speak it; its status is special."},
    "fr": dict.fromkeys(("BI", "CM"), "Official, but few people speak it at home."),
    "tr": {"CY": "Official, but most people on the island speak Greek."},
    "zh": dict.fromkeys(("HK", "MO", "TW"), "Chinese is written in traditional characters there."),
}
"""Countries that do not belong to the region against the rule."""

ADDED = {
    "da": {"FO": "Official beside Faroese."},
    "hu": {"SI": "Official in a part of the northeast."},
    "it": {"SI": "Official on the coast."},
    "sw": {"RW": "Official since 2017, but few people speak it."},
}
REMOVED = {
    "fr": dict.fromkeys(("DZ", "MA", "TN"), "Widely used, but not official."),
    "quz": dict.fromkeys(("BO", "EC"), "The Quechua that is official there is another language."),
    "ru": {"UA": "Not official there."},
}
TWO_CONTINENTS = {"RU": ("AS", "EU"), "TR": ("AS", "EU")}


def main() -> None:
    continents = _continents()
    languages = {tag: _entry(tag, continents) for tag in TAGS}
    FILE.parent.mkdir(exist_ok=True)
    text = json.dumps(languages, indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")


def _entry(tag: str, continents: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    official = _official(tag)
    added, removed, country_only = ADDED.get(tag, {}), REMOVED.get(tag, {}), COUNTRY_ONLY.get(tag, {})
    in_parts, whole = IN_PARTS.get(tag, {}), WHOLE.get(tag, {})
    country = ({*official, *added, *in_parts} - removed.keys()) & continents.keys()
    region = {code for code in country if official.get(code, 0) >= HALF_PERCENT} - in_parts.keys() - country_only.keys()
    region |= whole.keys()
    for codes, _ in in_parts.values():
        region |= {*codes.split()}
    reasons = {code: why for code, (_, why) in in_parts.items()} | whole
    reasons |= country_only | added | removed
    return {
        "region": sorted(region),
        "country": sorted(country),
        "continent": sorted({continent for code in country for continent in continents[code]}),
        "reasons": dict(sorted(reasons.items())),
    }


def _official(tag: str) -> dict[str, float]:
    """Percentages of users by country; 0 where the language is official only in a part of it."""
    found: dict[str, float] = {}
    for territory, languages in get_global("territory_languages").items():
        for name in IN_CLDR.get(tag, (tag,)):
            about = languages.get(name)
            if about and about["official_status"] and territory not in RESERVED:
                percent = 0.0 if about["official_status"] == "official_regional" else about["population_percent"]
                found[territory] = max(found.get(territory, 0.0), percent)
    return found


def _continents() -> dict[str, tuple[str, ...]]:
    """Say where the largest part of each country lies."""
    shapes, about = outline_files.read(outline_files.FOLDER / outline_files.COUNTRIES)
    largest: dict[str, tuple[str, ...]] = {}
    for index in np.argsort(shapely.area(shapes)):
        largest[about[index]["code"]] = (about[index]["continent"],)
    return largest | TWO_CONTINENTS


if __name__ == "__main__":
    main()
