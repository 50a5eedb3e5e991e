"""What every test in a browser may ask for."""

from __future__ import annotations

from playwright.sync_api import expect

expect.set_options(timeout=20_000)
"""In milliseconds: far beyond what a page takes, for machines that do much else at the same time."""
