"""Which versions are at work, found without importing torch."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed


def version() -> str:
    """All versions that matter: `shapewright 0.1.0, torch 2.13.0, Python 3.11.7`."""
    names = (f"{name} {_installed(name)}" for name in ("shapewright", "torch"))
    return f"{', '.join(names)}, Python {platform.python_version()}"


def _installed(name: str) -> str:
    try:
        return installed(name)
    except PackageNotFoundError:
        return "(not installed)"
