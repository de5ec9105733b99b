"""Metadata rules, needs and index maps of torch's operators, one folder per family."""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages


@cache
def import_families(part: str) -> None:
    """Import the modules of all families whose names end with ``part``.

    Example: ``import_families("shapes")`` imports ``pooling.shapes`` and
    ``matmul.product_shapes``, which registers their rules.
    """
    for module in walk_packages(__path__, f"{__name__}."):
        if module.name.count(".") == 3 and module.name.endswith(part):
            import_module(module.name)
