"""`python config/probe.py`: ends with 0 if the web process of this container is healthy; for container engines.

`python config/probe.py /readyz` asks something else, and prints the answer. Imports nothing of the platform, because it
is started every few seconds.
"""

import os
import sys
import urllib.error
import urllib.request


def main() -> int:
    # Django answers only to its own names, so the request is made in the first of them.
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
    path = sys.argv[1] if len(sys.argv) > 1 else "/healthz"
    request = urllib.request.Request(f"http://127.0.0.1:8000{path}", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            print(answer.read().decode(), end="")  # noqa: T201
            return 0 if answer.status == 200 else 1
    except urllib.error.HTTPError as refused:
        print(refused.read().decode(), end="", file=sys.stderr)  # noqa: T201
    except OSError as error:
        print(error, file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
