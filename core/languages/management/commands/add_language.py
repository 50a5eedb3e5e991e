"""`manage.py add_language TAG --english-name NAME --own-name NAME`"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.languages.rules.scripts import MalformedScriptError
from core.languages.services import LanguageExistsError, add_language
from crosslens_metrics.language_tags import MalformedTagError


class Command(BaseCommand):
    help = "Add a language to those that captions can be written in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tag", metavar="TAG", help="BCP-47 tag, for example eu, pt-BR or sr-Cyrl")
        parser.add_argument("--english-name", required=True, metavar="NAME")
        parser.add_argument("--own-name", required=True, metavar="NAME", help="what its speakers call it")
        parser.add_argument("--rtl", action="store_true", help="it is written from right to left")
        parser.add_argument("--unspaced", action="store_true", help="no spaces between words")
        parser.add_argument(
            "--script",
            action="append",
            default=[],
            metavar="CODE",
            help="ISO 15924 code of a script it is written in; can be repeated; without it the script is not checked",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            language = add_language(
                tag=options["tag"],
                english_name=options["english_name"],
                own_name=options["own_name"],
                is_right_to_left=options["rtl"],
                spaced=not options["unspaced"],
                scripts=options["script"],
            )
        except (MalformedTagError, MalformedScriptError, LanguageExistsError) as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            fields = (f"{field}: {' '.join(said)}" for field, said in error.message_dict.items())
            raise CommandError("; ".join(fields)) from error
        self.stdout.write(f"Added {language.tag}: {language.english_name} ({language.own_name}).")
