"""The context of a loop: the program's text, tensors created before it, and the
recorded values of its names and letters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from shapewright.analysis.python_loops.loop_nests import (
    Nest,
    NestStatement,
    Unread,
    dotted,
    independent,
    loaded,
    loops_around,
    parents,
    read_comprehension,
    read_for,
    substituted,
    used_outside,
)
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, Op

Place = tuple[int, int, int, int]


@dataclass(slots=True)
class Recorded:
    """The ops of a file by the expression that made them, and the values they reveal.

    `facts` are the tensors by their names in the text, `numbers` plain numbers,
    `indices` numbers that stand in brackets, `seen` the values that letters took there.
    """

    text: str
    ops: dict[Place, list[Op]]
    facts: dict[str, Fact] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)

    def at(self, node: ast.AST) -> list[Op]:
        """Return the ops that this exact expression made."""
        place = place_of(node, self.text.split("\n"))
        return self.ops.get(place, []) if place else []

    def learn(self, root: ast.AST, letters: Iterable[str]) -> None:
        """Record the values of the names in a loop."""
        names = set(letters)
        for node in ast.walk(root):
            ops = self.at(node)
            if not ops:
                continue
            if isinstance(node, ast.Subscript):
                self.indexed(node, ops, names)
            elif isinstance(node, ast.BinOp):
                self.operands([node.left, node.right], ops[0], names)
            elif isinstance(node, ast.AugAssign):
                own = [op for op in ops if not op.name.startswith("[]")]
                if own:
                    self.operands([node.target, node.value], own[0], names)
            elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
                self.operands([node.left, *node.comparators], ops[0], names)
            elif isinstance(node, ast.Call):
                self.called(node, ops, names)

    def called(self, node: ast.Call, ops: list[Op], names: set[str]) -> None:
        """Record a function's arguments, a method's object, and the tensor iterated
        over.
        """
        unbound = [op for op in ops if op.name.endswith("unbind")]
        name = dotted(node.func)
        if name in ("enumerate", "zip") and len(unbound) >= len(node.args):
            for argument, op in zip(node.args, unbound, strict=False):
                self.tell(argument, op.inputs[0])
            return
        operands = list(node.args)
        if isinstance(node.func, ast.Attribute) and not name.startswith(
            ("torch.", "F.")
        ):
            operands.insert(0, node.func.value)
        own = [op for op in ops if not op.name.endswith("unbind")]
        if own:
            self.operands(operands, own[0], names)

    def indexed(self, node: ast.Subscript, ops: list[Op], names: set[str]) -> None:
        """Record the tensor `x` of `x[i, j]`, and the values of its letters."""
        own = [op for op in ops if op.name.startswith("[]")]
        if not own:
            return
        self.tell(node.value, own[0].inputs[0])
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for op in own:
            given = dict(op.arguments).get("1")
            places = given if isinstance(given, tuple) else (given,)
            if len(places) != len(items):
                continue
            for item, place in zip(items, places, strict=True):
                name = dotted(item)
                if type(place) is not int or not name:
                    continue
                if name in names:
                    self.seen.setdefault(name, set()).add(place)
                else:
                    self.indices.setdefault(name, place)

    def operands(self, nodes: list[ast.expr], op: Op, names: set[str]) -> None:
        """Match the expressions with the tensors and numbers of a call, in order."""
        may = [node for node in nodes if not self.plain(node, names)]
        if len(may) == len(op.inputs):
            for node, fact in zip(may, op.inputs, strict=True):
                self.tell(node, fact)
            return
        sure = [node for node in may if not dotted(node) or dotted(node) in self.facts]
        if len(sure) == len(op.inputs):
            values = [value for _, value in op.arguments]
            rest = [node for node in may if node not in sure]
            if len(values) == len(rest):
                for node, value in zip(rest, values, strict=True):
                    self.numbers.setdefault(dotted(node), value)

    def plain(self, node: ast.expr, names: set[str]) -> bool:
        """Whether a node is certainly not a tensor."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.UnaryOp):
            return self.plain(node.operand, names)
        return dotted(node) in names or dotted(node) in self.numbers

    def tell(self, node: ast.AST, fact: Fact) -> None:
        """Record the tensor of an expression."""
        name = dotted(node)
        if name:
            self.facts.setdefault(name, fact)


def place_of(node: ast.AST, lines: list[str]) -> Place | None:
    """Return the place of a node, in columns as spans count them."""
    if not hasattr(node, "lineno") or node.end_lineno is None:  # type: ignore[attr-defined]
        return None

    def column(line: int, offset: int) -> int:
        text = lines[line - 1] if line <= len(lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode("utf-8", "replace")) + 1

    line, end = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    start, stop = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    return line, column(line, start), end, column(end, stop)


def span_place(span: Span) -> Place:
    """Return the place of a span."""
    return span.line, span.column, span.end_line, span.end_column


MADE = "(made)"
"""The name under which an expression that stands for a loop is compared."""

ZEROS = frozenset(name for name, n in values_of("fills_with").items() if n == 0)
FACTORIES = operators_with("preallocates")
STACKS = frozenset({"torch.stack", "torch.cat"})
LOOPS = (ast.For, ast.While, ast.AsyncFor)


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A file's syntax tree, with the parent of every node."""

    text: str
    tree: ast.AST
    above: dict[ast.AST, ast.AST]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, the innermost first."""
        while node in self.above:
            node = self.above[node]
            yield node

    def function(self, node: ast.AST) -> ast.AST:
        """Return the function that contains a node, or the whole file."""
        for outer in self.around(node):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                return outer
        return self.tree


@lru_cache(maxsize=8)
def parsed(text: str) -> SyntaxTree | None:
    """Parse a program; None if it is not valid Python of this version."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return SyntaxTree(text, tree, parents(tree))


def node_at(text: SyntaxTree, place: Place) -> ast.AST | None:
    """Return the outermost expression at exactly this place."""
    lines = text.text.split("\n")
    for node in ast.walk(text.tree):
        if (
            isinstance(node, ast.expr)
            and node.lineno == place[0]
            and node.end_lineno == place[2]
            and place_of(node, lines) == place
        ):
            return node
    return None


def nests_around(text: SyntaxTree, node: ast.AST) -> Iterator[Nest]:
    """Yield the fully readable loops around an expression, the outermost first."""
    for outer in reversed(list(loops_around(node, text.above))):
        try:
            if isinstance(outer, ast.For):
                nest = Nest(outer, function=text.function(outer))
                read_for(nest, outer, ())
                _appended(text, nest)
            elif isinstance(outer, ast.Call) and dotted(outer.func) in STACKS:
                nest = Nest(outer, function=text.function(outer))
                _stack(nest, outer, ())
            else:
                continue
        except Unread:
            continue
        assigned = set(nest.bound) | {loop.letter for loop in nest.loops}
        if independent(nest) and not used_outside(nest, assigned):
            yield nest


def _stack(nest: Nest, call: ast.Call, letters: tuple[str, ...]) -> None:
    """Read `torch.stack([... for i in range(n)])`, possibly nested."""
    listed = call.args[0] if call.args else None
    dim = {key.arg: ast.unparse(key.value) for key in call.keywords}
    if [ast.unparse(arg) for arg in call.args[1:]] not in ([], ["0"]):
        raise Unread
    if dim not in ({}, {"dim": "0"}):
        raise Unread
    if not isinstance(listed, ast.ListComp | ast.GeneratorExp):
        raise Unread
    inner = (*letters, *read_comprehension(nest, listed))
    elt = listed.elt
    joined = dotted(call.func) == "torch.cat"
    if isinstance(elt, ast.Call) and dotted(elt.func) == "torch.stack" and not joined:
        _stack(nest, elt, inner)
        return
    if joined and letters:
        raise Unread
    value = substituted(elt, nest.bound)
    operator = "cat" if joined else "stack"
    nest.steps.append(NestStatement(loaded(MADE), operator, value, listed.elt, inner))


def _appended(text: SyntaxTree, nest: Nest) -> None:
    """Read a list that a loop fills and that is only stacked later."""
    for step in nest.steps:
        if step.operator != "append":
            continue
        if len(nest.steps) > 1 or nest.function is None:
            raise Unread
        name = dotted(step.target)
        uses = [
            node
            for node in ast.walk(nest.function)
            if isinstance(node, ast.Name) and node.id == name
        ]
        inside = set(ast.walk(nest.root))
        before = [use for use in uses if isinstance(use.ctx, ast.Store)]
        after = [u for u in uses if isinstance(u.ctx, ast.Load) and u not in inside]
        if len(before) != 1 or len(after) != 1:
            raise Unread
        first, last = text.above[before[0]], text.above[after[0]]
        empty = isinstance(first, ast.Assign) and ast.unparse(first.value) == "[]"
        if not empty or not _same_rounds(text, first, nest.root):
            raise Unread
        if not isinstance(last, ast.Call) or ast.unparse(last) not in (
            f"torch.stack({name})",
            f"torch.stack({name}, 0)",
            f"torch.stack({name}, dim=0)",
        ):
            raise Unread
        nest.bound[MADE] = last


def _same_rounds(text: SyntaxTree, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether a statement runs every time before another statement does."""
    above = list(text.around(later))
    return (
        earlier.lineno < later.lineno  # type: ignore[attr-defined]
        and text.above[earlier] in above
        and all(
            loop in list(text.around(earlier))
            for loop in above
            if isinstance(loop, LOOPS)
        )
    )


def before(text: SyntaxTree, nest: Nest, name: str) -> ast.expr | None:
    """Return the value assigned to a name right before the loop and
    unused in between.
    """
    if nest.function is None or not isinstance(nest.root, ast.stmt):
        return None
    uses = [
        node
        for node in ast.walk(nest.function)
        if dotted(node) == name
        and hasattr(node, "lineno")
        and node.lineno < nest.root.lineno
    ]
    uses.sort(key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]
    for node in reversed(uses):
        above = text.above[node]
        if isinstance(above, ast.Attribute) and above.attr in ("shape", "size"):
            continue
        if isinstance(above, ast.Assign) and above.targets == [node]:
            return above.value if _same_rounds(text, above, nest.root) else None
        return None
    return None


def fresh(text: SyntaxTree, nest: Nest, name: str) -> str:
    """Return "zeros" or "made" for a tensor created right before the loop, else ""."""
    value = before(text, nest, name)
    if not isinstance(value, ast.Call):
        return ""
    last = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if last in ZEROS:
        return "zeros"
    return "made" if last in FACTORIES else ""
