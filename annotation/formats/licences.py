"""The licences that captions can be released under, by SPDX identifier."""

from __future__ import annotations

from typing import NamedTuple


class ReleaseLicence(NamedTuple):
    name: str
    url: str
    notice: str
    """The gist of the licence in a paragraph. The text at `url` is the binding one."""


LICENCES = {
    "CC-BY-4.0": ReleaseLicence(
        "Creative Commons Attribution 4.0 International",
        "https://creativecommons.org/licenses/by/4.0/legalcode",
        "You may share and adapt the material for any purpose, even commercially, as long as you give appropriate "
        "credit, provide a link to the licence and say whether you changed anything.",
    ),
    "CC-BY-SA-4.0": ReleaseLicence(
        "Creative Commons Attribution-ShareAlike 4.0 International",
        "https://creativecommons.org/licenses/by-sa/4.0/legalcode",
        "You may share and adapt the material for any purpose, even commercially, as long as you give appropriate "
        "credit, provide a link to the licence, say whether you changed anything, and pass on what you make of the "
        "material under the same licence.",
    ),
    "CC0-1.0": ReleaseLicence(
        "Creative Commons Zero 1.0 Universal",
        "https://creativecommons.org/publicdomain/zero/1.0/legalcode",
        "Those who made the material have waived all their copyright and related rights in it worldwide, as far as the "
        "law allows. You may use it for any purpose without asking.",
    ),
}
