"""How Sphinx builds these pages: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for `drawings`
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))  # for the docstrings

project = "Shapewright"
author = "the Shapewright authors"
copyright = "the Shapewright authors"
extensions = ["myst_parser", "drawings", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "Shapewright"
highlight_language = "none"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

default_role = "literal"  # single backticks in docstrings
add_module_names = False
python_use_unqualified_type_names = True
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
