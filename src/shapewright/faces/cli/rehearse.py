"""`shapewright rehearse`: a whole training script, with no GPU and no data."""

from __future__ import annotations

import argparse
import sys

from shapewright.faces.cli import display, output
from shapewright.faces.cli.parser import Unusable, seconds

SUMMARY = "a whole training script, from the data set to the last batch"

DESCRIPTION = """\
Run a training script as it is, with tensors that hold no data: its data set, loaders,
loss, optimizer, validation and checkpoints. From each loader come the first batches
and the last; a loop that trains ends when its turns bring nothing new, with its last
turn. Files that the script writes lie in a temporary folder and are removed.
What follows SCRIPT.py belongs to the script.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `shapewright rehearse` takes."""
    add = parser.add_argument
    add(
        "--device",
        default="cpu",
        metavar="D",
        help='what the script is told that it runs on: cpu, cuda, mps, "H100 80GB", '
        '"RTX 4090" ... (default: cpu)',
    )
    add("--full-loaders", action="store_true", help="read all the data")
    add(
        "--gradients",
        action="store_true",
        help="show the shape of each gradient beside that of its value",
    )
    add(
        "--format",
        choices=("full", "concise", "json", "github", "sarif"),
        default="full",
        help="the story and blocks with source, a line each, versioned JSON, commands "
        "for GitHub, or SARIF (default: full)",
    )
    add(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="S",
        help="stop the script after S seconds and tell what was found until then "
        "(default: 300)",
    )
    add("script", metavar="SCRIPT.py", help="the script; options stand before it")
    add("arguments", metavar="...", nargs=argparse.REMAINDER, help="its own arguments")


def run(options: argparse.Namespace) -> int:
    """Rehearse, print, return the exit code."""
    from shapewright import api
    from shapewright.faces.cli.check import rendered
    from shapewright.inputs.errors import InputError

    try:
        report = api.rehearse_script(
            options.script,
            options.arguments,
            device=options.device,
            timeout=options.timeout,
            full_loaders=options.full_loaders,
        )
    except InputError as error:
        raise Unusable(str(error)) from None
    if options.format != "full":
        output.show(rendered(report, options))
        return report.exit_code
    from shapewright.views.terminal.rehearsal import text

    seen = display.of(sys.stdout)
    asked = options.gradients
    output.show(text(report, seen.width, seen.color, seen.unicode, asked))
    return report.exit_code
