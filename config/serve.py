"""The web server: `python -m config.serve`, with the options of granian.

The application is imported before granian forks its processes: they share its memory, and start at once
(docs/decisions/0075-web-processes.md).
"""

from granian.cli import entrypoint

import config.asgi  # noqa: F401 - imported for the processes that are forked

if __name__ == "__main__":
    entrypoint()
