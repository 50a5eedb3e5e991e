"""The tables of a release: their columns, and what stands in each."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from annotation.formats.tables import DAY, NUMBER, TEXT, TEXTS
from crosslens_metrics.caption_stats import COLUMNS as STATISTICS

Columns = Mapping[str, pa.DataType]

CAPTIONS: Columns = {
    "id": TEXT,
    "image": TEXT,
    "image_sha256": TEXT,
    "language": TEXT,
    "annotator": TEXT,
    "caption": TEXT,
    "guidelines_version": NUMBER,
    "warnings": TEXTS,
    "english_model": TEXT,
    "english_caption": TEXT,
    "english_rating": TEXT,
    "verified_as": TEXT,
    "source": TEXT,
    "rating_ms": NUMBER,
    "writing_ms": NUMBER,
    "submitted_on": DAY,
}
VERDICTS: Columns = {
    "caption_id": TEXT,
    "image": TEXT,
    "language": TEXT,
    "rater": TEXT,
    "rating": TEXT,
    "verified_as": TEXT,
    "guidelines_version": NUMBER,
    "rating_ms": NUMBER,
    "rated_on": DAY,
}
ENGLISH_RATINGS: Columns = {
    "caption_id": TEXT,
    "image": TEXT,
    "language": TEXT,
    "annotator": TEXT,
    "english_model": TEXT,
    "english_caption": TEXT,
    "rating": TEXT,
    "guidelines_version": NUMBER,
    "rated_on": DAY,
}
IMAGES: Columns = {
    "image": TEXT,
    "collection": TEXT,
    "sha256": TEXT,
    "width": NUMBER,
    "height": NUMBER,
    "region": TEXT,
    "title": TEXT,
    "author": TEXT,
    "licence": TEXT,
    "licence_url": TEXT,
    "source": TEXT,
}
SHARES = ("good", "medium", "bad", "not_enough_info")
QUALITY = (
    *("language", "verified", "ratings", "raters"),
    *(f"{share}{part}" for share in SHARES for part in ("", "_percent", "_low", "_high")),
    *("alpha", "unfinished"),
)
"""Of captions that have all their ratings; percentages of `verified`, with the ends of their 95% intervals."""

CHANGES = ("id", "language", "change", "reason")
CSV_COLUMNS = {"quality.csv": QUALITY, "statistics.csv": STATISTICS, "changes.csv": CHANGES}

DESCRIPTIONS = {
    "id": "Name of the caption, the same in every release that has it.",
    "image": "Key of the image in its collection.",
    "image_sha256": "SHA-256 of the image's original file.",
    "sha256": "SHA-256 of the image's original file.",
    "language": "BCP-47 tag of the language.",
    "annotator": "Pseudonym of whoever wrote the caption, of this release alone; null where it came from a file.",
    "caption": "The caption, trimmed and in Unicode's NFC; of a file, letter for letter.",
    "guidelines_version": "Version of the guidelines that was shown, as in guidelines/; null where none was.",
    "warnings": "Hints that the writer saw and let be: short, script, repeated, copied.",
    "english_model": "Model whose English caption was rated before, then hidden.",
    "english_caption": "That English caption.",
    "english_rating": "How the annotator rated it.",
    "verified_as": "What several raters together made of it; null where it was not drawn for that, or lacks ratings.",
    "source": "Where a caption from a file comes from, and under which licence; else empty.",
    "rating_ms": "Active time on the rating, in milliseconds, idle time cut.",
    "writing_ms": "Active time on the writing, in milliseconds, idle time cut.",
    "submitted_on": "Day on which it was handed in, or read from its file (UTC).",
    "caption_id": "The caption, as in captions.",
    "rater": "Pseudonym of whoever rated, of this release alone; the same as where that person wrote.",
    "rating": "EXCELLENT, GOOD, MEDIUM, BAD or NOT-ENOUGH-INFO.",
    "rated_on": "Day of the rating (UTC).",
    "collection": "Collection of the image.",
    "width": "Pixels, upright.",
    "height": "Pixels, upright.",
    "region": "For which part of the world the image was chosen, where that is known.",
    "title": "Title of the image.",
    "author": "Author of the image.",
    "licence": "Licence of the image.",
    "licence_url": "Address of that licence.",
    "verified": "Captions that have all their ratings; what the percentages are of.",
    "ratings": "Ratings of those captions.",
    "raters": "People who gave those ratings.",
    "good": "Captions that came to GOOD or EXCELLENT.",
    "medium": "Captions that came to MEDIUM or better.",
    "bad": "Captions that came to BAD.",
    "not_enough_info": "Captions of which nothing could be said; among all, and in none of the other shares.",
    **{
        f"{share}{part}": said
        for share in SHARES
        for part, said in (
            ("_percent", "That as a percentage."),
            ("_low", "Lower end of its 95% interval (Wilson)."),
            ("_high", "Upper end of its 95% interval."),
        )
    },
    "alpha": "Krippendorff's ordinal alpha of the ratings, NOT-ENOUGH-INFO left out; empty where it is not defined.",
    "unfinished": "Captions that were drawn and rated, and lack ratings.",
    "captions": "Captions in the language.",
    "images_with_1": "Images with one caption.",
    "images_with_2": "Images with two.",
    "images_with_3_or_more": "Images with three or more.",
    "mean_words": "Words per caption; a word is what whitespace separates.",
    "mean_chars": "Characters (Unicode code points) per caption.",
    "change": "added, changed or removed.",
    "reason": "Why it was removed: excluded, withdrawn, sent-back, late, or not-released with its language or image.",
}
IMAGE_SOURCE = "Where the image was found."
"""What `source` is in the table of images."""
