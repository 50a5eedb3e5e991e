"""What an hour of work costs, by language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import filled_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.requested import valid_values, validated_data
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import project_for
from office.recruitment.forms import CURRENCY, RATE, RatesForm
from office.recruitment.selectors.costs import languages_of_work, rates_of
from office.recruitment.services.studies import set_rates

api = ApiOperations("recruitment")


class HourlyRateSerializer(serializers.Serializer[Any]):
    language = serializers.CharField(
        source="language_id", allow_null=True, help_text="Its tag; null for the languages without a rate of their own."
    )
    rate = serializers.FloatField(min_value=0, help_text="Per hour.")
    currency = serializers.CharField(max_length=3, help_text="Three letters, such as GBP.")


class HourlyRatesSerializer(serializers.Serializer[Any]):
    results = HourlyRateSerializer(many=True)

    def validate_results(self, rates: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        tags = [rate["language_id"] for rate in rates]
        if len(set(tags)) < len(tags):
            raise serializers.ValidationError(_("Give each language once."))
        return rates


@api.get("rates", "What an hour of work costs", HourlyRatesSerializer)
def rates_show(request: Request, slug: str) -> Response:
    return _answer(project_for(person_asking(request), slug, Role.MANAGER))


@api.put(
    "rates_replace",
    "Say what an hour of work costs",
    HourlyRatesSerializer,
    request=HourlyRatesSerializer,
    description="In place of all earlier rates.",
)
def rates_replace(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    given = {rate["language_id"] or "": rate for rate in validated_data(HourlyRatesSerializer, request)["results"]}
    languages = languages_of_work(project)
    tags = [language.tag for language in languages]
    if set(given) - {"", *tags}:
        raise serializers.ValidationError({"results": [valid_values(["null", *tags])]})
    sent = {RATE + tag: rate["rate"] for tag, rate in given.items()}
    sent |= {CURRENCY + tag: rate["currency"] for tag, rate in given.items()}
    form = filled_form(partial(RatesForm, languages=languages, rates={}), sent)
    set_rates(project=project, rates=form.rates(), by=person_asking(request), now=timezone.now())
    return _answer(project)


def _answer(project: Project) -> Response:
    return Response({"results": HourlyRateSerializer(rates_of(project).values(), many=True).data})


rates_show_or_replace = one_address(rates_show, rates_replace)
