"""How Sphinx builds these pages: `make docs`."""

import sys
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for `drawings`
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))  # for the docstrings

project = "Shapewright"
author = "the Shapewright authors"
copyright = "the Shapewright authors"
extensions = ["myst_parser", "drawings", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "Shapewright"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
highlight_language = "none"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

default_role = "literal"  # single backticks in docstrings
add_module_names = False
python_use_unqualified_type_names = True
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}


def _hide_constructor(
    app: Any, what: str, name: str, value: Any, *_: Any
) -> tuple[str, None] | None:
    """Leave out the arguments of a record, which is read and not built."""
    return ("", None) if is_dataclass(value) else None


def _list_fields(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Add the fields of a record below its text, as its source has them."""
    if what == "class" and is_dataclass(value):
        lines += ["", "Fields::", ""]
        for field in fields(value):
            default = "" if field.default is MISSING else f" = {field.default!r}"
            lines.append(f"    {field.name}: {field.type}{default}")
        lines.append("")


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("autodoc-process-signature", _hide_constructor)
    app.connect("autodoc-process-docstring", _list_fields)
