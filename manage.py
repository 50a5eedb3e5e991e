#!/usr/bin/env python
"""Crosslens from the command line."""

import os
import sys
from pathlib import PurePath

PIPE_CLOSED = 141
"""As shells report a program that SIGPIPE ended."""
INTERRUPTED = 130
"""As shells report a program that was ended by Ctrl-C."""


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
    except KeyboardInterrupt:
        # A user who interrupts a command does not need a traceback.
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write("Stopped before the end.\n")
        sys.exit(INTERRUPTED)
    except (OSError, UnicodeEncodeError) as error:
        # A file that was named to the command: its name is too long for a disk or not UTF-8, or it may not be read.
        named, why = (error.filename, error.strerror) if isinstance(error, OSError) else (error.object, "not UTF-8")
        if "--traceback" in sys.argv or not named or not _is_given(PurePath(str(named)), sys.argv[2:]):
            raise
        sys.exit(f"CommandError: {str(named)!a}: {why}. Check the name, and whether you may read it.")


def _is_given(path: PurePath, arguments: list[str]) -> bool:
    """Whether a path is one of the arguments, or in a folder that is one."""
    return any(one and (path == PurePath(one) or PurePath(one) in path.parents) for one in arguments)


if __name__ == "__main__":
    main()
