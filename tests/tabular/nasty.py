"""Texts that a writer of files could get wrong."""

from __future__ import annotations

NASTY = [
    "", " ", "Ein Bild", 'say "hi"', '"', '""', '","', '"=1"', "a,b;c", "line\nline\r\nline\r", "\n", "\t", "\ttab",
    "=1+1", "+1", "-1", "@SUM(A1)", "|x", "%x", "'", "'=1", " =1", "\u200b=1", "＝1", "−1",
    "\x01\x07\x1b\x1f", "\x7f", "\x85\u2028\u2029", "\ufeffx", "\\", "\\n", "</script>", "%s", "{0}",
    "صورة كلب", "एक कुत्ता", "ि", "犬の写真、", "👩‍👩‍👧 🐕", "Gru\u0308n", "null", "1", "½",
]  # fmt: skip
