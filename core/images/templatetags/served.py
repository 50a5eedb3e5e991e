"""Addresses of an image that work only for the user who is given them: `image|served_to:request.user`."""

from __future__ import annotations

from django import template

from core.images.selectors import served_image

register = template.Library()
register.filter("served_to", served_image)
