"""The context of a loop: the program's text, tensors created before it, and the
recorded values of its names and letters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from shapewright.analysis.python_loops.loop_nests import (
    Nest,
    NestStatement,
    Unread,
    has_later_uses,
    is_independent,
    read_comprehension,
    read_for,
    substitute_names,
)
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    LOOPS,
    SCOPES,
    build_name,
    get_dotted_name,
)
from shapewright.record.ops import Fact, Op


@dataclass(slots=True)
class Recorded:
    """The ops of a file by the expression that made them, and the values they reveal.

    `facts` are the tensors by their names in the text, `numbers` plain numbers,
    `indices` numbers that stand in brackets, `seen` the values that letters took there.
    """

    text: SourceText
    ops: Mapping[Span, list[Op]]
    facts: dict[str, Fact] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)

    def at(self, node: ast.AST) -> list[Op]:
        """Return the ops that this very expression called."""
        if not isinstance(node, ast.expr | ast.stmt) or not hasattr(node, "lineno"):
            return []  # of a statement that was made up
        return self.ops.get(self.text.span(node), [])

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
        """Record a function's arguments, the object of a method call, or the tensor
        iterated over.
        """
        unbound = [op for op in ops if op.name.endswith("unbind")]
        name = get_dotted_name(node.func)
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
            index = dict(op.arguments).get("1")
            places = index if isinstance(index, tuple) else (index,)
            if len(places) != len(items):
                continue
            for item, place in zip(items, places, strict=True):
                name = get_dotted_name(item)
                if type(place) is not int or not name:
                    continue
                if name in names:
                    self.seen.setdefault(name, set()).add(place)
                else:
                    self.indices.setdefault(name, place)

    def operands(self, nodes: list[ast.expr], op: Op, names: set[str]) -> None:
        """Match expressions with the tensors and numbers of a call, in order."""
        may = [node for node in nodes if not self.plain(node, names)]
        if len(may) == len(op.inputs):
            for node, fact in zip(may, op.inputs, strict=True):
                self.tell(node, fact)
            return
        sure = [node for node in may if get_dotted_name(node) in ("", *self.facts)]
        if len(sure) == len(op.inputs):
            values = [value for _, value in op.arguments]
            rest = [node for node in may if node not in sure]
            if len(values) == len(rest):
                for node, value in zip(rest, values, strict=True):
                    self.numbers.setdefault(get_dotted_name(node), value)

    def plain(self, node: ast.expr, names: set[str]) -> bool:
        """Return whether a node is certainly not a tensor."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.UnaryOp):
            return self.plain(node.operand, names)
        return get_dotted_name(node) in names or get_dotted_name(node) in self.numbers

    def tell(self, node: ast.AST, fact: Fact) -> None:
        """Record the tensor of an expression."""
        name = get_dotted_name(node)
        if name:
            self.facts.setdefault(name, fact)


MADE = "(made)"
"""The name under which an expression that stands for a loop is compared."""

ZEROS = frozenset(name for name, n in values_of("fills_with").items() if n == 0)
FACTORIES = operators_with("preallocates")
STACKS = frozenset({"torch.stack", "torch.cat"})


def _find_function(text: SourceText, node: ast.AST) -> ast.AST | None:
    """Return the function that contains a node, or the whole file."""
    return text.around(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


def _find_loops_around(text: SourceText, node: ast.AST) -> list[ast.AST]:
    """Return the nodes around a node in the same function, the innermost first."""
    above = text.outwards(node)
    return list(takewhile(lambda parent: not isinstance(parent, SCOPES), above))


def iter_nests_around(text: SourceText, node: ast.AST) -> Iterator[Nest]:
    """Yield every fully readable loop around an expression, the outermost loop
    first.
    """
    for outer in reversed(_find_loops_around(text, node)):
        try:
            if isinstance(outer, ast.For):
                nest = Nest(outer, function=_find_function(text, outer))
                read_for(nest, outer, ())
                _read_appended_list(text, nest)
            elif isinstance(outer, ast.Call) and get_dotted_name(outer.func) in STACKS:
                nest = Nest(outer, function=_find_function(text, outer))
                _read_stack(nest, outer, ())
            else:
                continue
        except Unread:
            continue
        assigned = set(nest.bound) | {loop.letter for loop in nest.loops}
        if is_independent(nest) and not has_later_uses(nest, assigned):
            yield nest


def _read_stack(nest: Nest, call: ast.Call, letters: tuple[str, ...]) -> None:
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
    joined = get_dotted_name(call.func) == "torch.cat"
    inside = isinstance(elt, ast.Call) and get_dotted_name(elt.func) == "torch.stack"
    if isinstance(elt, ast.Call) and inside and not joined:
        _read_stack(nest, elt, inner)
        return
    if joined and letters:
        raise Unread
    value = substitute_names(elt, nest.bound)
    operator = "cat" if joined else "stack"
    nest.steps.append(
        NestStatement(build_name(MADE), operator, value, listed.elt, inner)
    )


def _read_appended_list(text: SourceText, nest: Nest) -> None:
    """Read a list that a loop fills and that is stacked only later."""
    for step in nest.steps:
        if step.operator != "append":
            continue
        if len(nest.steps) > 1 or nest.function is None:
            raise Unread
        name = get_dotted_name(step.target)
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
        first, last = text.parent(before[0]), text.parent(after[0])
        if not isinstance(first, ast.Assign) or ast.unparse(first.value) != "[]":
            raise Unread
        if not _has_same_rounds(text, first, nest.root):
            raise Unread
        if not isinstance(last, ast.Call) or ast.unparse(last) not in (
            f"torch.stack({name})",
            f"torch.stack({name}, 0)",
            f"torch.stack({name}, dim=0)",
        ):
            raise Unread
        nest.bound[MADE] = last


def _has_same_rounds(text: SourceText, earlier: ast.stmt, later: ast.AST) -> bool:
    """Return whether a statement runs every time before another statement runs."""
    above = list(text.outwards(later))
    return (
        earlier.lineno < later.lineno  # type: ignore[attr-defined]
        and text.parent(earlier) in above
        and all(
            loop in list(text.outwards(earlier))
            for loop in above
            if isinstance(loop, LOOPS)
        )
    )


def find_value_before(text: SourceText, nest: Nest, name: str) -> ast.expr | None:
    """Return the value assigned to a name before the loop, if the name is not used in
    between.
    """
    if nest.function is None or not isinstance(nest.root, ast.stmt):
        return None
    uses = [
        node
        for node in ast.walk(nest.function)
        if get_dotted_name(node) == name
        and hasattr(node, "lineno")
        and node.lineno < nest.root.lineno
    ]
    uses.sort(key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]
    for node in reversed(uses):
        above = text.parent(node)
        if isinstance(above, ast.Attribute) and above.attr in ("shape", "size"):
            continue
        if isinstance(above, ast.Assign) and above.targets == [node]:
            return above.value if _has_same_rounds(text, above, nest.root) else None
        return None
    return None


def find_fresh_kind(text: SourceText, nest: Nest, name: str) -> str:
    """Return "zeros" or "made" for a tensor created right before the loop, else an
    empty string.
    """
    value = find_value_before(text, nest, name)
    if not isinstance(value, ast.Call):
        return ""
    last = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if last in ZEROS:
        return "zeros"
    return "made" if last in FACTORIES else ""
