"""Find windows of a series whose target is their own last value: the model is handed
the answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import UNSHIFTED_TARGET
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_last_name

TARGETS = re.compile(r"^_*(y|target|label)|(^|_)(y|ys|targets?|labels?)$")
"""How targets are called."""
WRAPPING = re.compile(
    r"tensor|Tensor|FloatTensor|as_tensor|from_numpy|array|asarray|float|float32|clone"
    r"|unsqueeze|copy|to"
)
"""What is called for a window or a value, and leaves it what it is."""
ITEMS = ("__getitem__", "__iter__")
LEARNING = re.compile(r"backward\(|\.fit\(|loss")


def find_window_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find `xs.append(series[i:i + n])` beside `ys.append(series[i + n - 1])`."""
    for text in scene.program.own_texts():
        if LEARNING.search(text.text) is None:
            continue
        for window, target in _iter_pairs(text):
            if get_end_of_window(window, target) is None:
                continue
            message = (
                f"the target `{text.line_of(target)}` is the last value of the window"
                f" `{text.line_of(window)}`: the model reads what it is to predict"
            )
            related = (Related(text.span(window), "the window is taken here"),)
            yield Finding(
                UNSHIFTED_TARGET, "warning", message, text.span(target), related=related
            )


def get_end_of_window(window: ast.Subscript, target: ast.Subscript) -> ast.expr | None:
    """Return the end of a window whose last value is a target, or None."""
    if ast.dump(window.value) != ast.dump(target.value):
        return None
    rows, place = get_first_item(window), get_first_item(target)
    if not isinstance(rows, ast.Slice) or rows.upper is None or rows.step is not None:
        return None
    if isinstance(window.slice, ast.Tuple):
        others = window.slice.elts[1:]
        if any(not isinstance(o, ast.Slice) or o.lower or o.upper for o in others):
            return None
    is_before = (
        isinstance(place, ast.BinOp)
        and isinstance(place.op, ast.Sub)
        and isinstance(place.right, ast.Constant)
        and place.right.value == 1
        and ast.dump(place.left) == ast.dump(rows.upper)
    )
    return rows.upper if is_before and rows.lower is not None else None


def get_first_item(node: ast.Subscript) -> ast.expr:
    """Return what a subscript says of the first dim."""
    return node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice


def _iter_pairs(text: SourceText) -> Iterator[tuple[ast.Subscript, ast.Subscript]]:
    """Yield what a program takes for the input and for the target of one sample: what
    two lists get in one turn, two names, or the parts of an item.
    """
    for node in text.nodes:
        if isinstance(node, ast.Return | ast.Yield):
            function = text.around(node, ast.FunctionDef)
            is_item = function is not None and function.name in ITEMS
            if is_item and isinstance(node.value, ast.Tuple):
                yield from _pair(node.value.elts)
        is_kept = isinstance(node, ast.Call) and get_called_name(node) == "append"
        for part in node.args if is_kept and isinstance(node, ast.Call) else ():
            if isinstance(part, ast.Tuple):
                yield from _pair(part.elts)
        for body in (getattr(node, name, None) for name in ("body", "orelse")):
            if isinstance(body, list):
                values = [
                    (name, value)
                    for line in body
                    for name, value in _iter_kept(line)
                    if isinstance(_strip(value), ast.Subscript)
                ]
                inputs = [value for name, value in values if not TARGETS.search(name)]
                targets = [value for name, value in values if TARGETS.search(name)]
                if len(targets) == 1 and len(inputs) > 0:
                    for value in inputs:
                        yield from _pair([value, targets[0]])


def _pair(
    values: list[ast.expr],
) -> Iterator[tuple[ast.Subscript, ast.Subscript]]:
    """Yield two values, without what is called for them, if both are subscripts."""
    bare = [_strip(value) for value in values]
    if len(bare) == 2:
        first, second = bare
        if isinstance(first, ast.Subscript) and isinstance(second, ast.Subscript):
            yield first, second


def _iter_kept(line: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the list or the name and the value of `ys.append(value)` or `y = value`."""
    call = line.value if isinstance(line, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) and len(call.args) == 1 else None
    is_kept = isinstance(func, ast.Attribute) and func.attr == "append"
    if is_kept and isinstance(call, ast.Call) and isinstance(func, ast.Attribute):
        yield get_last_name(func.value).lower(), call.args[0]
    if isinstance(line, ast.Assign) and len(line.targets) == 1:
        target, value = line.targets[0], line.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for name, part in zip(target.elts, value.elts, strict=False):
                yield get_last_name(name).lower(), part
        else:
            yield get_last_name(target).lower(), value


def _strip(node: ast.expr) -> ast.expr:
    """Return what a value was before it became a tensor or a list of one."""
    while True:
        if isinstance(node, ast.List) and len(node.elts) == 1:
            node = node.elts[0]
        elif isinstance(node, ast.Call) and WRAPPING.fullmatch(get_called_name(node)):
            of_value = isinstance(node.func, ast.Attribute) and isinstance(
                node.func.value, ast.Subscript | ast.Call
            )
            if of_value and isinstance(node.func, ast.Attribute):
                node = node.func.value
            elif node.args:
                node = node.args[0]
            else:
                return node
        else:
            return node
