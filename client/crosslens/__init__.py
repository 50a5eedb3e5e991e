"""A Crosslens installation from Python: `Crosslens(url, token)`. docs/client.md is the guide."""

from crosslens.connection import CrosslensError
from crosslens.jobs import FileImport, Release, ServerJob
from crosslens.projects import Crosslens, Project
from crosslens.rows import Rows
from crosslens.work import Batch

__all__ = ["Batch", "Crosslens", "CrosslensError", "FileImport", "Project", "Release", "Rows", "ServerJob"]
