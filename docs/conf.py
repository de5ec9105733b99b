"""How Sphinx builds these pages: `make docs`."""

project = "Shapewright"
author = "the Shapewright authors"
copyright = "the Shapewright authors"
extensions = ["myst_parser"]
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "Shapewright"
highlight_language = "none"
myst_heading_anchors = 3
