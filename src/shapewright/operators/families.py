"""The modules of the operator families, imported by what they hold."""

from importlib import import_module
from pkgutil import walk_packages

import shapewright.operators


def import_families(part: str) -> None:
    """Import the modules of all families whose names end with ``part``.

    Example: ``import_families("shapes")`` imports ``pooling.shapes`` and
    ``matmul.product_shapes``, which registers their rules.
    """
    families = shapewright.operators
    for found in walk_packages(families.__path__, f"{families.__name__}."):
        if found.name.count(".") == 3 and found.name.endswith(part):
            import_module(found.name)
