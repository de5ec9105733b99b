"""Edits for labels that are mixed, smoothed or read as truths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name

CLASSES = re.compile(r"all of the (\d+) classes")


def suggest_exchanged_shares(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `lam * loss(y) + (1 - lam) * loss(z)` for the other way round, at the
    line of the losses or in what calls them.
    """
    if "the two weights have changed places" not in finding.message:
        return
    op = program.op_at(finding.span, finding.module)
    spans = [finding.span, *(frame.span for frame in reversed(op.frames if op else ()))]
    for span in spans:
        place = program.node(span)
        if place is None:
            continue
        where, part = place
        for around in where.outwards(part):
            if not isinstance(around, ast.BinOp) or not isinstance(around.op, ast.Add):
                continue
            sides = [around.left, around.right]
            if all(_is_product(side) for side in sides):
                first, second = (side.left for side in sides)  # type: ignore[attr-defined]
                own, other = (_write_factor(where, f) for f in (first, second))
                edits = (
                    Edit(where.span(first), other),
                    Edit(where.span(second), own),
                )
                yield Fix("fits", f"`{own}` and `{other}` exchanged", edits)
                return


def _write_factor(text: SourceText, factor: ast.expr) -> str:
    """Return a factor as it is written in a product."""
    written = text.written(factor)
    return f"({written})" if isinstance(factor, ast.BinOp) else written


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def suggest_share_of_classes(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `one_hot * (1 - eps) + eps / n` for `+ eps`."""
    count = CLASSES.search(finding.message)
    if count is None or "sums to" not in finding.message:
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        share = node.right
        new = f"{text.written(share)} / {count[1]}"
        before = text.written(node)[: -len(text.written(share))]
        yield Fix(
            "fits", f"`{join_lines(before + new)}`", (Edit(text.span(share), new),)
        )


def suggest_threshold(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `(x > 0.5)` for `x.bool()`, and `(x > 0.5).long()` for `x.long()`."""
    if "more than 0 and less than 1" not in finding.message:
        return
    if isinstance(node, ast.Compare) and "compared with" in finding.message:
        limit_node = node.comparators[-1]
        new = f"{text.written(node.left)} > 0.5"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(limit_node), "0.5"),))
        return
    owner = get_receiver(node) if isinstance(node, ast.Call) else None
    if owner is None or not isinstance(node, ast.Call):
        return
    limit = f"({text.written(owner)} > 0.5)"
    method = text.written(node)[len(text.written(owner)) :]
    is_truth = get_called_name(node) == "bool" or "as bool" in finding.message
    new = limit if is_truth else f"{limit}{method}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
