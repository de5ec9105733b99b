"""How Sphinx builds these pages: `make docs`."""

import sys
from dataclasses import MISSING, fields, is_dataclass
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


def _hide_constructor(app, what, name, value, options, signature, returns):
    """Records are read, not built: their fields stand in the text."""
    return ("", None) if is_dataclass(value) else None


def _list_fields(app, what, name, value, options, lines):
    """Below the text of a record, its fields as its source has them."""
    if what == "class" and is_dataclass(value):
        lines += ["", "Fields::", ""]
        for field in fields(value):
            default = "" if field.default is MISSING else f" = {field.default!r}"
            lines.append(f"    {field.name}: {field.type}{default}")
        lines.append("")


def setup(app):
    """What Sphinx calls."""
    app.connect("autodoc-process-signature", _hide_constructor)
    app.connect("autodoc-process-docstring", _list_fields)
