"""Edits of boxes that an overlap takes for corners."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name

ONE_SET = frozenset({"nms", "batched_nms", "box_area"})
"""Functions of torchvision that take one set of boxes."""
FORMATS = '"cxcywh", "xyxy"'


def suggest_converted_boxes(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to convert the boxes of an overlap as another place does, or with
    `box_convert` of torchvision.
    """
    place = program.call_at(finding.related[0].span) if finding.related else None
    if place is None or not isinstance(node, ast.Call) or not node.args:
        return
    where, conversion = place
    count = 1 if "nms" in get_called_name(node) else 2
    count = 1 if get_called_name(node) in ONE_SET else count
    imports: tuple[Edit, ...] = ()
    if "of centres and sizes" in finding.message:
        name, imports = _get_converter(text)
        tail = [FORMATS]
        sets = {text.written(arg) for arg in node.args[:count]}
        if len(finding.related) < len(sets):
            return  # nothing is known of the other boxes
    elif conversion.args:
        tail = [where.written(arg) for arg in conversion.args[1:]]
        tail += [f"{k.arg}={where.written(k.value)}" for k in conversion.keywords]
        name = where.written(conversion.func)
    else:
        return
    edits, shown = [], []
    for arg in node.args[:count]:
        new = f"{name}({', '.join([text.written(arg), *tail])})"
        edits.append(Edit(text.span(arg), new))
        shown.append(f"`{join_lines(new)}`")
    if not name:
        return
    yield Fix("fits", " and ".join(shown), (*imports, *edits))


def _get_converter(text: SourceText) -> tuple[str, tuple[Edit, ...]]:
    """Return how a file calls `torchvision.ops.box_convert`, and the edits that import
    it if need be; an empty name if the file uses no operators of torchvision.
    """
    for node in text.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in ("torchvision", "torchvision.ops"):
                    name = alias.asname or alias.name
                    ops = "" if alias.name != "torchvision" and alias.asname else ".ops"
                    return f"{name.removesuffix('.ops')}{ops}.box_convert", ()
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name: alias.asname or alias.name for alias in node.names}
            if node.module == "torchvision" and "ops" in names:
                return f"{names['ops']}.box_convert", ()
            if (node.module or "").startswith("torchvision.ops"):
                if "box_convert" in names:
                    return names["box_convert"], ()
                new = f"from torchvision.ops import box_convert\n{text.written(node)}"
                return "box_convert", (Edit(text.span(node), new),)
    return "", ()
