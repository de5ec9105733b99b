"""`shapewright explain`: draw an operator call, or show a finding's page."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from shapewright.cli import child_process, output
from shapewright.cli import output as display
from shapewright.cli import parser as shared
from shapewright.cli.parser import Parser, Unusable
from shapewright.views.renderers import Display, list_renderers, render

if TYPE_CHECKING:
    from shapewright.views.drawing.drawing import Drawing

PICTURES = tuple(
    renderer.option
    for renderer in list_renderers("drawing")
    if renderer.medium != "text"
)
"""Endings of files that are no text."""

SUMMARY = "what an operator does with each element, or what a finding means"

DESCRIPTION = """\
Draw what a tensor operator does with each element, on your own shapes.

CALL is one call, with tensors as DTYPE[sizes]:
  "torch.gather(f32[4, 4, 6], dim=0, index=i64[1, 4, 6])"
  "f32[3, 1] + f32[4]"
  "f32[2, 3, 4].transpose(0, 1)"
  "nn.Conv2d(3, 8, 3)(f32[1, 3, 8, 8])"
  "f32[4, 6]"                      a tensor by itself
A size may have a letter: "torch.matmul(f32[B=8, T=4, C=6], f32[C, 6])"; a letter
without a size gets a small one.
Nothing in it is evaluated: torch's operators and layers, tensors and literals are
read.

FILE.py:LINE draws what a line of your program does, on the shapes of a run:
  model.py:57                      inputs as for `shapewright trace`
  "model.py:Net(10):57"            what to run, where the file has several modules

NAME alone, as in `gather` or `nn.Conv2d`, draws an example of its own.

A finding's code, as in error[torch-error], or a message of torch prints what it means
and what to do.
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `shapewright explain`."""
    add = parser.add_argument
    add("--ascii", action="store_true", help="draw with plain characters only")
    add(
        "--inside",
        action="store_true",
        help="also what it costs, what autograd keeps, and the way to its kernels",
    )
    add(
        "-o",
        dest="file",
        type=Path,
        metavar="FILE",
        help="write FILE.svg or FILE.txt; one that shapewright did not write is never "
        "replaced",
    )
    shared.add_display(parser, "no progress line, and no word on what was written")
    shared.add_specs(
        parser, "what to feed the program of a line, as for `shapewright trace`"
    )
    shared.add_files(parser)
    shared.add_timeout(parser, "stop the program of a line after S seconds")
    add(
        "call",
        metavar="CALL",
        help="a call or the name of an operator, FILE.py:LINE, a code, or a message of "
        "torch; a script's own arguments follow `--`",
    )
    parser.extra = "comes after the call; quote the call as one argument"
    parser.hint = shared.hint_at_dashes


def run(options: argparse.Namespace) -> int:
    """Draw the call or the line; return 0, or 1 if torch refuses it."""
    from shapewright.inputs.program_lines import is_line

    options.call = options.call.strip()
    of_line = is_line(options.call)
    if not of_line and (options.specs or options.timeout):
        raise Unusable(
            "-i and --timeout are for a line of a program, as in `model.py:57`"
        )
    if not of_line and options.arguments:
        raise Unusable(
            f"`{options.arguments[0]}` comes after `--`, where a script's arguments "
            "are; give the line before it, as in `train.py:57`"
        )
    about = None if of_line else _find_page(options.call)
    if options.file:
        _check_writable(options.file, about is not None)
    if about is not None:
        return _print_text(about, options.file, child_process.Here[str]())
    watched = not options.quiet and output.is_progress_visible(sys.stderr)
    if not of_line and not watched:
        return _draw_call(options, child_process.Here[str]())

    def ended(child: child_process.Ended[str]) -> int:
        from shapewright.cli.child_process import build_ended_finding

        message = build_ended_finding(child, options.timeout).message
        print(f"error: {message}", file=sys.stderr)
        return 1

    def describe(module: str | None) -> str:
        return f"drawing {options.call}{f', in {module}' if module else ''}"

    return child_process.run(
        lambda parent: _draw_call(options, parent, of_line),
        ended,
        None if options.quiet else describe,
    )


def _draw_call(
    options: argparse.Namespace, parent: child_process.Here[str], of_line: bool = False
) -> int:
    """Draw, have the drawing printed or written, and return the exit code."""
    file = options.file and options.file.absolute()  # the program may change folder
    drawing = _build_drawing(options, of_line, parent)
    ending = file.suffix if file is not None else ".txt"
    seen = Display() if options.file else display.get_display(sys.stdout, options.color)
    seen = replace(seen, inside=options.inside, ascii=options.ascii)
    if file is not None and ending in PICTURES:
        parent.save(file, render("drawing", ending, drawing, seen))
        if not options.quiet:
            print(f"wrote {options.file}", file=sys.stderr)
    else:
        _print_text(render("drawing", ".txt", drawing, seen), file, parent)
    return 1 if getattr(drawing.drawn, "error", "") else 0


def _build_drawing(
    options: argparse.Namespace, of_line: bool, parent: child_process.Here[str]
) -> Drawing:
    """Return the drawing that was requested."""
    from shapewright import api
    from shapewright.inputs.errors import InputError

    try:
        if not of_line:
            return api.explain(options.call)
        spec = shared.get_spec(options)
        return api.explain_line(
            options.call,
            spec,
            arguments=options.arguments,
            timeout=options.timeout,
            progress=child_process.build_progress(parent, options.quiet),
            files=shared.build_file_handling(options, parent.folder),
        )
    except InputError as error:
        raise Unusable(str(error)) from None


def _check_writable(file: Path, code: bool) -> None:
    """Raise `Unusable` if the ending of the file does not fit its content."""
    if file.suffix not in (("", ".txt", ".md") if code else ("", ".txt", ".svg")):
        from shapewright.views.drawing.drawing import explain_unsaved

        reason = explain_unsaved(file)
        if code:
            reason = (
                f"the page of a finding is text: name a .txt or .md file, not `{file}`"
            )
        if reason:
            raise Unusable(reason)
    output.check_writable(file)


def _find_page(text: str) -> str | None:
    """Return the page of a code or of a message of torch, or None if it is neither."""
    from shapewright.findings.codes import CODES, find_page
    from shapewright.inputs.errors import suggest_name
    from shapewright.inputs.operator_calls import AS_CALL, is_expression

    page = find_page(text)
    if page is not None:
        return page
    if re.fullmatch(r"[a-z]+(-[a-z]+)+", text):
        close = suggest_name(text, sorted(CODES)) or f"; {AS_CALL}"
        raise Unusable(f"no finding has the code `{text}`{close}")
    return None if is_expression(text) else _find_page_of_message(text)


def _find_page_of_message(text: str) -> str | None:
    """Return the page of a message of torch, below what its numbers are."""
    from shapewright.findings.codes import find_page
    from shapewright.findings.messages import find_message

    known = find_message(text)
    if known is not None:
        code, words = known
        head = "\n".join(wrap(words, 88)) + "\n\n" if words else ""
        return f"{head}{find_page(code)}"
    if re.match(r"[\w.]*(?:Error|Warning|Exception): ", text):
        raise Unusable(
            "no page explains this message; `shapewright check` or `rehearse` on the "
            "program says what led to it"
        )
    return None


def _print_text(text: str, file: Path | None, parent: child_process.Here[str]) -> int:
    """Print a text, or write it to a file."""
    if file is None:
        parent.show(text)
    else:
        parent.save(file, f"{output.MARK}explain\n{text}")
    return 0
