"""Sizes that are floats where torch and Python take whole numbers: `width / 2`,
`width * 1.5`, a ratio.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name, list_arguments

FLOAT_SIZE = re.compile(
    r"found element of type float|'float' object cannot be interpreted as an integer|"
    r"should be of type int, got: float|must be int, not float|slice indices must be"
    r" integers|should be a positive integer value, but got \w+=\d+\.|"
    r"must be tuple of ints, ?(?:but got|not) float|size with types \[.*'float'|"
    r"\b(?:zeros|ones|empty|rand|randn|expand|repeat|new_\w+)\(\) takes 1 positional"
    r" argument but|view\(\) received .*\(!tuple of \([^)]*float"
)
ROUNDED = frozenset({"int", "round", "floor", "ceil"})
GROWING = (ast.Mult, ast.Add, ast.Sub, ast.Pow, ast.FloorDiv)
"""Operators that give a float where one of their operands is one."""
MOST = 4


def explain_float(
    program: Program, text: SourceText, node: ast.AST
) -> Explanation | None:
    """Explain a size that a division or a factor made a float."""
    scope = text.around(node, *FUNCTIONS) or text.tree
    if scope is None:
        return None
    sizes = list_arguments(node) if isinstance(node, ast.Call) else [node]
    written = {
        text.line_of(part)
        for size in sizes
        for part in ast.walk(size)
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Load)
    }
    known = program.ending.values if program.ending is not None else {}
    floats = {name for name in written if isinstance(known.get(name), float)}
    floats -= {name for name in floats if abs(known[name]) < 1}  # a share, not a size
    near = [
        part
        for part in ast.walk(scope)
        if _is_computed(text, part) and _is_assigned_to(text, part, floats or written)
    ]
    inside = [part for part in ast.walk(node) if _is_computed(text, part)]
    likely = [part for part in inside if isinstance(part, ast.BinOp)]
    likely += [
        part for part in near if isinstance(part, ast.BinOp) and part not in inside
    ]
    divided = [part for part in likely if isinstance(part.op, ast.Div)]
    scaled = [part for part in likely if isinstance(part.op, GROWING)]
    scaled = [
        part for part in scaled if not any(p in likely for p in text.outwards(part))
    ]
    scaled = [part for part in scaled if _is_possible_float(text, part, known)]
    fixes = [_divide_whole(text, part) for part in divided[:MOST]]
    whole = [
        part for part in divided if not any(p in likely for p in text.outwards(part))
    ]
    fixes += [_write_conversion(text, part) for part in (*scaled, *whole)[:MOST]]
    fixes += _iter_converted_arguments(text, node, floats)
    if not fixes:
        return None
    return Explanation(
        _write_message(text, divided, scaled, floats, known),
        _list_places(text, divided, scaled),
        tuple(fixes),
    )


def _write_message(
    text: SourceText,
    divided: list[ast.BinOp],
    scaled: list[ast.BinOp],
    floats: set[str],
    known: Mapping[str, object],
) -> str:
    """Return what is a float, with its value where that is known."""
    if divided:
        shown = text.line_of(divided[0])
        return f"`{shown}` is a float, and a size is a whole number: `//` gives one"
    name = min(floats, default="")
    subject = f"`{name}` is {known.get(name)}, a float"
    if scaled:
        shown = text.line_of(scaled[0])
        subject = f"`{shown}` is a float"
        if name:
            subject = f"`{name}` is {known[name]}, the float `{shown}`"
    return f"{subject}, and a size is a whole number: `int` gives one"


def _list_places(
    text: SourceText, divided: list[ast.BinOp], scaled: list[ast.BinOp]
) -> tuple[Related, ...]:
    """Return where the float is computed."""
    if divided:
        return (Related(text.span(divided[0]), "it is divided here"),)
    if scaled:
        return (Related(text.span(scaled[0]), "it is computed here"),)
    return ()


def _is_computed(text: SourceText, node: ast.AST) -> bool:
    """Return whether a node is arithmetic that nothing around it rounds."""
    if not isinstance(node, ast.BinOp):
        return False
    for around in text.outwards(node):
        if isinstance(around, ast.Call) and get_called_name(around) in ROUNDED:
            return False
        if isinstance(around, ast.stmt):
            break
    return isinstance(node.op, (ast.Div, *GROWING))


def _is_possible_float(
    text: SourceText, node: ast.AST, known: Mapping[str, object]
) -> bool:
    """Return whether one of the operands is not known to be a whole number."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, float):
            return True
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            value = known.get(text.line_of(part))
            if isinstance(value, float) or (
                value is None and isinstance(part, ast.Subscript | ast.Attribute)
            ):
                return True
    return False


def _is_assigned_to(text: SourceText, part: ast.AST, names: set[str]) -> bool:
    """Return whether a statement assigns what contains an expression to a name."""
    statement = text.around(part, ast.Assign, ast.AnnAssign, ast.AugAssign)
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    return any(
        isinstance(name, ast.Name | ast.Attribute) and text.line_of(name) in names
        for target in targets
        for name in ast.walk(target)
    )


def _divide_whole(text: SourceText, part: ast.BinOp) -> Fix:
    """Return the fix that writes `//` for `/`."""
    between = text.span(part.left).end.until(text.span(part.right).start)
    begin = text.span(part).start.until(between.start)
    end = between.end.until(text.span(part).end)
    operator = text.at(between).replace("/", "//", 1)  # brackets stay around
    new = f"{text.at(begin)}{operator}{text.at(end)}"
    return Fix("fits", f"`{new}`", (Edit(text.span(part), new),))


def _write_conversion(text: SourceText, node: ast.expr) -> Fix:
    """Return the fix that puts `int(...)` around an expression."""
    new = f"int({text.written(node)})"
    statement = text.around(node, ast.Assign)
    shown = " ".join(new.split())
    if statement is not None and statement.value is node:
        shown = f"{text.line_of(statement.targets[0])} = {shown}"
    return Fix("fits", f"`{shown}`", (Edit(text.span(node), new),))


def _iter_converted_arguments(
    text: SourceText, node: ast.AST, floats: set[str]
) -> Iterator[Fix]:
    """Yield the fixes that convert a float where it is handed on."""
    for call in ast.walk(node):
        for argument in list_arguments(call) if isinstance(call, ast.Call) else ():
            if text.line_of(argument) in floats:
                new = f"int({text.written(argument)})"
                yield Fix("fits", f"`{new}`", (Edit(text.span(argument), new),))
