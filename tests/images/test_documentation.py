from __future__ import annotations

from pathlib import Path

from crosslens_metrics.formats.limits import MAX_ROW_CHARACTERS
from images.rules import limits
from images.rules.decoding import WEBP_BYTES_PER_PIXEL
from images.rules.manifests import NAMES, TEXT_COLUMNS
from inference.rules.captions import MAX_CAPTION_CHARACTERS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "importing.md").read_text()


def test_the_guide_tells_the_limits_as_they_are():
    for number in (
        *(limits.MAX_UPLOAD_FILES, limits.MAX_ZIP_ENTRIES, limits.MAX_MANIFEST_LINES, limits.MAX_EXTRA_CHARACTERS),
        *(MAX_ROW_CHARACTERS, limits.MAX_IMAGE_SIDE, limits.MAX_SCANS, MAX_CAPTION_CHARACTERS),
        *(limits.MAX_UPLOAD_BYTES // limits.MEGABYTE, limits.MAX_ZIP_BYTES // limits.MEGABYTE),
    ):
        assert f"{number:,}" in TEXT
    assert f"{limits.MAX_IMAGE_BYTES // 10**6} MB, {limits.MAX_IMAGE_PIXELS // 10**6} million pixels" in TEXT
    assert f"{limits.MAX_DECODED_BYTES // 10**6} MB of memory" in TEXT
    assert f"a WebP at {limits.MAX_DECODED_BYTES // WEBP_BYTES_PER_PIXEL // 10**6} million" in TEXT
    assert f"{limits.MAX_MANIFEST_BYTES // 10**6} MB, " in TEXT
    assert f"more than {limits.MAX_ZIP_RATIO} times" in TEXT


def test_the_guide_names_each_column_of_a_manifest():
    for name in (*NAMES, "file", *TEXT_COLUMNS, "latitude", "longitude"):
        assert f"`{name}`" in TEXT
