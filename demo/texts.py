"""What is said of the demo's photographs: in English by "a model", and in German by two people who do not exist.

All of it was written by hand for the demo. The English captions are of mixed quality on purpose, so that there is
something to rate: some tell everything, some little, some are wrong, some are not English.
"""

from __future__ import annotations

from typing import NamedTuple

from annotation.models import Rating

MODEL_NAME = "demo-captions (written by hand, mixed quality)"
MODEL_DESCRIPTION = (
    "Written by hand for the demo, from excellent to plainly wrong, so that there is something to rate. "
    "No model made them, and nothing follows from them about any."
)


class Texts(NamedTuple):
    """`ratings` and `german` are those of the two annotators, in the same order."""

    english: str
    ratings: tuple[Rating, Rating]
    german: tuple[str, str]


TEXTS = {
    "astronaut": Texts(
        "A smiling astronaut in an orange pressure suit sits in front of an American flag and a model of the space "
        "shuttle, her helmet at her side.",
        (Rating.EXCELLENT, Rating.EXCELLENT),
        (
            (
                "Eine lächelnde Astronautin im orangefarbenen Raumanzug sitzt vor einer amerikanischen Flagge und dem "
                "Modell eines Spaceshuttles, vor ihr liegt ihr Helm."
            ),
            "Porträt einer Raumfahrerin mit kurzen Haaren in orangem Anzug, hinter ihr das Modell einer Raumfähre.",
        ),
    ),
    "camera": Texts(
        "A man in a dark coat bends over a camera on a tripod on a wide lawn, with towers and a dome behind him.",
        (Rating.EXCELLENT, Rating.EXCELLENT),
        (
            (
                "Ein junger Mann in dunklem Mantel und Handschuhen beugt sich auf einer großen Wiese zu einer Kamera "
                "auf einem Stativ hinunter, in der Ferne stehen Hochhäuser und ein Kuppelbau."
            ),
            "Ein Kameramann im schwarzen Mantel schaut auf einem Sportplatz konzentriert durch seine Kamera.",
        ),
    ),
    "cat": Texts(
        "A tabby cat with green eyes.",
        (Rating.GOOD, Rating.GOOD),
        (
            "Das Gesicht einer braun getigerten Katze mit grünen Augen und rötlicher Nase in Nahaufnahme.",
            "Eine Katze mit langen Schnurrhaaren schaut aufmerksam zur Seite.",
        ),
    ),
    "coffee": Texts(
        "A cup of coffee.",
        (Rating.MEDIUM, Rating.MEDIUM),
        (
            "Eine rotbraune Espressotasse mit Untertasse und kleinem Löffel steht auf einem Holztisch.",
            "Blick von oben auf eine halb ausgetrunkene Tasse Espresso in rotem Geschirr.",
        ),
    ),
    "coins": Texts(
        "Four rows of old silver coins are laid out on a dark surface.",
        (Rating.GOOD, Rating.EXCELLENT),
        (
            "Vierundzwanzig antike Münzen mit Köpfen und Figuren liegen in vier Reihen auf dunklem Grund.",
            "Eine Sammlung alter griechischer Silbermünzen verschiedener Größe, ordentlich aufgereiht.",
        ),
    ),
    "clock": Texts(
        "A white plate with food on a gray table.",
        (Rating.NOT_ENOUGH_INFO, Rating.BAD),
        (
            "Ein stark verwischter heller, runder Gegenstand, vielleicht eine Uhr, hängt an einer grauen Wand.",
            "Ein verwackeltes Foto, auf dem nur ein heller ovaler Fleck vor grauem Hintergrund zu erkennen ist.",
        ),
    ),
    "rocket": Texts(
        "A rocket is launching into the sky with fire and smoke.",
        (Rating.BAD, Rating.MEDIUM),
        (
            (
                "Eine weiße Rakete steht in der Dämmerung zwischen hohen Gittermasten auf der Startrampe, am Boden "
                "leuchten Scheinwerfer."
            ),
            "Kurz vor dem Start: Eine schlanke Rakete wird nach Sonnenuntergang von Scheinwerfern angestrahlt.",
        ),
    ),
    "galaxies": Texts(
        "Many galaxies of different colors and shapes in a black sky.",
        (Rating.GOOD, Rating.EXCELLENT),
        (
            "Unzählige Galaxien leuchten als bunte Punkte und kleine Spiralen vor dem schwarzen Weltall.",
            "Ein Blick tief ins Weltall mit Hunderten ferner Galaxien in Weiß, Rot und Blau.",
        ),
    ),
    "retina": Texts(
        "a orange planet with red rivers on it",
        (Rating.BAD, Rating.BAD),
        (
            (
                "Die orangerote Netzhaut eines Auges mit fein verzweigten Blutgefäßen und einem hellen Fleck am linken "
                "Rand."
            ),
            "Ein kreisrunder Augenhintergrund mit roten Adern und einer dunkleren Stelle in der Mitte.",
        ),
    ),
    "bricks": Texts(
        "There is pattern.",
        (Rating.BAD, Rating.MEDIUM),
        (
            (
                "Eine Fläche aus versetzten Reihen schmaler Ziegel mit hellen Fugen läuft nach hinten zusammen, in "
                "Schwarz-Weiß."
            ),
            "Graue Ziegelsteine in langen, versetzten Reihen.",
        ),
    ),
    "grass": Texts(
        "A black and white photo of short grass seen from above, with a few clover and dry leaves in it.",
        (Rating.EXCELLENT, Rating.GOOD),
        (
            "Kurz gemähter Rasen mit einigen Kleeblättern und welkem Laub, von oben in Schwarz-Weiß aufgenommen.",
            "Schwarz-Weiß-Aufnahme einer Wiese mit Grashalmen und Klee.",
        ),
    ),
    "gravel": Texts(
        "stones stones many on the floor is",
        (Rating.BAD, Rating.BAD),
        (
            "Dicht an dicht bedecken kleine, kantige Schottersteine den Boden.",
            "Eine Fläche voller grauer Kieselsteine, aufgenommen aus der Nähe.",
        ),
    ),
    "pagoda": Texts(
        "A building near the water.",
        (Rating.MEDIUM, Rating.MEDIUM),
        (
            (
                "Ein mehrstöckiger chinesischer Turm mit roten Säulen und geschwungenen Dächern ragt zwischen Bäumen "
                "über einem weiten See auf."
            ),
            "Eine bunte Pagode mit grünen und orangefarbenen Dächern steht hoch über einem dunstigen See.",
        ),
    ),
    "dahlia": Texts(
        "A round orange dahlia in full bloom in front of dark green leaves, with a second one coming into view below.",
        (Rating.EXCELLENT, Rating.EXCELLENT),
        (
            (
                "Eine kugelrunde, lachsfarbene Dahlie blüht vor unscharfem dunkelgrünem Laub, am unteren Rand ist eine "
                "zweite zu sehen."
            ),
            "Eine Dahlie mit vielen gleichmäßig gerundeten Blütenblättern in hellem Orange.",
        ),
    ),
    "officer": Texts(
        "An old man in a police uniform is sitting in a car.",
        (Rating.BAD, Rating.BAD),
        (
            (
                "Eine ältere Frau mit Brille in dunkler Marineuniform und Uniformmütze steht vor einer amerikanischen "
                "Flagge."
            ),
            "Porträt einer Marineoffizierin mit bunten Ordensspangen an der Jacke vor blauem Hintergrund.",
        ),
    ),
}
"""By the key of the photograph."""
