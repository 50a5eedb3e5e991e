"""What is run beside the platform: benchmarks, deployment, checks, and the demo."""

import config  # noqa: F401 - it puts libs/ on the path
