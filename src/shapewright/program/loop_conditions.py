"""Conditions in loops: those that end a loop, and those true every few steps.

`while mask.any(): ...` ends on what the read at one place answers. Which reads decide
the end of a loop is found by what they flow into: names assigned from them, names that
are assigned under a condition on them, and so on until nothing is added.

``step % 500`` becomes ``due(step, 500, ...)`` where it is compared with zero. In files
of libraries, ``if every > self.max_batches: raise`` asks ``exceeds(every, ...)``,
because a library is told of loaders that are shorter than they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.program.loop_counters import iter_atoms, list_counters
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_dotted_name,
)

DUE = "_shapewright_due"
EXCEEDS = "_shapewright_exceeds"

COUNTER = re.compile(r"step|epoch|batch|idx|index|iter|event|count", re.I)
SETTING = re.compile(r"every|interval|freq|eval|save|saving|log|check|print|val_", re.I)
OTHERS = re.compile(r"accum", re.I)
LENGTH = re.compile(r"batches|length", re.I)
HEAD = re.compile(rb"\w\)? % [\w.]*(?:every|interval|freq|eval|save|logging|check)")

TRAINS = frozenset({"backward", "step", "zero_grad"})
"""Calls of a training step, for which an extra turn would be wrong."""
WHOLE = frozenset({"step", "zero_grad"})
"""Calls that use and clear gradients; an extra turn with both is harmless."""


def has_counters(text: bytes) -> bool:
    """Return whether a library's file may have conditions on its counters."""
    return bool(HEAD.search(text)) or b"_interval > " in text or b"_batch > " in text


def with_periods_told(tree: ast.Module, file: str) -> ast.Module:
    """Rewrite a program's tree to report conditions on its own counters."""
    changed: ast.Module = _Teller(False).visit(tree)
    return ast.fix_missing_locations(changed)


def with_settings_told(tree: ast.Module, file: str) -> ast.Module:
    """Rewrite a library's tree to report conditions on settings of the user."""
    changed: ast.Module = _Teller(True).visit(tree)
    return ast.fix_missing_locations(changed)


class _Teller(ast.NodeTransformer):
    def __init__(self, library: bool) -> None:
        self.library = library
        self.heads: set[str] = set()  # what loops around give their turns
        self.count = 0

    def visit_For(self, node: ast.For) -> ast.AST:
        return self.within(node, collect_names(node.target))

    def visit_While(self, node: ast.While) -> ast.AST:
        return self.within(node, set())

    def within(self, node: ast.For | ast.While, heads: set[str]) -> ast.AST:
        """Skip conditions on a loop's own counters, which are set forward anyway."""
        before = self.heads
        self.heads = before | heads | list_counters(node).keys()
        self.generic_visit(node)
        self.heads = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self.heads = self.heads, set()
        self.generic_visit(node)
        self.heads = before
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if self.library or not _is_training_part(node):
            node.test = self.told(node.test)
        if self.library and len(node.body) == 1 and isinstance(node.body[0], ast.Raise):
            node.test = _Bounds().visit(node.test)
        node.body = [self.visit(statement) for statement in node.body]
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Rewrite a library's `due = step % every == 0` outside of an `if`."""
        self.generic_visit(node)
        return self.compared(node) if self.library else node

    def told(self, test: ast.expr) -> ast.expr:
        """Rewrite a condition to report its tests of counters."""
        if isinstance(test, ast.BoolOp):
            test.values = [self.told(value) for value in test.values]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.told(test.operand)
        elif isinstance(test, ast.BinOp):
            return self.due(test)
        elif isinstance(test, ast.Compare):
            return self.compared(test)
        return test

    def compared(self, test: ast.Compare) -> ast.Compare:
        """Rewrite `step % n == 0` and `step % n != 0`."""
        zero = test.comparators[0]
        equal = isinstance(test.ops[0], ast.Eq | ast.NotEq)
        if equal and isinstance(zero, ast.Constant) and zero.value == 0:
            test.left = self.due(test.left)
        return test

    def due(self, node: ast.expr) -> ast.expr:
        """Rewrite `step % n`; in libraries, only a counter by a setting."""
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mod):
            return node
        count, period = ast.unparse(node.left), ast.unparse(node.right)
        if isinstance(node.left, ast.Constant):
            return node
        if self.library:
            counted = COUNTER.search(count) and not SETTING.search(count)
            others = OTHERS.search(count + period)
            if not (counted and SETTING.search(period)) or others:
                return node
        elif {ast.unparse(atom) for atom in iter_atoms(node.left)} & self.heads:
            return node
        self.count += 1
        details = (f"{count} % {period}", self.count, self.library)
        words = [ast.Constant(detail) for detail in details]
        name = ast.Name(DUE, ast.Load())
        call = ast.Call(name, [node.left, node.right, *words], [])
        return ast.copy_location(call, node)


class _Bounds(ast.NodeTransformer):
    """Rewrites `setting > length` to compare with the loader's real length."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        right = node.comparators[0]
        above = len(node.ops) == 1 and isinstance(node.ops[0], ast.Gt)
        if not above or not LENGTH.search(ast.unparse(right)):
            return node
        name = ast.Name(EXCEEDS, ast.Load())
        return ast.copy_location(ast.Call(name, [node.left, right], []), node)


def _is_training_part(node: ast.If) -> bool:
    """Return whether the body of a condition is only part of a training step."""
    methods = {
        child.attr
        for part in (*node.body, *node.orelse)
        for child in ast.walk(part)
        if isinstance(child, ast.Attribute) and child.attr in TRAINS
    }
    return bool(methods) and methods != WHOLE


ENDLESS = frozenset({"count", "cycle", "repeat", "iter"})
"""Functions whose iterators may never end."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Loop = ast.While | ast.For | ast.AsyncFor
TESTED = ast.If | ast.While | ast.Assert | ast.IfExp
Place = tuple[int, int, int, int]
"""Line, column, end line and end column, as `ast` counts them."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The effect of a read: the end of a loop, or the result of its function.

    `compared` are the other sides of comparisons with it that decide the end.
    """

    endless: bool
    bounded: bool
    returned: bool
    compared: tuple[ast.expr, ...] = ()

    @property
    def ends(self) -> bool:
        """Return whether the read decides the end of a loop around it."""
        return self.endless or self.bounded


NOTHING = Waiting(endless=False, bounded=False, returned=False)


def find_waiting_at(tree: ast.Module, place: Place) -> Waiting:
    """Return what depends on the expression at this place in a file."""
    path = find_path(tree, place)
    cuts = [i for i, node in enumerate(path) if isinstance(node, Function)]
    inside = path[cuts[-1] :] if cuts else path
    read = inside[-1]
    compared: list[ast.expr] = []
    endless = bounded = False
    for number, node in enumerate(inside[:-1]):
        if not isinstance(node, Loop) or not _is_in_each_turn(node, inside[number + 1]):
            continue
        exits = [
            test for test in _iter_exits(node) if NameFlow(node, read).touches(test)
        ]
        if not exits:
            continue
        if isinstance(node, ast.While) or _is_endless(node):
            endless = True
        else:
            bounded = True
        flow = NameFlow(node, read)
        for test in exits:
            compared += _list_other_sides(test, flow)
    returned = bool(cuts) and NameFlow(inside[0], read).leaves()
    return Waiting(endless, bounded, returned, tuple(compared))


def find_path(tree: ast.Module, place: Place) -> list[ast.AST]:
    """Return the nodes around a place, outermost first, then the expression itself.

    Python places the truth that an `if` asks for at its condition or at all of it.
    """
    path: list[ast.AST] = [tree]
    while True:
        for child in ast.iter_child_nodes(path[-1]):
            if _has_place(child, place):
                path.append(child)
                break
        else:
            last = path[-1]
            return [*path, last.test] if isinstance(last, TESTED) else path
        if _get_place(child) == place and isinstance(child, ast.expr):
            return path


def _get_place(node: ast.AST) -> Place | None:
    """Return the place of a node, or None for nodes without a place, such as
    operators.
    """
    line = getattr(node, "lineno", None)
    end_line = getattr(node, "end_lineno", None)
    if line is None or end_line is None:
        return None
    return line, node.col_offset, end_line, node.end_col_offset  # type: ignore[attr-defined]


def _has_place(node: ast.AST, place: Place) -> bool:
    """Return whether a place is within a node."""
    own = _get_place(node)
    if own is None:
        return any(_has_place(child, place) for child in ast.iter_child_nodes(node))
    return own[:2] <= place[:2] and place[2:] <= own[2:]


def _is_in_each_turn(loop: Loop, part: ast.AST) -> bool:
    """Return whether a part of a loop runs in each iteration."""
    return part in loop.body or (isinstance(loop, ast.While) and part is loop.test)


def _is_endless(loop: Loop) -> bool:
    """Return whether a `for` loop may be endless: `for step in count()`."""
    if isinstance(loop, ast.While) or not isinstance(loop.iter, ast.Call):
        return isinstance(loop, ast.While)
    return get_called_name(loop.iter) in ENDLESS


def _iter_exits(loop: Loop) -> Iterator[ast.expr]:
    """Yield the conditions that end a loop."""
    if isinstance(loop, ast.While):
        yield loop.test
    for statement in loop.body:
        yield from _iter_exits_in(statement, breaks=True)


def _iter_exits_in(node: ast.AST, breaks: bool) -> Iterator[ast.expr]:
    """Yield the conditions of a `return`, or of a `break` out of the loop."""
    if isinstance(node, Function | ast.ClassDef):
        return
    if isinstance(node, ast.If) and _has_exit(node, breaks):
        yield node.test
    if isinstance(node, Loop):
        breaks = False
    for child in ast.iter_child_nodes(node):
        yield from _iter_exits_in(child, breaks)


def _has_exit(node: ast.AST, breaks: bool) -> bool:
    """Return whether a node contains a `return`, or a `break` out of the loop around
    the node.
    """
    if isinstance(node, ast.Return) or (breaks and isinstance(node, ast.Break)):
        return True
    if isinstance(node, Function | ast.ClassDef):
        return False
    breaks = breaks and not isinstance(node, Loop)
    return any(_has_exit(child, breaks) for child in ast.iter_child_nodes(node))


class NameFlow:
    """The names that values flow into, within one loop or function."""

    def __init__(
        self, within: ast.AST, *reads: ast.AST, names: set[str] | None = None
    ) -> None:
        self.within = within
        self.reads = {id(read) for read in reads}
        self.names: set[str] = set(names or ())
        before = -1
        while before != len(self.names):
            before = len(self.names)
            for node in ast.walk(within):
                self.follow(node)

    def follow(self, node: ast.AST) -> None:
        """Add the names to which a statement assigns the value."""
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            if node.value is not None and self.touches(node.value):
                self.add(node)
        elif isinstance(node, ast.For | ast.AsyncFor):
            if node is not self.within and self.touches(node.iter):
                self.add(node.target)
        elif isinstance(node, ast.If | ast.While):
            if node is not self.within and self.touches(node.test):
                for statement in (*node.body, *node.orelse):
                    self.add(statement)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func  # `done.append(x.item())`
            if isinstance(called, ast.Attribute) and self.touches(node.value):
                name = get_dotted_name(called.value)
                if name:
                    self.names.add(name)

    def add(self, node: ast.AST) -> None:
        """Add every name that is assigned in a node."""
        for child in ast.walk(node):
            name = get_dotted_name(child)
            if name and not isinstance(getattr(child, "ctx", None), ast.Load):
                self.names.add(name)
            if isinstance(child, ast.Subscript) and isinstance(child.ctx, ast.Store):
                name = get_dotted_name(child.value)
                if name:
                    self.names.add(name)

    def touches(self, node: ast.AST) -> bool:
        """Return whether an expression reads the value, or a name that the value flowed
        into.
        """
        return any(
            id(child) in self.reads
            or (self.names and get_dotted_name(child) in self.names)
            for child in ast.walk(node)
        )

    def leaves(self) -> bool:
        """Return whether the value decides what a function returns, yields or keeps."""
        if any("." in name for name in self.names):
            return True
        for node in ast.walk(self.within):
            if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
                if node.value is not None and self.touches(node.value):
                    return True
            elif isinstance(node, ast.If) and _has_exit(node, breaks=False):
                if self.touches(node.test):
                    return True
            elif isinstance(node, ast.Lambda) and self.touches(node.body):
                return True
        return False


def _list_other_sides(test: ast.expr, flow: NameFlow) -> list[ast.expr]:
    """Return the expressions with which a condition compares the value."""
    other_sides: list[ast.expr] = []
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(flow.touches(side) for side in sides):
                other_sides += [side for side in sides if not flow.touches(side)]
    return other_sides
