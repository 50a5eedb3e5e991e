"""Admin pages that show every row. Changes go through the services, which enforce the rules."""

from __future__ import annotations

from django.apps import apps

from core.people.admin import look_up

# Without the salt of releases, which would link pseudonyms to people.
look_up(*apps.get_app_config("annotation").get_models(), hidden=("salt",))
