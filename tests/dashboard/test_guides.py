"""Each page opens its guide, at a section that is there, and guides lead to nothing that is not."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from office.dashboard.rules.guides import GUIDES, guide_of
from office.dashboard.selectors.guides import guide_page, titles
from tests.leaks.addresses import routes

NAMES = sorted({route.name for route in routes()})


@pytest.mark.parametrize(("pattern", "guide"), GUIDES)
def test_each_line_of_the_table_is_the_first_for_some_page_and_names_a_section(pattern, guide):
    name, _hash, section = guide.partition("#")
    assert any(fnmatchcase(one, pattern) and guide_of(one) == (name, section) for one in NAMES)
    assert not guide or guide_page(name), name
    assert not section or f'id="{section}"' in guide_page(name).html


def test_guides_lead_to_one_another_and_to_sections_that_are_there():
    for name in titles():
        html = guide_page(name).html
        for address in re.findall(r'href="([^"]*)"', html):
            page, _hash, section = address.partition("#")
            if page.startswith("/guides/"):
                assert not section or f'id="{section}"' in guide_page(page.split("/")[2]).html, address
            else:
                assert not page or page.startswith("http"), address
        for source in re.findall(r'src="/static/([^"]*)"', html):
            assert finders.find(source), source


@pytest.mark.django_db
def test_a_visitor_opens_the_guide_of_a_page_and_others_are_not_there():
    address = re.search(r'href="(/guides/[^"#]+)', Client().get(reverse("account_login")).text)[1]
    assert "<h1" in Client().get(address).text
    assert Client().get(reverse("dashboard:guide-show", args=["conf"])).status_code == 404
