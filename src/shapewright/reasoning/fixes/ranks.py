"""More dims or fewer where a shape is unpacked into another number of names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.findings.fix import Fix
from shapewright.reasoning.fixes.calls import after
from shapewright.reasoning.fixes.words import is_shape
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.definitions import defining
from shapewright.source.expressions import Text

FEWER = (".flatten(2).transpose(1, 2)", ".flatten(1)", ".squeeze(1)", ".squeeze(0)")
FEWER_STILL = (".flatten(2)", ".squeeze(-1)", "[0]", ".mean(dim=1)")
MORE = (".unsqueeze(1)", ".unsqueeze(0)", ".unsqueeze(-1)")
DEEP = 4
"""How many assignments and calls a tensor is followed back through."""


def of_unpacking(program: Program, finding: Finding) -> Iterator[Fix]:
    """What `x` of `B, N, C = x.shape` is, where it comes from, with another rank."""
    too_many = re.search("too many values to unpack", finding.message)
    too_few = re.search("not enough values to unpack", finding.message)
    if not (too_many or too_few) or finding.span is None:
        return
    text = program.text(finding.span.file)
    for node in text.near(finding.span.line) if text is not None else ():
        if not isinstance(node, ast.Assign) or not is_shape(node.value):
            continue
        assert text is not None
        source = tensor_of(node.value)
        if source is None:
            continue
        made = list(sources(text, source, node.lineno, DEEP))
        for methods in (FEWER, FEWER_STILL) if too_many else (MORE,):
            for method in methods:
                for place in made:
                    yield after(text, place, method)


def at_sources(program: Program, failure: Failure) -> Iterator[Fix]:
    """What the names of the failing call stand for, turned or of another rank."""
    op = program.trace.ops[failure.op]
    found = program.node(op.span)
    if found is None:
        return
    text, node = found
    made: dict[int, ast.expr] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            for place in sources(text, each, each.lineno, 2):
                if not isinstance(place, ast.Constant):
                    made.setdefault(id(place), place)
    for method in TURNS:
        for place in list(made.values())[:MOST]:
            yield after(text, place, method)


TURNS = (".transpose(1, 2)", ".unsqueeze(1)", ".unsqueeze(-1)", ".squeeze(1)", ".T")
MOST = 5
"""Places of one kind that are tried."""


def tensor_of(node: ast.expr) -> ast.expr | None:
    """`x` of `x.shape` or `x.size()`."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.value if isinstance(node, ast.Attribute) else None


def sources(text: Text, node: ast.expr, line: int, deep: int) -> Iterator[ast.expr]:
    """The calls that a name stands for, and the arguments that it is handed."""
    if isinstance(node, ast.Call | ast.Subscript):
        yield node
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            if not isinstance(item, ast.Starred | ast.Constant):
                yield item
                yield from sources(text, item, line, deep - 1)
    if not isinstance(node, ast.Name) or not deep:
        return
    found = list(defining(text, node.id))
    near = [each for each in found if each.lineno < line]
    for each in [*reversed(near), *(each for each in found if each not in near)][:6]:
        if isinstance(each, ast.Name) and each.id == node.id and each.lineno == line:
            continue
        yield each
        yield from sources(text, each, each.lineno, deep - 1)
