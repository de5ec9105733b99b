"""Loops that end when a value says so, found in the text of a function.

`while mask.any(): ...` ends on what the read at one place answers. Which reads decide
the end of a loop is found by what they flow into: names assigned from them, names that
are assigned under a condition on them, and so on until nothing is added.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

ENDLESS = frozenset({"count", "cycle", "repeat", "iter"})
"""Functions whose iterators may never end."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Loop = ast.While | ast.For | ast.AsyncFor
TESTED = ast.If | ast.While | ast.Assert | ast.IfExp
Place = tuple[int, int, int, int]
"""Line, column, end line and end column, as `ast` counts them."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What hangs on a read: the end of a loop, or what its function returns.

    `compared` are the other sides of comparisons with it that decide the end.
    """

    endless: bool
    bounded: bool
    returned: bool
    compared: tuple[ast.expr, ...] = ()

    @property
    def ends(self) -> bool:
        """Whether some loop around the read ends by it."""
        return self.endless or self.bounded


NOTHING = Waiting(endless=False, bounded=False, returned=False)


def waiting_at(tree: ast.Module, place: Place) -> Waiting:
    """What hangs on the expression at this place of a file."""
    path = path_to(tree, place)
    cuts = [i for i, node in enumerate(path) if isinstance(node, Function)]
    inside = path[cuts[-1] :] if cuts else path
    read = inside[-1]
    compared: list[ast.expr] = []
    endless = bounded = False
    for number, node in enumerate(inside[:-1]):
        if not isinstance(node, Loop) or not turns_over(node, inside[number + 1]):
            continue
        found = [test for test in exits(node) if Flow(node, read).touches(test)]
        if not found:
            continue
        if isinstance(node, ast.While) or is_endless(node):
            endless = True
        else:
            bounded = True
        flow = Flow(node, read)
        for test in found:
            compared += other_sides(test, flow)
    returned = bool(cuts) and Flow(inside[0], read).leaves()
    return Waiting(endless, bounded, returned, tuple(compared))


def path_to(tree: ast.Module, place: Place) -> list[ast.AST]:
    """The nodes around a place, outermost first; the last is the expression itself.

    Python places the truth that an `if` asks for at its condition or at all of it.
    """
    path: list[ast.AST] = [tree]
    while True:
        for child in ast.iter_child_nodes(path[-1]):
            if contains(child, place):
                path.append(child)
                break
        else:
            last = path[-1]
            return [*path, last.test] if isinstance(last, TESTED) else path
        if place_of(child) == place and isinstance(child, ast.expr):
            return path


def place_of(node: ast.AST) -> Place | None:
    """Where a node stands; some, as operators and arguments, stand nowhere."""
    line = getattr(node, "lineno", None)
    end_line = getattr(node, "end_lineno", None)
    if line is None or end_line is None:
        return None
    return line, node.col_offset, end_line, node.end_col_offset  # type: ignore[attr-defined]


def contains(node: ast.AST, place: Place) -> bool:
    """Whether a place lies within a node."""
    own = place_of(node)
    if own is None:
        return any(contains(child, place) for child in ast.iter_child_nodes(node))
    return own[:2] <= place[:2] and place[2:] <= own[2:]


def turns_over(loop: Loop, part: ast.AST) -> bool:
    """Whether a part of a loop runs in each of its turns."""
    return part in loop.body or (isinstance(loop, ast.While) and part is loop.test)


def is_endless(loop: Loop) -> bool:
    """Whether a `for` may have no end of its own: `for step in count()`."""
    if isinstance(loop, ast.While) or not isinstance(loop.iter, ast.Call):
        return isinstance(loop, ast.While)
    called = loop.iter.func
    name = called.attr if isinstance(called, ast.Attribute) else ""
    return (called.id if isinstance(called, ast.Name) else name) in ENDLESS


def exits(loop: Loop) -> Iterator[ast.expr]:
    """The conditions by which a loop ends."""
    if isinstance(loop, ast.While):
        yield loop.test
    for statement in loop.body:
        yield from exits_in(statement, breaks=True)


def exits_in(node: ast.AST, breaks: bool) -> Iterator[ast.expr]:
    """Conditions under which `return` is met, or a `break` out of the loop meant."""
    if isinstance(node, Function | ast.ClassDef):
        return
    if isinstance(node, ast.If) and leaves_loop(node, breaks):
        yield node.test
    if isinstance(node, Loop):
        breaks = False
    for child in ast.iter_child_nodes(node):
        yield from exits_in(child, breaks)


def leaves_loop(node: ast.AST, breaks: bool) -> bool:
    """Whether a `return` stands below a node, or a `break` of the loop around it."""
    if isinstance(node, ast.Return) or (breaks and isinstance(node, ast.Break)):
        return True
    if isinstance(node, Function | ast.ClassDef):
        return False
    breaks = breaks and not isinstance(node, Loop)
    return any(leaves_loop(child, breaks) for child in ast.iter_child_nodes(node))


class Flow:
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
        """Add what one statement assigns of the value."""
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
                name = dotted(called.value)
                if name:
                    self.names.add(name)

    def add(self, node: ast.AST) -> None:
        """Every name that is assigned in a node."""
        for each in ast.walk(node):
            name = dotted(each)
            if name and not isinstance(getattr(each, "ctx", None), ast.Load):
                self.names.add(name)
            if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
                name = dotted(each.value)
                if name:
                    self.names.add(name)

    def touches(self, node: ast.AST) -> bool:
        """Whether an expression reads the value, or a name that it flowed into."""
        return any(
            id(each) in self.reads or (self.names and dotted(each) in self.names)
            for each in ast.walk(node)
        )

    def leaves(self) -> bool:
        """Whether the value decides what a function returns, yields or keeps."""
        if any("." in name for name in self.names):
            return True
        for node in ast.walk(self.within):
            if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
                if node.value is not None and self.touches(node.value):
                    return True
            elif isinstance(node, ast.If) and leaves_loop(node, breaks=False):
                if self.touches(node.test):
                    return True
            elif isinstance(node, ast.Lambda) and self.touches(node.body):
                return True
        return False


def dotted(node: ast.AST) -> str:
    """`x` or `self.x.y` as text; nothing for what is no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def other_sides(test: ast.expr, flow: Flow) -> list[ast.expr]:
    """What a condition compares the value with."""
    found: list[ast.expr] = []
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(flow.touches(side) for side in sides):
                found += [side for side in sides if not flow.touches(side)]
    return found
