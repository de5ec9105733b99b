"""Importing this module registers every rule."""

from importlib import import_module
from pkgutil import iter_modules

import shapewright.rules

for _found in iter_modules(shapewright.rules.__path__):
    if _found.name not in ("all", "meta", "registry"):
        import_module(f"shapewright.rules.{_found.name}")
