"""Images in answers of the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from core.images.models import CollectionImage
from core.images.selectors import ServedImage, served_image
from core.people.models import User


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


class ImageSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The same in all its collections.")
    key = serializers.CharField(help_text="The name used in files and other lists.")
    collection = serializers.CharField()
    width = serializers.IntegerField(help_text="Width of the original, in pixels.")
    height = serializers.IntegerField()
    served = ServedImageSerializer()


def image_shown(entry: CollectionImage, viewer: User) -> dict[str, Any]:
    return {
        "id": entry.image.public_id,
        "key": entry.key,
        "collection": entry.collection.slug,
        "width": entry.image.width,
        "height": entry.image.height,
        "served": served_fields(served_image(entry.image, viewer)),
    }
