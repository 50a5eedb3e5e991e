"""Fill a migrated installation for the tests in a browser: `python -m tests.browser.seed`, in its environment.

Its own process, because it runs with the settings of the platform, not with those of the tests.
"""

from __future__ import annotations

from typing import Any

import django
from django.core.management import call_command

IMAGES = 15
PASSWORD = "look-then-write"
PEOPLE = {"amal": ("ar", "ar"), "aki": ("ja", ""), "bahar": ("ar", ""), "chie": ("ja", ""), "dalia": ("ar", "ar")}
"""The language that each writes, and of the pages ("": the browser's)."""


def main() -> None:
    django.setup()
    call_command("collectstatic", verbosity=0, interactive=False)

    from tests.browser.annotator import make_images
    from tests.factories import make_annotator, make_captioner, make_collection, make_project, make_round

    collection = make_collection(IMAGES)
    make_images(collection)
    captioner, project = make_captioner(collection), make_project("postcards")
    tags = {tag for tag, _ in PEOPLE.values()}
    about: dict[str, Any] = {
        "project": project,
        "collection": collection,
        "captioners": [captioner],
        "replication": len(PEOPLE),
    }
    rounds = {tag: make_round(language=tag, batch_size=IMAGES, **about) for tag in sorted(tags)}
    for name, (tag, interface_language) in PEOPLE.items():
        person = make_annotator(rounds[tag], name)
        person.interface_language = interface_language
        person.set_password(PASSWORD)
        person.save()


if __name__ == "__main__":
    main()
