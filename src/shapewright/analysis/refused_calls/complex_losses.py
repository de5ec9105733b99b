"""Losses that are complex numbers, as the square of a complex difference is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact, Op

REFUSED = "only for real scalar outputs but got torch.complex"
SQUARING = ("pow", "square")
SQUARES = (*SQUARING, "**", "mse_loss")
PRODUCTS = ("*", "mul")
MOST = 200
"""Calls that a loss is followed back through."""
PRIMARY = ast.Name | ast.Attribute | ast.Call | ast.Subscript


def find_complex_loss(program: Program, finding: Finding) -> Explanation | None:
    """Return which squares make a loss complex, or None."""
    if REFUSED not in finding.words:
        return None
    op = program.op_at(finding.span)
    loss = next((fact for fact in op.inputs if _is_complex(fact)), None) if op else None
    if loss is None:
        return None
    edits: dict[Span, Edit] = {}
    related, shown, written = [], "", ""
    for maker in _iter_squares(program, loss):
        place = program.node(maker.span)
        if place is None or maker.span is None or maker.span in edits:
            continue
        text, node = place
        edit = _take_modulus(text, node)
        if edit is None:
            continue
        edits[maker.span], new = edit
        written, shown = written or text.line_of(node), shown or new
        what = f"`{text.line_of(node)}` is complex"
        related.append(Related(maker.span, what))
    if not edits:
        return None
    message = (
        f"the loss is {loss.dtype}, as `{written}` is complex where a squared modulus"
        f" is meant: `{shown}`"
    )
    fix = Fix("fits", f"`{shown}`", tuple(edits.values()))
    return Explanation(message, tuple(related), (fix,))


def _is_complex(fact: Fact) -> bool:
    return fact.dtype.startswith("complex")


def _iter_squares(program: Program, loss: Fact) -> Iterator[Op]:
    """Yield the calls nearest to a loss that square a complex tensor."""
    waiting, seen = [loss], {loss.tensor}
    for _ in range(MOST):
        if not waiting:
            return
        maker = program.producers.get(waiting.pop(0).tensor)
        if maker is None:
            continue
        operands = [fact for fact in maker.inputs if _is_complex(fact)]
        name = maker.name.rpartition(".")[2].strip("_")
        if operands and name in SQUARES:
            yield maker
            continue
        if len(operands) > 1 and name in PRODUCTS and _is_square(program, maker):
            yield maker
            continue
        waiting += [fact for fact in operands if fact.tensor not in seen]
        seen.update(fact.tensor for fact in operands)


def _is_square(program: Program, product: Op) -> bool:
    """Return whether a product is that of a tensor with itself, or its conjugate."""
    place = program.node(product.span)
    return place is not None and _read_product(*place) is not None


def _read_product(
    text: SourceText, node: ast.AST
) -> tuple[ast.expr, ast.expr, bool] | None:
    """Return the operands of `d * d` or `d * d.conj()`, and whether one is that of the
    other's conjugate.
    """
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    left, right = node.left, node.right
    if text.line_of(left) == text.line_of(right):
        return left, right, False
    for side, other in ((left, right), (right, left)):
        if isinstance(side, ast.Call) and get_called_name(side) in (
            "conj",
            "conjugate",
        ):
            owner = side.func.value if isinstance(side.func, ast.Attribute) else None
            inner = side.args[0] if side.args else owner
            if inner is not None and text.line_of(inner) == text.line_of(other):
                return left, right, True
    return None


def _take_modulus(text: SourceText, node: ast.AST) -> tuple[Edit, str] | None:
    """Return the edit that takes the modulus of what is squared, and the new text."""
    product = _read_product(text, node)
    if product is not None and isinstance(node, ast.expr):
        whole = text.written(product[0])
        if product[2]:
            new = f"({text.written(node)}).real"
        elif isinstance(product[0], PRIMARY):
            new = f"{whole}.abs() ** 2"
        else:
            new = f"({whole}).abs() ** 2"
        return Edit(text.span(node), new), join_lines(new)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        between = text.span(node.left).end.until(text.span(node.right))
        between = replace(
            between, end_line=node.right.lineno, end_column=text.span(node.right).column
        )
        closing = text.at(between).partition("**")[0].rstrip()
        if "\n" in closing:
            return None
        column = between.column + len(closing)
        at = Span(text.file, between.line, column, between.line, column)
        start = text.span(node)
        base = text.at(replace(at, line=start.line, column=start.column))
        return Edit(at, ".abs()"), join_lines(f"{base}.abs() ** 2")
    if not isinstance(node, ast.Call):
        return None
    if len(node.args) == 2 and get_called_name(node) not in SQUARING:
        sides = " - ".join(map(text.written, node.args))
        new = f"({sides}).abs().pow(2).mean()"
        return Edit(text.span(node), new), join_lines(new)
    if get_called_name(node) not in SQUARING or not isinstance(
        node.func, ast.Attribute
    ):
        return None
    owner = text.written(node.func.value)
    if owner in ("torch", "np") and node.args:
        first = node.args[0]
        new = text.written(first)
        new = f"{new}.abs()" if isinstance(first, PRIMARY) else f"({new}).abs()"
        return Edit(text.span(first), new), join_lines(
            text.written(node).replace(text.written(first), new, 1)
        )
    end = text.span(node.func).end
    column = end.column - len(node.func.attr) - 1
    at = replace(end, column=column, end_column=column)
    start, last = text.span(node), text.span(node).end
    base = text.at(replace(at, line=start.line, column=start.column))
    rest = text.at(at.until(last))
    return Edit(at, ".abs()"), join_lines(f"{base}.abs(){rest}")
