"""`manage.py build_messages`: each .mo file of translations that is older than its .po file."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from core.languages.rules.catalogues import build_messages


class Command(BaseCommand):
    help = "Build the translations whose files in locale/ have changed."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Built {build_messages()} files of translations.")
