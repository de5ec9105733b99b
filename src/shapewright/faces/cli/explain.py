"""`shapewright explain`: an operator call, drawn; or a finding's page."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from shapewright.faces.cli import display, output
from shapewright.faces.cli.display import Display
from shapewright.faces.cli.parser import Unusable

SUMMARY = "what an operator does with each element, or what a finding means"

DESCRIPTION = """\
Draw what a tensor operator does with each element, on your own shapes.

CALL is one call, with tensors as DTYPE[sizes]:
  "torch.gather(f32[4, 4, 6], dim=0, index=i64[1, 4, 6])"
  "f32[3, 1] + f32[4]"
  "f32[2, 3, 4].transpose(0, 1)"
  "nn.Conv2d(3, 8, 3)(f32[1, 3, 8, 8])"
  "f32[4, 6]"                      a tensor by itself
Nothing in it is evaluated: torch's operators and layers, tensors and literals are
read.

A finding's code, as in error[torch-error], prints what it means and what to do.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `shapewright explain` takes."""
    add = parser.add_argument
    add("--ascii", action="store_true", help="draw with plain characters only")
    add(
        "-o",
        dest="file",
        type=Path,
        metavar="FILE",
        help="write FILE.svg or FILE.txt; one that shapewright did not write is never "
        "replaced",
    )
    add("call", metavar="CALL", help="the call, or a code; options stand before it")


def run(options: argparse.Namespace) -> int:
    """Draw the call, return 0, or 1 where torch refuses it."""
    about = page_of(options.call)
    if options.file:
        writable(options.file, about is not None)
    if about is not None:
        return shown(about, options.file)
    from shapewright import api
    from shapewright.inputs.errors import InputError

    try:
        drawing = api.explain(options.call)
    except InputError as error:
        raise Unusable(str(error)) from None
    if options.file is not None and options.file.suffix == ".svg":
        output.save(options.file, drawing.svg())
        print(f"wrote {options.file}", file=sys.stderr)
    else:
        seen = Display() if options.file else display.of(sys.stdout)
        plain = options.ascii or not seen.unicode
        shown(f"{drawing.text(seen.width, plain)}\n", options.file)
    return 1 if getattr(drawing.drawn, "error", "") else 0


def writable(file: Path, code: bool) -> None:
    """Raise `Unusable` for an ending that asks for what cannot be written there."""
    if file.suffix not in (("", ".txt", ".md") if code else ("", ".txt", ".svg")):
        from shapewright.views.lab.page import unsaved

        raise Unusable(
            f"the page of a finding is text: name a .txt or .md file, not `{file}`"
            if code
            else unsaved(file)
        )
    output.writable(file)


def page_of(code: str) -> str | None:
    """The page of a finding's code; None for what is no code."""
    from shapewright.findings.pages import codes, page
    from shapewright.inputs.errors import did_you_mean

    if re.fullmatch(r"[a-z]+(-[a-z]+)*", code) and code not in codes():
        close = did_you_mean(code, codes())
        raise Unusable(f"no finding has the code `{code}`{close}")
    return page(code)


def shown(text: str, file: Path | None) -> int:
    """Print a text, or write it to a file."""
    if file is None:
        output.show(text)
    else:
        output.save(file, f"{output.MARK}explain\n{text}")
    return 0
