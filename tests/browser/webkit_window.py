#!/usr/bin/python3
"""A window of WebKitGTK that WebKitWebDriver drives: `webkit_window.py FOLDER WIDTH HEIGHT LANGUAGE`.

MiniBrowser, when driven, keeps nothing on the disk, unlike the browser of a phone. This one keeps everything under
FOLDER, or nothing if FOLDER is "private". It runs by the system's Python, which alone sees the system's PyGObject.
"""

from __future__ import annotations

import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")

from gi.repository import Gtk, WebKit2  # noqa: E402


def main(folder: str, width: str, height: str, language: str) -> None:
    if folder == "private":
        data = WebKit2.WebsiteDataManager.new_ephemeral()
    else:
        data = WebKit2.WebsiteDataManager(base_data_directory=f"{folder}/data", base_cache_directory=f"{folder}/cache")
    context = WebKit2.WebContext(website_data_manager=data)
    context.set_preferred_languages([language])
    context.set_automation_allowed(True)

    def create(_session: object) -> object:
        window = Gtk.Window()
        window.set_default_size(int(width), int(height))
        view = WebKit2.WebView(web_context=context, is_controlled_by_automation=True)
        window.add(view)
        window.show_all()
        return view

    context.connect("automation-started", lambda _context, session: session.connect("create-web-view", create))
    Gtk.main()


if __name__ == "__main__":
    main(*sys.argv[1:])
