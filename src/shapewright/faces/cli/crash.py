"""What to send when shapewright itself failed."""

from __future__ import annotations

import platform
import shlex
import sys
import traceback
from collections.abc import Sequence

from shapewright.faces.cli.version import version


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
