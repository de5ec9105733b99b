"""What to send when shapewright itself failed: the traceback and the installed
versions, found without importing torch.
"""

from __future__ import annotations

import platform
import shlex
import sys
import traceback
from collections.abc import Sequence
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


def report(error: BaseException, command: Sequence[str]) -> str:
    """The text of a bug report: the command, versions and the traceback."""
    trail = "".join(traceback.format_exception(error))
    return (
        "error: shapewright itself failed; this is a bug of ours, not of your program\n"
        "\n"
        "Please send what follows with the smallest program that shows it.\n"
        f"  command:  shapewright {shlex.join(command)}\n"
        f"  versions: {version()} on {platform.platform()}\n"
        "\n"
        f"{trail}"
    )


def tell(error: BaseException, command: Sequence[str]) -> None:
    """Print the report on stderr."""
    sys.stderr.write(report(error, command))
