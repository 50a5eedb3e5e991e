"""A Crosslens installation from Python: `Crosslens(url, token)`. docs/client.md is the guide."""

from crosslens.connection import CrosslensError
from crosslens.projects import Crosslens, FileImport, Project, Release
from crosslens.rows import Rows

__all__ = ["Crosslens", "CrosslensError", "FileImport", "Project", "Release", "Rows"]
