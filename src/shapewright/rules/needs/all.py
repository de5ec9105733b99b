"""Importing this registers every need."""

from importlib import import_module
from pkgutil import iter_modules

from shapewright.rules import needs

for _module in iter_modules(needs.__path__):
    if _module.name not in ("all", "registry", "unmet"):
        import_module(f"{needs.__name__}.{_module.name}")
