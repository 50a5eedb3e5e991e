"""`python config/probe.py`: ends with 0 if the web process of this container is healthy; for container engines.

Imports nothing of the platform, because it is started every few seconds.
"""

import os
import sys
import urllib.request


def main() -> int:
    # Django answers only to its own names, so the request is made in the first of them.
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
    request = urllib.request.Request("http://127.0.0.1:8000/healthz", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return 0 if answer.status == 200 else 1
    except OSError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1


if __name__ == "__main__":
    sys.exit(main())
