"""Loops rewritten to report each turn, in scripts and in libraries that train.

``for epoch in range(n):`` becomes ``for epoch in epochs(range(n), ...):``, and
``while not self.done:`` asks ``turns(not self.done)``. Other loops stay as they are.

``for x in loader:`` becomes ``for x in over(loader, ...):``, and ``while c:`` asks
``going(c)``. What a loop counts may be set forward where turns are left out
(``step = on(step, ...)``), and so may be the lists and tensors to which it adds; the
bodies that wait for a count say that they ran.

Places stay those of the text, so spans are as without it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from shapewright.program.loop_counters import (
    ADDING,
    PLAIN,
    Counting,
    find_carried,
    find_counters,
    find_joined,
    is_increment,
    is_uneven,
)
from shapewright.program.syntax_nodes import is_generator, is_made_of, parse_expression
from shapewright.program.training_libraries import get_words

OVER = "_shapewright_over"
WHILE = "_shapewright_while"
COUNTED = "_shapewright_counted"
ON = "_shapewright_on"
MET = "_shapewright_met"
GREW = "_shapewright_grew"
GROWS = "_shapewright_grows"
LONGER = "_shapewright_longer"
COUNTS = "_shapewright_counts"
CARRIES = "_shapewright_carries"


def with_loops_told(tree: ast.Module, file: str) -> ast.Module:
    """Rewrite all loops to report their iterations: `for`, `while`, and `enumerate`.

    The names above must be builtins when it runs.
    """
    return _with_names(tree, file, OVER, WHILE, None)


def _with_names(
    tree: ast.Module,
    file: str,
    over: str,
    going: str,
    is_meant: Callable[[ast.For | ast.While], bool] | None,
) -> ast.Module:
    """Rewrite some loops to report their iterations to functions of these names.

    Without `is_meant`, rewrite all loops and report their counters, too.
    """
    changed: ast.Module = _Teller(file, over, going, is_meant).visit(tree)
    return ast.fix_missing_locations(changed)


Node = TypeVar("Node", bound=ast.AST)


class _Teller(ast.NodeTransformer):
    def __init__(
        self,
        file: str,
        over: str,
        going: str,
        is_meant: Callable[[ast.For | ast.While], bool] | None,
    ) -> None:
        self.file = file
        self.over = over
        self.going = going
        self.is_meant = is_meant
        self.count = 0
        self.waits: set[ast.AST] = set()
        self.placed: set[ast.AST] = set()
        self.within: list[tuple[int, Counting]] = []  # loops, outermost first

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Skip the loops of generators, which continue as long as they are iterated
        over.
        """
        if not is_generator(node):
            outer, self.within = self.within, []
            self.generic_visit(node)
            self.within = outer
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        if self.is_meant is not None and not self.is_meant(node):
            return self.generic_visit(node)
        counts = self.counting(node)
        description = self.told(counts, is_uneven(node))
        self.within.append((node.lineno, counts))
        self.generic_visit(node)
        self.within.pop()
        head = _Counter().visit(node.iter)
        node.iter = self.call(
            self.over, node.iter, [head, *self.place(node), description]
        )
        set_on: list[ast.stmt] = [
            ast.Assign([_copy_node(number, ast.Store())], self.on(node, index, number))
            for index, number in counts.counters()
        ]
        for place, guard in enumerate(counts.guarded, len(counts.numbers)):
            if isinstance(guard.target, ast.Name):
                setting = self.on(node, place, guard.target)
                set_on.append(
                    ast.Assign([_copy_node(guard.target, ast.Store())], setting)
                )
        set_on += self.joined(node, counts)
        node.body[:0] = [self.at(statement, node) for statement in set_on]
        return node

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        if self.is_meant is not None and not self.is_meant(node):
            return self.generic_visit(node)
        counts = self.counting(node)
        description = self.told(counts, is_uneven(node))
        self.within.append((node.lineno, counts))
        self.generic_visit(node)
        self.within.pop()
        self.count += 1
        name = f"{self.going}_{self.count}"
        begun = ast.Assign(
            [ast.Name(name, ast.Store())],
            self.call(self.going, node, [*self.place(node), description]),
        )
        test = node.test
        asked = [self.method(name, "ended")] if any(counts.counters()) else []
        for index, number in counts.counters():
            asked.append(self.kept(number, self.on(node, index, number)))
        for question in asked:
            self.at(question, test)
        node.test = self.call(name, test, [*asked, test])
        node.body[:0] = [
            self.at(statement, node) for statement in self.joined(node, counts)
        ]
        ended = self.at(ast.Expr(self.method(name, "end")), node)
        whole = ast.copy_location(ast.Try([node], [], [], [ended]), node)
        return [ast.copy_location(begun, node), whole]

    def visit_If(self, node: ast.If) -> ast.AST:
        waits = node in self.waits
        self.generic_visit(node)
        if waits:
            met = ast.Call(ast.Name(MET, ast.Load()), self.place(node), [])
            node.body.insert(0, self.at(ast.Expr(met), node.body[0]))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite `found.append(x)` to report the list."""
        self.generic_visit(node)
        called = node.func
        if self.is_meant is not None or not isinstance(called, ast.Attribute):
            return node
        if called.attr in ADDING and _is_plain(called.value):
            grown: list[ast.expr] = [called.value]
            if [ast.unparse(argument) for argument in node.args] == ["None"]:
                grown.append(ast.Constant(True))  # a place that is filled later
            called.value = self.call(GREW, called.value, grown)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.AST]:
        """Rewrite `n += 1`, a count, and `found += x`, which may extend a list."""
        self.generic_visit(node)
        if self.is_meant is None and is_increment(node):
            report = self.counts(node.target)
            if report is not None:
                return [self.at(ast.Expr(report), node.target), node]
        named = isinstance(node.target, ast.Name | ast.Attribute)
        adds = isinstance(node.op, ast.Add) and not isinstance(node.value, ast.Constant)
        if self.is_meant is not None or not (named and adds and _is_plain(node.target)):
            return node
        grew = ast.Call(ast.Name(GREW, ast.Load()), [_copy_node(node.target)], [])
        return [self.at(ast.Expr(grew), node.target), node]

    def counts(self, target: ast.expr) -> ast.expr | None:
        """Return a call that reports a count and the loops around it that set it
        forward, or None.
        """
        text = ast.unparse(target)
        guards: list[ast.expr] = []
        for line, loop_counts in self.within:
            marks: dict[str, int | None] = {}
            marks.update(
                (ast.unparse(counter), None) for _, counter in loop_counts.counters()
            )
            for place, guard in enumerate(
                loop_counts.guarded, len(loop_counts.numbers)
            ):
                marks[ast.unparse(guard.target)] = place
            if text in marks:
                pair: list[ast.expr] = [ast.Constant(line), ast.Constant(marks[text])]
                guards.append(ast.Tuple(pair, ast.Load()))
        key: object
        if isinstance(target, ast.Attribute):
            owner, key = target.value, target.attr
        elif isinstance(target, ast.Subscript) and isinstance(
            target.slice, ast.Constant
        ):
            owner, key = target.value, target.slice.value
        else:
            return None
        item = isinstance(target, ast.Subscript)
        words = [ast.Constant(detail) for detail in (key, item, self.file)]
        args = [_copy_node(owner), *words, ast.Tuple(guards, ast.Load())]
        return ast.Call(ast.Name(COUNTS, ast.Load()), args, [])

    def joined(self, node: ast.For | ast.While, counts: Counting) -> list[ast.stmt]:
        """Return statements that extend what each iteration joins to or passes on to
        the next one.
        """
        if self.is_meant is not None:
            return []
        extensions: list[ast.stmt] = []
        counted = {ast.unparse(number) for number, _ in counts.numbers}
        counted |= {ast.unparse(guard.target) for guard in counts.guarded}
        values = find_joined(node)
        known = counted | {ast.unparse(value) for value in values}
        values += [
            value for value in find_carried(node) if ast.unparse(value) not in known
        ]
        for index, value in enumerate(values):
            where = [*self.place(node), ast.Constant(index)]
            nothing = ast.arguments([], [], None, [], [], None, [])
            asked = ast.Lambda(nothing, _copy_node(value))
            grows = ast.Call(ast.Name(GROWS, ast.Load()), [*where, asked], [])
            again = [*self.place(node), ast.Constant(index), _copy_node(value)]
            longer = ast.Call(ast.Name(LONGER, ast.Load()), again, [])
            kept = ast.Assign([_copy_node(value, ast.Store())], longer)
            extensions.append(ast.If(grows, [kept], []))
        carries = ast.Call(ast.Name(CARRIES, ast.Load()), self.place(node), [])
        return [ast.If(carries, extensions, [])] if extensions else []

    def place(self, node: ast.stmt) -> list[ast.expr]:
        """Return the file and the line of a node as arguments."""
        return [ast.Constant(self.file), ast.Constant(node.lineno)]

    def call(self, name: str, at: ast.AST, args: list[ast.expr]) -> ast.expr:
        """Return a call of one of our functions, at the place of the node that it
        replaces.
        """
        call = ast.Call(ast.Name(name, ast.Load()), args, [])
        for part in (call, call.func, *args):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, at)
        return call

    def method(self, name: str, method: str) -> ast.expr:
        """Return a method call without arguments on a loop's own object."""
        attribute = ast.Attribute(ast.Name(name, ast.Load()), method, ast.Load())
        return ast.Call(attribute, [], [])

    def on(self, loop: ast.For | ast.While, index: int, number: ast.expr) -> ast.expr:
        """Return an expression for the value of a count, including the iterations left
        out.
        """
        read = _copy_node(number)
        for part in ast.walk(read):  # where Python says that it is not set
            self.placed.add(ast.copy_location(part, number))
        args = [*self.place(loop), ast.Constant(index), read]
        return ast.Call(ast.Name(ON, ast.Load()), args, [])

    def kept(self, number: ast.expr, value: ast.expr) -> ast.expr:
        """Return an expression that sets a name or an attribute to a value."""
        if isinstance(number, ast.Name):
            return ast.NamedExpr(ast.Name(number.id, ast.Store()), value)
        assert isinstance(number, ast.Attribute)
        args = [_copy_node(number.value), ast.Constant(number.attr), value]
        return ast.Call(ast.Name("setattr", ast.Load()), args, [])

    def at(self, node: Node, place: ast.AST) -> Node:
        """Move a node and all its children to the place of another, but those that
        have their own.
        """
        for child in ast.walk(node):
            if child not in self.placed:
                ast.copy_location(child, place)
        return node

    def counting(self, node: ast.For | ast.While) -> Counting:
        """Return what a loop of the program counts; nothing for a loop of a library."""
        if self.is_meant is not None:
            return Counting()
        counters = find_counters(node)
        self.waits.update(
            condition.node for condition in counters.conditions if condition.node
        )
        return counters

    def told(self, counts: Counting, uneven: bool) -> ast.expr:
        """Return the tuple `(((lambda: n, is_head), ...), ((lambda: x, ...), ...),
        (...), uneven)`.
        """
        nothing = ast.arguments([], [], None, [], [], None, [])
        numbers: list[ast.expr] = [
            ast.Tuple(
                [ast.Lambda(nothing, _copy_node(number)), ast.Constant(is_head)],
                ast.Load(),
            )
            for number, is_head in counts.numbers
        ]
        conditions: list[ast.expr] = []
        for condition in counts.conditions:
            details = [
                condition.number, condition.divides, condition.node is not None,
                condition.line, condition.test,
            ]  # fmt: skip
            value = ast.Lambda(nothing, _copy_node(condition.value))
            words = [ast.Constant(detail) for detail in details]
            conditions.append(ast.Tuple([value, *words], ast.Load()))
        guards: list[ast.expr] = []
        for guard in counts.guarded:
            parameters = ast.arguments(
                [], [ast.arg(guard.name)], None, [], [], None, []
            )
            test = ast.Lambda(parameters, _copy_node(guard.test))
            guards.append(ast.Tuple([ast.Constant(guard.number), test], ast.Load()))
        parts = (numbers, conditions, guards)
        tuples: list[ast.expr] = [ast.Tuple(elements, ast.Load()) for elements in parts]
        return ast.Tuple([*tuples, ast.Constant(uneven)], ast.Load())


class _Counter(ast.NodeTransformer):
    """`enumerate(x)` in the head of a loop becomes `counted(enumerate, x)`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "enumerate":
            name = ast.copy_location(ast.Name(COUNTED, ast.Load()), node.func)
            return ast.copy_location(
                ast.Call(name, [node.func, *node.args], node.keywords), node
            )
        return node


def _is_plain(node: ast.AST) -> bool:
    return is_made_of(node, (*PLAIN, ast.Store))


def _copy_node(node: ast.expr, context: ast.expr_context | None = None) -> ast.expr:
    expression = parse_expression(ast.unparse(node))
    if context is not None:
        vars(expression)["ctx"] = context
    return expression


EPOCHS = "_shapewright_epochs"
TURNS = "_shapewright_turns"

WHILE_STATEMENT = re.compile(rb"^[ \t]+while (?!True\b|1\b)", re.M)


def has_training_loops(text: bytes, file: str) -> bool:
    """Return whether a library's file may have a loop over epochs."""
    words = [word.encode() for word in get_words(file) if word.encode() in text]
    if not words:
        return False
    heads = (rb"^[ \t]+for\b[^\n]*" + re.escape(word) for word in words)
    return any(re.search(head, text, re.M) for head in heads) or (
        b"loader" in text and bool(WHILE_STATEMENT.search(text))
    )


def with_epochs_told(tree: ast.Module, file: str) -> ast.Module:
    """Rewrite the loops that may run over epochs to report their iterations.

    The names `EPOCHS` and `TURNS` must be builtins when it runs.
    """
    is_meant = partial(_can_run_over, get_words(file))
    return _with_names(tree, file, EPOCHS, TURNS, is_meant)


def _can_run_over(words: tuple[str, ...], node: ast.For | ast.While) -> bool:
    """Return whether a loop may run over epochs, judging by its head."""
    if isinstance(node, ast.While):
        return not isinstance(node.test, ast.Constant)
    head = ast.unparse(node.target) + ast.unparse(node.iter)
    return any(word in head for word in words)
