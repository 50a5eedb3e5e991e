"""The documentation site, as `make docs` builds it: the guides as they stand here, and what docstrings say."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "libs")]

project = "Crosslens"
copyright = "the Crosslens authors"
html_title = "Crosslens"
html_theme = "furo"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# From the root, so that links between docs/ and the files beside it are the same on the site and in the repository.
root_doc = "docs/index"
include_patterns = [
    "docs/*.md", "docs/decisions/*.md", "docs/screenshots/*.md",
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md",
    "tests/README.md",
]  # fmt: skip
# Only to walk past them quickly.
exclude_patterns = [".git", ".venv", "var", "tests/*/**", "static", "templates", "locale", ".*_cache"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_links_external_new_tab = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_preprocess_types = False
html_baseurl = ""
html_copy_source = False
html_show_sphinx = False
