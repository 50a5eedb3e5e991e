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


class RegisteredLanguage(NamedTuple):
    tag: str
    english_name: str
    own_name: str
    scripts: tuple[str, ...] = ("Latn",)
    direction: str = "ltr"
    spaced: bool = True


LANGUAGES: tuple[RegisteredLanguage, ...] = (
    RegisteredLanguage("en", "English", "English"),
    # Thirty by their share of web content.
    RegisteredLanguage("ar", "Arabic", "العربية", ("Arab",), direction="rtl"),
    RegisteredLanguage("zh", "Chinese", "中文", ("Hani",), spaced=False),
    RegisteredLanguage("hr", "Croatian", "Hrvatski"),
    RegisteredLanguage("cs", "Czech", "Čeština"),
    RegisteredLanguage("da", "Danish", "Dansk"),
    RegisteredLanguage("nl", "Dutch", "Nederlands"),
    RegisteredLanguage("fil", "Filipino", "Filipino"),
    RegisteredLanguage("fi", "Finnish", "Suomi"),
    RegisteredLanguage("fr", "French", "Français"),
    RegisteredLanguage("de", "German", "Deutsch"),
    RegisteredLanguage("el", "Greek", "Ελληνικά", ("Grek",)),
    RegisteredLanguage("he", "Hebrew", "עברית", ("Hebr",), direction="rtl"),
    RegisteredLanguage("hi", "Hindi", "हिन्दी", ("Deva",)),
    RegisteredLanguage("hu", "Hungarian", "Magyar"),
    RegisteredLanguage("id", "Indonesian", "Bahasa Indonesia"),
    RegisteredLanguage("it", "Italian", "Italiano"),
    RegisteredLanguage("ja", "Japanese", "日本語", ("Hira", "Kana", "Hani"), spaced=False),
    RegisteredLanguage("ko", "Korean", "한국어", ("Hang", "Hani")),
    RegisteredLanguage("no", "Norwegian", "Norsk"),
    RegisteredLanguage("fa", "Persian", "فارسی", ("Arab",), direction="rtl"),
    RegisteredLanguage("pl", "Polish", "Polski"),
    RegisteredLanguage("pt", "Portuguese", "Português"),
    RegisteredLanguage("ro", "Romanian", "Română"),
    RegisteredLanguage("ru", "Russian", "Русский", ("Cyrl",)),
    RegisteredLanguage("es", "Spanish", "Español"),
    RegisteredLanguage("sv", "Swedish", "Svenska"),
    RegisteredLanguage("th", "Thai", "ไทย", ("Thai",), spaced=False),
    RegisteredLanguage("tr", "Turkish", "Türkçe"),
    RegisteredLanguage("uk", "Ukrainian", "Українська", ("Cyrl",)),
    RegisteredLanguage("vi", "Vietnamese", "Tiếng Việt"),
    # Five for the coverage of languages with few resources.
    RegisteredLanguage("bn", "Bengali", "বাংলা", ("Beng",)),
    RegisteredLanguage("quz", "Cusco Quechua", "Runasimi"),
    RegisteredLanguage("mi", "Maori", "Te reo Māori"),
    RegisteredLanguage("sw", "Swahili", "Kiswahili"),
    RegisteredLanguage("te", "Telugu", "తెలుగు", ("Telu",)),
)

ALIASES: dict[str, str] = {"iw": "he", "qu": "quz"}
"""Other tags that files use, and the tag they are stored under. Whole tags only: `qu-BO` is another language."""
