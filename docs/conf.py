"""How the documentation is built: ``make docs``. Nothing is fetched."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import causalaudit

project = "causalaudit"
author = "the authors of causalaudit"
copyright = author
release = version = causalaudit.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# Pages are in Markdown. Their code is executed by tests/test_documentation.py, notebooks are shown as they are stored.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "off"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says what arguments are, in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "causalaudit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navigation_with_keys": False,
}
html_sidebars = {page: [] for page in ("start", "plots", "other-packages", "how-we-know", "glossary")}  # no sections
