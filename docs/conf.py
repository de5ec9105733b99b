"""How Sphinx builds these pages: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for `drawings`

project = "Shapewright"
author = "the Shapewright authors"
copyright = "the Shapewright authors"
extensions = ["myst_parser", "drawings"]
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "Shapewright"
highlight_language = "none"
myst_heading_anchors = 3
