#!/usr/bin/env python
"""Crosslens from the command line."""

import os
import sys

PIPE_CLOSED = 141
"""As shells report a program that SIGPIPE ended."""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has enough. What is left in the buffer is written on exit, so it goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)


if __name__ == "__main__":
    main()
