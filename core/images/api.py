"""Images as the API shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from core.images.selectors import ServedImage


class SizeSerializer(serializers.Serializer[Any]):
    width = serializers.IntegerField(help_text="Pixels.")
    address = serializers.CharField(help_text="Only for the person who asked, until the end of the next day, UTC.")


class ServedImageSerializer(serializers.Serializer[Any]):
    """An image. Its addresses reveal neither name nor title; request them with the same token."""

    is_ready = serializers.BooleanField(help_text="Whether its sizes were made.")
    sizes = SizeSerializer(many=True, help_text="WebP, the smallest first.")
    author = serializers.CharField(allow_blank=True)
    licence = serializers.CharField(allow_blank=True)
    licence_url = serializers.CharField(allow_blank=True)


def served_fields(image: ServedImage) -> dict[str, Any]:
    sizes = [entry.split() for entry in image.srcset.split(", ")]
    return {
        "is_ready": image.is_ready,
        "sizes": [{"width": int(width.removesuffix("w")), "address": address} for address, width in sizes],
        "author": image.author,
        "licence": image.licence,
        "licence_url": image.licence_url,
    }
