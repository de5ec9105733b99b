"""Data sets without items, as the pattern by which files are looked for meets none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name

EMPTY = "num_samples=0"
LOOKING = frozenset({"glob", "iglob", "rglob"})
MOST = 4
"""Patterns that are changed."""


def find_empty_data_set(program: Program, finding: Finding) -> Explanation | None:
    """Return which pattern found no files for a loader that shuffles nothing, or
    None.
    """
    if EMPTY not in finding.words:
        return None
    related: list[Related] = []
    fixes: list[Fix] = []
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) in LOOKING:
                shown = join_lines(text.written(node))
                related.append(Related(text.span(node), f"`{shown}` looks for files"))
                fixes += _iter_deeper(text, node)
    if not related or len(related) > MOST:
        return None
    message = (
        "the data set that is loaded has no items: no file was found for"
        f" {related[0].message.removesuffix(' looks for files')}"
    )
    return Explanation(message, tuple(related), tuple(fixes))


def _iter_deeper(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Yield a search that goes one folder deeper: of `*.png`, that of `*/*.png`."""
    for node in ast.walk(call):
        value = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(value, str) or "*." not in value:
            continue
        assert isinstance(node, ast.Constant)
        written = text.written(node)
        at = written.find("*.")
        if at < 0 or written[at - 1] == "*" or "*/*." in written:
            continue
        new = f"{written[:at]}*/{written[at:]}"
        shown = join_lines(text.written(call)).replace(written, new, 1)
        yield Fix("fits", f"`{shown}`", (Edit(text.span(node), new),))
        return
