"""Tensors of several elements where Python asks for one truth value: `if x > 0:`,
`a and b`, `min(x, y)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
)

AMBIGUOUS = (
    "Boolean value of Tensor with more than one value",
    "bool value of Tensor with more than one value",
)
OF_TABLE = re.compile(r"The truth value of (?:a|an) (Series|DataFrame|array)")
"""What pandas and NumPy say; edits with functions of torch are not for them."""
OF_ELEMENTS = frozenset({
    "isna", "notna", "isnull", "notnull", "isin", "between", "contains", "startswith",
    "endswith", "duplicated", "isnan", "isfinite", "isinf", "logical_not", "eq", "ne",
    "gt", "ge", "lt", "le",
})  # fmt: skip
"""Methods and functions whose result has a truth value for each element."""
OPERATORS = {ast.And: "&", ast.Or: "|"}
PRIMARY = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant
LONGEST = 88
"""Characters of a line that is written."""
ASKING = ast.If | ast.While | ast.IfExp | ast.Assert
"""What has a test."""


def find_ambiguous_truth(program: Program, finding: Finding) -> Explanation | None:
    """Return that a tensor of several elements has no one truth value, or None."""
    of_table = OF_TABLE.search(finding.words)
    if of_table is not None:
        return _explain_table(program, finding, of_table[1])
    if not any(words in finding.words for words in AMBIGUOUS):
        return None
    place = _find_condition(program, finding)
    if place is None:
        return None
    text, node = place
    op = program.op_at(finding.span)
    test = _find_test(text, node)
    what = _name_asker(text, node, test)
    shown = text.line_of(node)
    size = ""
    if op is not None and op.inputs and get_called_name(node) not in EXTREMES:
        fact = op.inputs[0]
        count = 1
        for side in fact.shape:
            count *= side
        size = f" has {count}: {format_shape(fact)}"
    message = f"{what} takes one truth value, and `{shown}`"
    message += size or " compares tensors of several elements"
    return Explanation(message, (), tuple(_iter_fixes(text, node, test)))


def _explain_table(program: Program, finding: Finding, kind: str) -> Explanation | None:
    """Return that a Series or an array of several elements has no one truth value."""
    place = _find_condition(program, finding)
    if place is None:
        return None
    text, node = place
    test = _find_test(text, node)
    if isinstance(test, ast.BoolOp) and node is test:
        node = test.values[0]
    what = _name_asker(text, node, test)
    called = "an array" if kind == "array" else f"a {kind}"
    message = f"{what} takes one truth value, and `{text.line_of(node)}` is {called}"
    message += ", with one for each element"
    parent = text.parent(test)
    is_asked = isinstance(parent, ASKING) and parent.test is test
    fixes: list[Fix] = []
    if not is_asked and _is_of_elements(test):
        new = _write_condition(text, test)
        fixes = [Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(test), new),))]
    return Explanation(message, (), tuple(fixes))


def _is_of_elements(node: ast.expr) -> bool:
    """Return whether a condition is made of what has a truth value for each element."""
    if isinstance(node, ast.BoolOp):
        return all(map(_is_of_elements, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return _is_of_elements(node.operand)
    if isinstance(node, ast.Compare):
        single = ast.Is | ast.IsNot | ast.In | ast.NotIn
        return not any(isinstance(op, single) for op in node.ops)
    if isinstance(node, ast.Call):
        return get_called_name(node) in OF_ELEMENTS
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr)
    return isinstance(node, ast.Subscript | ast.Name)


def _find_condition(
    program: Program, finding: Finding
) -> tuple[SourceText, ast.expr] | None:
    """Return the expression at a finding, or the test of the statement there."""
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return None
    node = text.node(span)
    if isinstance(node, ast.expr):
        return text, node
    for statement in text.near(span.line):  # Python tells the head: `if mask:`
        is_there = text.span(statement).column == span.column
        if is_there and isinstance(statement, ast.If | ast.While):
            test = statement.test
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                return text, test.operand
            return text, test
    return None


def _find_test(text: SourceText, node: ast.expr) -> ast.expr:
    """Return the whole condition that an expression is a part of."""
    parent = text.parent(node)
    while isinstance(parent, ast.BoolOp) or (
        isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    ):
        node, parent = parent, text.parent(parent)
    return node


def _name_asker(text: SourceText, node: ast.expr, test: ast.expr) -> str:
    """Return what asks for the truth value."""
    name = get_called_name(node)
    if name in EXTREMES:
        return f"Python's `{name}`"
    parts = [part for part in ast.walk(test) if part is not node]
    for part in (test, *parts):
        if isinstance(part, ast.BoolOp):
            return "`and`" if isinstance(part.op, ast.And) else "`or`"
    words = {ast.If: "`if`", ast.While: "`while`", ast.IfExp: "`if`"}
    words[ast.Assert] = "`assert`"
    parent = text.parent(test)
    if isinstance(parent, ast.comprehension):
        return "`if`"
    return words.get(type(parent), "a condition")


EXTREMES = {"min": "torch.minimum", "max": "torch.maximum"}


def _iter_fixes(text: SourceText, node: ast.expr, test: ast.expr) -> Iterator[Fix]:
    """Yield the edits that choose by element, or ask what has one answer."""
    if isinstance(node, ast.Call) and get_called_name(node) in EXTREMES:
        yield from _suggest_extreme(text, node)
        return
    optional = _find_optional(text, node)
    if optional is not None:
        yield optional
        return
    parent = text.parent(test)
    is_asked = isinstance(parent, ASKING) and parent.test is test
    choices = []
    if is_asked and isinstance(parent, ast.IfExp):
        parts = [text.written(part) for part in (parent.body, parent.orelse)]
        new = f"torch.where({_write_condition(text, test)}, {', '.join(parts)})"
        edit = Edit(text.span(parent), new)
        choices.append(Fix("fits", f"`{join_lines(new)}`", (edit,)))
    elif is_asked and isinstance(parent, ast.If):
        choices += _suggest_choice(text, parent)
    if choices:
        yield from choices
    elif is_asked:
        yield from _suggest_equality(text, node)
    elif isinstance(test, ast.BoolOp | ast.UnaryOp) and _is_comparison(test):
        new = _write_condition(text, test)
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(test), new),))


def _suggest_extreme(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest `torch.minimum(x, y)` for `min(x, y)`, `x.clamp(max=1)` for
    `min(x, 1)`.
    """
    if len(call.args) != 2 or call.keywords:
        return
    name = get_called_name(call)
    numbers = [part for part in call.args if _is_number(part)]
    if numbers:
        tensor = next((part for part in call.args if part not in numbers), None)
        if tensor is None:
            return
        limit = "max" if name == "min" else "min"
        bound = f"{limit}={text.written(numbers[0])}"
        new = f"{_write_in_brackets(text, tensor)}.clamp({bound})"
    else:
        parts = ", ".join(text.written(part) for part in call.args)
        new = f"{EXTREMES[name]}({parts})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number as it is written."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _find_optional(text: SourceText, node: ast.expr) -> Fix | None:
    """Return the edit `mask is not None` for the truth of a value that may be None."""
    name = get_last_name(node)
    if not name or not get_dotted_name(node):
        return None
    values = find_defining(text, name)
    if not any(isinstance(v, ast.Constant) and v.value is None for v in values):
        return None
    parent, written = text.parent(node), text.written(node)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        new = f"{written} is None"
        return Fix("fits", f"`{new}`", (Edit(text.span(parent), new),))
    if isinstance(parent, ast.BoolOp) and not isinstance(text.parent(parent), ASKING):
        return None  # `mask or default` is a value
    new = f"{written} is not None"
    return Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


# -- choices by element ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Branch:
    """What a branch returns, or sets a name to; `target` is empty for a return."""

    target: str
    value: str
    last: ast.stmt


def _suggest_choice(text: SourceText, statement: ast.If) -> Iterator[Fix]:
    """Suggest `torch.where` for an `if` whose branches return, or set one name."""
    choice = _read_choice(text, statement, _get_following(text, statement))
    if choice is None:
        return
    indent = text.lines[statement.lineno - 1]
    indent = indent[: len(indent) - len(indent.lstrip())]
    head = f"{choice.target} = " if choice.target else "return "
    is_elif = text.written(statement).startswith("elif")
    start = f"else:\n{indent}    " if is_elif else ""
    inner = f"{indent}    " if is_elif else indent
    new = f"{head}torch.where({choice.value})"
    if len(inner) + len(new) > LONGEST:
        new = f"{head}torch.where(\n{inner}    {choice.value}\n{inner})"
    span = text.span(statement).until(text.span(choice.last))
    shown = join_lines(f"torch.where({choice.value})")
    yield Fix("fits", f"`{shown}`", (Edit(span, f"{start}{new}"),))


def _get_following(text: SourceText, statement: ast.stmt) -> ast.stmt | None:
    """Return the statement below another one in its block."""
    parent = text.parent(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return next(iter(block[block.index(statement) + 1 :]), None)
    return None


def _read_choice(
    text: SourceText, statement: ast.If, following: ast.stmt | None
) -> _Branch | None:
    """Return the arguments of the `torch.where` that an `if` stands for."""
    first = _read_branch(text, statement.body, following)
    if first is None:
        return None
    if statement.orelse:
        other = _read_branch(text, statement.orelse, following)
        last: ast.stmt = statement
        if other is not None and other.last is following:
            last = other.last
    elif first.target:
        other, last = _Branch(first.target, first.target, statement), statement
    elif isinstance(following, ast.Return) and following.value is not None:
        other = _Branch("", text.written(following.value), following)
        last = following
    else:
        return None
    if other is None or other.target != first.target:
        return None
    condition = _write_condition(text, statement.test)
    return _Branch(first.target, f"{condition}, {first.value}, {other.value}", last)


def _read_branch(
    text: SourceText, block: list[ast.stmt], following: ast.stmt | None
) -> _Branch | None:
    """Return what a block of one statement returns, or sets a name to."""
    if len(block) != 1:
        return None
    (statement,) = block
    if isinstance(statement, ast.If):
        choice = _read_choice(text, statement, following)
        if choice is None:
            return None
        value = f"torch.where({choice.value})"
        return _Branch(choice.target, value, choice.last)
    if isinstance(statement, ast.Return) and statement.value is not None:
        return _Branch("", text.written(statement.value), statement)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if get_dotted_name(target):
            value = text.written(statement.value)
            return _Branch(text.written(target), value, statement)
    return None


def _write_condition(text: SourceText, test: ast.expr) -> str:
    """Return a condition as one of elements: `(a > 0) & (b < 1)` for `and`."""
    if isinstance(test, ast.BoolOp):
        parts = [_write_in_brackets(text, part) for part in test.values]
        return f" {OPERATORS[type(test.op)]} ".join(parts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return f"~{_write_in_brackets(text, test.operand)}"
    if isinstance(test, ast.Compare) and len(test.ops) > 1:
        sides = [test.left, *test.comparators]
        parts = []
        for at in range(len(test.ops)):
            span = text.span(sides[at]).until(text.span(sides[at + 1]))
            parts.append(f"({text.at(span)})")
        return " & ".join(parts)
    return text.written(test)


def _write_in_brackets(text: SourceText, node: ast.expr) -> str:
    """Return a part of a condition, in brackets where it is not a single word."""
    written = _write_condition(text, node)
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return written if isinstance(node, PRIMARY) or is_not else f"({written})"


def _is_comparison(node: ast.expr) -> bool:
    """Return whether a condition is made of comparisons alone."""
    if isinstance(node, ast.BoolOp):
        return all(map(_is_comparison, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _is_comparison(node.operand)
    return isinstance(node, ast.Compare)


def _suggest_equality(text: SourceText, node: ast.expr) -> Iterator[Fix]:
    """Suggest `torch.equal(a, b)` for `a == b`."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return
    is_same = isinstance(node.ops[0], ast.Eq)
    if not is_same and not isinstance(node.ops[0], ast.NotEq):
        return
    sides = [node.left, node.comparators[0]]
    if any(map(_is_number, sides)):
        new = f"({text.written(node)}).{'all' if is_same else 'any'}()"
    else:
        equal = f"torch.equal({', '.join(map(text.written, sides))})"
        new = equal if is_same else f"not {equal}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
