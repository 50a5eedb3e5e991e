"""Limits of imports that protect memory, disk and time. They are listed in docs/importing.md."""

from __future__ import annotations

MEGABYTE = 10**6

MAX_IMAGE_BYTES = 50 * MEGABYTE
"""Of one file with an image."""

MAX_IMAGE_PIXELS = 80_000_000
"""Width × height. Kept under Pillow's own warning at 89 million."""

MAX_IMAGE_SIDE = 65_535
"""Pixels of width or height, as a JPEG can have them: images are made smaller by rows, and none may be too long."""

MAX_DECODED_BYTES = 400 * MEGABYTE
"""Of memory, for decoding one image and for making its sizes. Most take four bytes a pixel; a WebP takes sixteen."""

MAX_SCANS = 100
"""Passes of a JPEG over its pixels; progressive ones have about ten."""

MAX_UPLOAD_BYTES = 2_000 * MEGABYTE
"""Of one form sent by a browser, all its files together."""

MAX_UPLOAD_FILES = 1_000
"""In one form sent by a browser; a zip counts as one. `DATA_UPLOAD_MAX_NUMBER_FILES` is set from it."""

MAX_NAME_BYTES = 255
"""Of the name of a file that is sent, as most file systems have it."""

MAX_ZIP_ENTRIES = 50_000
"""In one zip."""

MAX_ZIP_BYTES = 20_000 * MEGABYTE
"""Of one zip, unpacked, as its table of contents has it. Entries are unpacked one at a time."""

MAX_ZIP_RATIO = 200
"""Unpacked to packed, of one entry. Images are packed already: real ones stay under 20."""

MAX_MANIFEST_BYTES = 50 * MEGABYTE
MAX_MANIFEST_LINES = 200_000
MAX_EXTRA_CHARACTERS = 10_000
"""Of the columns of one line that have no field here, as JSON."""
