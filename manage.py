#!/usr/bin/env python
"""Crosslens from the command line."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path, PurePath

PIPE_CLOSED = 141
"""As shells report a program that SIGPIPE ended."""
INTERRUPTED = 130
"""As shells report a program that was ended by Ctrl-C."""
COMMANDS = {
    "start": "an empty installation on this computer",
    "demo": "the same with demo content",
    "manage": "all other commands: crosslens manage help",
}
"""What follows `crosslens`."""
START = "start"
DATA = "crosslens-data"


def crosslens() -> None:
    """Run the command of the installed package, whose own folders are then found before all others."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    name, *rest = sys.argv[1:] or ["help"]
    if name not in COMMANDS:
        lines = [f"crosslens {each:<8} {what}" for each, what in COMMANDS.items()]
        sys.exit("\n".join(["Say what to do:", *lines, "Data are kept in --data FOLDER, or in CROSSLENS_VAR."]))
    # Nothing is written where packages are installed.
    os.environ.setdefault("CROSSLENS_VAR", str(Path("crosslens-demo" if name == "demo" else DATA).absolute()))
    sys.argv[:] = [f"{sys.argv[0]} manage", *rest] if name == "manage" else [sys.argv[0], name, *rest]
    main()


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] in ([START], ["demo"]):
        _choose_folder(sys.argv[1], sys.argv[2:])
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
    except ModuleNotFoundError as error:
        from core.jobs.rules.missing_packages import how_to_install

        if "--traceback" in sys.argv or not (how := how_to_install(error)):
            raise
        sys.exit(f"CommandError: {how}")
    except (OSError, UnicodeEncodeError) as error:
        # A file that was named to the command: its name is too long for a disk or not UTF-8, or it may not be read.
        named, why = (error.filename, error.strerror) if isinstance(error, OSError) else (error.object, "not UTF-8")
        if "--traceback" in sys.argv or not named or not _is_given(PurePath(str(named)), sys.argv[2:]):
            raise
        sys.exit(f"CommandError: {str(named)!a}: {why}. Check the name, and whether you may read it.")


def _choose_folder(command: str, arguments: Sequence[str]) -> None:
    """Say where data are kept before the settings are read, which is done once."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data")
    if data := parser.parse_known_args(arguments)[0].data:
        os.environ["CROSSLENS_VAR"] = str(Path(data).absolute())
    elif command == START:
        os.environ.setdefault("CROSSLENS_VAR", str(Path(DATA).absolute()))


def _is_given(path: PurePath, arguments: list[str]) -> bool:
    """Whether a path is one of the arguments, or in a folder that is one."""
    return any(one and (path == PurePath(one) or PurePath(one) in path.parents) for one in arguments)


if __name__ == "__main__":
    main()
