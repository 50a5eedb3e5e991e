import sys

from crosslens_metrics.commands.main import main

sys.exit(main())
