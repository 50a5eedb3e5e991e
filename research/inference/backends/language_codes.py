"""The codes of our languages in families of models. Languages that a family was not trained in are left out.

Pure data, so that a run in a language that a model does not have is refused before anything is loaded.

References
----------
NLLB: NLLB Team (2022), No Language Left Behind (the codes of FLORES-200). M2M-100: A. Fan et al. (2021), Beyond
English-Centric Multilingual Machine Translation. mBART-50: Y. Tang et al. (2020), Multilingual Translation with
Extensible Multilingual Pretraining and Finetuning. PaliGemma: L. Beyer et al. (2024), trained on the 35 languages of
CC3M-35L (A. V. Thapliyal et al., 2022): all of ours but Cusco Quechua.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from core.languages.rules.registry import ENGLISH, LANGUAGES
from research.inference.backends.captioners import BackendSettingsError

TAGS = tuple(language.tag for language in LANGUAGES)
NAMES = {language.tag: language.english_name for language in LANGUAGES}

# Ayacucho Quechua (quy_Latn), which NLLB has, is another language than Cusco's.
NLLB = {
    "en": "eng_Latn",
    "ar": "arb_Arab",
    "zh": "zho_Hans",
    "hr": "hrv_Latn",
    "cs": "ces_Latn",
    "da": "dan_Latn",
    "nl": "nld_Latn",
    "fil": "tgl_Latn",
    "fi": "fin_Latn",
    "fr": "fra_Latn",
    "de": "deu_Latn",
    "el": "ell_Grek",
    "he": "heb_Hebr",
    "hi": "hin_Deva",
    "hu": "hun_Latn",
    "id": "ind_Latn",
    "it": "ita_Latn",
    "ja": "jpn_Jpan",
    "ko": "kor_Hang",
    "no": "nob_Latn",
    "fa": "pes_Arab",
    "pl": "pol_Latn",
    "pt": "por_Latn",
    "ro": "ron_Latn",
    "ru": "rus_Cyrl",
    "es": "spa_Latn",
    "sv": "swe_Latn",
    "th": "tha_Thai",
    "tr": "tur_Latn",
    "uk": "ukr_Cyrl",
    "vi": "vie_Latn",
    "bn": "ben_Beng",
    "mi": "mri_Latn",
    "sw": "swh_Latn",
    "te": "tel_Telu",
}

# Its Tagalog is our Filipino. It has no Quechua, Maori or Telugu.
M2M_100 = {**{tag: tag for tag in TAGS if tag not in ("quz", "mi", "te")}, "fil": "tl"}

# It has no Danish, Greek, Hungarian, Maori, Norwegian or Quechua.
MBART_50 = {
    "en": "en_XX",
    "ar": "ar_AR",
    "zh": "zh_CN",
    "hr": "hr_HR",
    "cs": "cs_CZ",
    "nl": "nl_XX",
    "fil": "tl_XX",
    "fi": "fi_FI",
    "fr": "fr_XX",
    "de": "de_DE",
    "he": "he_IL",
    "hi": "hi_IN",
    "id": "id_ID",
    "it": "it_IT",
    "ja": "ja_XX",
    "ko": "ko_KR",
    "fa": "fa_IR",
    "pl": "pl_PL",
    "pt": "pt_XX",
    "ro": "ro_RO",
    "ru": "ru_RU",
    "es": "es_XX",
    "sv": "sv_SE",
    "th": "th_TH",
    "tr": "tr_TR",
    "uk": "uk_UA",
    "vi": "vi_VN",
    "bn": "bn_IN",
    "sw": "sw_KE",
    "te": "te_IN",
}

PALIGEMMA = {tag: tag for tag in TAGS if tag != "quz"}
ANY = {tag: tag for tag in TAGS}
ENGLISH_ONLY = {ENGLISH: ENGLISH}


def codes(options: Mapping[str, Any], table: Mapping[str, str]) -> dict[str, str]:
    """Return the option `languages`, our tags with the model's codes, or else the family's codes.

    Raises BackendSettingsError.
    """
    chosen = options.get("languages")
    if chosen is None:
        return dict(table)
    if isinstance(chosen, list) and chosen and all(isinstance(tag, str) and tag for tag in chosen):
        return {tag: table.get(tag, tag) for tag in chosen}
    if isinstance(chosen, dict) and chosen and all(isinstance(code, str) for code in chosen.values()):
        return dict(chosen)
    raise BackendSettingsError(
        _("Write the option “%(option)s” like this: %(example)s.")
        % {"option": "languages", "example": '{"de": "deu_Latn", "fr": "fra_Latn"}'}
    )


def name_of(tag: str, code: str) -> str:
    """Return a language's English name, or the given code if the language was added here."""
    return NAMES.get(tag, code)
