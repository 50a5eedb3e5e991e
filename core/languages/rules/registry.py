"""The 36 languages of Crossmodal-3600 and the other names they go by. Pure data: the seeding migration reads it too.

`spaced` is whether spaces separate words. Korean and Vietnamese count as spaced: a space stands between two eojeol and
between two syllables, so there is something to count, though it is not quite what English calls a word. Thai puts
spaces between phrases only, so it is not.

References
----------
A. V. Thapliyal et al. (2022), Crossmodal-3600, EMNLP. Names: Unicode CLDR. Scripts: ISO 15924.
"""

from __future__ import annotations

from typing import NamedTuple

ENGLISH = "en"


def _(message: str) -> str:
    """Mark a message for the catalogues. Django's own needs the settings, which read this."""
    return message


class RegisteredLanguage(NamedTuple):
    tag: str
    english_name: str
    own_name: str
    scripts: tuple[str, ...] = ("Latn",)
    direction: str = "ltr"
    spaced: bool = True


LANGUAGES: tuple[RegisteredLanguage, ...] = (
    RegisteredLanguage("en", _("English"), "English"),
    # Thirty by their share of web content.
    RegisteredLanguage("ar", _("Arabic"), "العربية", ("Arab",), direction="rtl"),
    RegisteredLanguage("zh", _("Chinese"), "中文", ("Hani",), spaced=False),
    RegisteredLanguage("hr", _("Croatian"), "Hrvatski"),
    RegisteredLanguage("cs", _("Czech"), "Čeština"),
    RegisteredLanguage("da", _("Danish"), "Dansk"),
    RegisteredLanguage("nl", _("Dutch"), "Nederlands"),
    RegisteredLanguage("fil", _("Filipino"), "Filipino"),
    RegisteredLanguage("fi", _("Finnish"), "Suomi"),
    RegisteredLanguage("fr", _("French"), "Français"),
    RegisteredLanguage("de", _("German"), "Deutsch"),
    RegisteredLanguage("el", _("Greek"), "Ελληνικά", ("Grek",)),
    RegisteredLanguage("he", _("Hebrew"), "עברית", ("Hebr",), direction="rtl"),
    RegisteredLanguage("hi", _("Hindi"), "हिन्दी", ("Deva",)),
    RegisteredLanguage("hu", _("Hungarian"), "Magyar"),
    RegisteredLanguage("id", _("Indonesian"), "Bahasa Indonesia"),
    RegisteredLanguage("it", _("Italian"), "Italiano"),
    RegisteredLanguage("ja", _("Japanese"), "日本語", ("Hira", "Kana", "Hani"), spaced=False),
    RegisteredLanguage("ko", _("Korean"), "한국어", ("Hang", "Hani")),
    RegisteredLanguage("no", _("Norwegian"), "Norsk"),
    RegisteredLanguage("fa", _("Persian"), "فارسی", ("Arab",), direction="rtl"),
    RegisteredLanguage("pl", _("Polish"), "Polski"),
    RegisteredLanguage("pt", _("Portuguese"), "Português"),
    RegisteredLanguage("ro", _("Romanian"), "Română"),
    RegisteredLanguage("ru", _("Russian"), "Русский", ("Cyrl",)),
    RegisteredLanguage("es", _("Spanish"), "Español"),
    RegisteredLanguage("sv", _("Swedish"), "Svenska"),
    RegisteredLanguage("th", _("Thai"), "ไทย", ("Thai",), spaced=False),
    RegisteredLanguage("tr", _("Turkish"), "Türkçe"),
    RegisteredLanguage("uk", _("Ukrainian"), "Українська", ("Cyrl",)),
    RegisteredLanguage("vi", _("Vietnamese"), "Tiếng Việt"),
    # Five for the coverage of languages with few resources.
    RegisteredLanguage("bn", _("Bengali"), "বাংলা", ("Beng",)),
    RegisteredLanguage("quz", _("Cusco Quechua"), "Runasimi"),
    RegisteredLanguage("mi", _("Maori"), "Te reo Māori"),
    RegisteredLanguage("sw", _("Swahili"), "Kiswahili"),
    RegisteredLanguage("te", _("Telugu"), "తెలుగు", ("Telu",)),
)
