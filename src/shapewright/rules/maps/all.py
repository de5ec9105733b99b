"""Importing this registers the index maps of all families."""

from importlib import import_module
from pkgutil import iter_modules

import shapewright.rules.maps
from shapewright.rules.maps.index_map import MAPS

__all__ = ["MAPS"]

for _found in iter_modules(shapewright.rules.maps.__path__):
    if _found.name != "all":
        import_module(f"shapewright.rules.maps.{_found.name}")
