"""Small real images, made by Pillow; imports of them or of what was sent, and what their reports say."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Q
from PIL import Image as Pillow
from PIL import ImageCms

from core.images.models import ImportJob, ImportRow
from core.images.services import imports
from core.images.services.collections import find_or_create_collection
from office.imports.services import file_imports
from tests.factories import NOW, make_project
from tests.imports.sent import run


def run_path(path: Path, collection: str = "Harbour") -> ImportJob:
    return imports.import_path(
        path=path, collection=find_or_create_collection(collection), clock=lambda: NOW, announce=lambda image_id: None
    )


def upload(files: dict[str, bytes], collection: str = "Harbour") -> ImportJob:
    """Send files for a collection, and confirm what the preview shows."""
    project = make_project()
    wish = {"collection": find_or_create_collection(collection, project=project).slug}
    uploads = [SimpleUploadedFile(name, content) for name, content in files.items()]
    job = run(file_imports.start_upload(project=project, uploads=uploads, wish=wish, by=project.created_by))
    file_imports.confirm(job=job)
    job.refresh_from_db()
    return job


def report(job: ImportJob) -> dict[str, tuple[str, str]]:
    rows = ImportRow.objects.filter(Q(job=job) | Q(job__part_of=job)).order_by("pk")
    return {row.name: (row.outcome, row.reason) for row in rows}


def outcomes(job: ImportJob) -> dict[str, str]:
    return {name: outcome for name, (outcome, _) in report(job).items()}


def zipped(files: dict[str, bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


def image_file(kind: str = "JPEG", *, mode: str = "RGB", size: tuple[int, int] = (64, 48), **options: Any) -> bytes:
    """An image whose left half is darker than its right; `shade` makes it another one."""
    shade = options.pop("shade", 0)
    dots = Pillow.new("L", size, 40 + shade)
    dots.paste(200, (size[0] // 2, 0, size[0], size[1]))
    output = io.BytesIO()
    dots.convert(mode).save(output, kind, **options)
    return output.getvalue()


def exif(orientation: int = 1, **more: Any) -> Pillow.Exif:
    tags = Pillow.Exif()
    tags[0x0112] = orientation
    tags[0x010E] = "SECRET-DESCRIPTION"
    if "artist" in more:
        tags[0x013B] = more["artist"]
    if "copyright" in more:
        tags[0x8298] = more["copyright"]
    if "gps" in more:
        (north, latitude), (east, longitude) = more["gps"]
        tags.get_ifd(0x8825).update({1: north, 2: latitude, 3: east, 4: longitude})
    return tags


def profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def animation() -> bytes:
    frames = [Pillow.new("RGB", (40, 30), colour) for colour in ("red", "blue")]
    output = io.BytesIO()
    frames[0].save(output, "GIF", save_all=True, append_images=frames[1:], comment=b"SECRET-COMMENT")
    return output.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims `width` × `height` pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    sound = image_file("PNG", size=(5, 5))
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return sound[:8] + chunk + sound[33:]
