"""Conditions that a long run comes to: ``if step % 500 == 0:`` tells of itself.

``step % 500`` becomes ``due(step, 500, ...)`` where it is compared with zero. In files
of libraries, ``if every > self.max_batches: raise`` asks ``exceeds(every, ...)``,
because a library is told of loaders that are shorter than they are.
"""

from __future__ import annotations

import ast
import re

from shapewright.source.counting import atoms, counters

DUE = "_shapewright_due"
EXCEEDS = "_shapewright_exceeds"

COUNTER = re.compile(r"step|epoch|batch|idx|index|iter|event|count", re.I)
SETTING = re.compile(r"every|interval|freq|eval|save|saving|log|check|print|val_", re.I)
OTHERS = re.compile(r"accum", re.I)
LENGTH = re.compile(r"batches|length", re.I)
HEAD = re.compile(rb"\w\)? % [\w.]*(?:every|interval|freq|eval|save|logging|check)")

TRAINS = frozenset({"backward", "step", "zero_grad"})
"""Calls of a training step: a turn more for some of them would be a mistake."""
WHOLE = frozenset({"step", "zero_grad"})
"""What uses gradients and clears them: a turn more for both is none."""


def counts(text: bytes) -> bool:
    """Whether a library's file may have conditions on what it counts."""
    return bool(HEAD.search(text)) or b"_interval > " in text or b"_batch > " in text


def with_periods_told(tree: ast.Module, file: str) -> ast.Module:
    """A program's tree with conditions on its own counters told of."""
    changed: ast.Module = _Teller(False).visit(tree)
    return ast.fix_missing_locations(changed)


def with_settings_told(tree: ast.Module, file: str) -> ast.Module:
    """A library's tree with those told of that are on what a user sets."""
    changed: ast.Module = _Teller(True).visit(tree)
    return ast.fix_missing_locations(changed)


class _Teller(ast.NodeTransformer):
    def __init__(self, library: bool) -> None:
        self.library = library
        self.heads: set[str] = set()  # what loops around give their turns
        self.count = 0

    def visit_For(self, node: ast.For) -> ast.AST:
        return self.within(node, _names(node.target))

    def visit_While(self, node: ast.While) -> ast.AST:
        return self.within(node, set())

    def within(self, node: ast.For | ast.While, heads: set[str]) -> ast.AST:
        """A loop's own counts are set forward: its conditions need nobody to tell."""
        before = self.heads
        self.heads = before | heads | counters(node).keys()
        self.generic_visit(node)
        self.heads = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self.heads = self.heads, set()
        self.generic_visit(node)
        self.heads = before
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if self.library or not _trains(node):
            node.test = self.told(node.test)
        if self.library and len(node.body) == 1 and isinstance(node.body[0], ast.Raise):
            node.test = _Bounds().visit(node.test)
        node.body = [self.visit(each) for each in node.body]
        node.orelse = [self.visit(each) for each in node.orelse]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`due = step % every == 0` outside of an `if`: a library's."""
        self.generic_visit(node)
        return self.compared(node) if self.library else node

    def told(self, test: ast.expr) -> ast.expr:
        """A condition with what it asks of counters told of."""
        if isinstance(test, ast.BoolOp):
            test.values = [self.told(each) for each in test.values]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.told(test.operand)
        elif isinstance(test, ast.BinOp):
            return self.due(test)
        elif isinstance(test, ast.Compare):
            return self.compared(test)
        return test

    def compared(self, test: ast.Compare) -> ast.Compare:
        """`step % n == 0`, `step % n != 0`."""
        zero = test.comparators[0]
        equal = isinstance(test.ops[0], ast.Eq | ast.NotEq)
        if equal and isinstance(zero, ast.Constant) and zero.value == 0:
            test.left = self.due(test.left)
        return test

    def due(self, node: ast.expr) -> ast.expr:
        """`step % n`, told of where `step` counts and `n` is set."""
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
        elif {ast.unparse(each) for each in atoms(node.left)} & self.heads:
            return node
        self.count += 1
        told = (f"{count} % {period}", self.count, self.library)
        words = [ast.Constant(each) for each in told]
        name = ast.Name(DUE, ast.Load())
        made = ast.Call(name, [node.left, node.right, *words], [])
        return ast.copy_location(made, node)


class _Bounds(ast.NodeTransformer):
    """`setting > length` asks with the length that the loader has."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        right = node.comparators[0]
        above = len(node.ops) == 1 and isinstance(node.ops[0], ast.Gt)
        if not above or not LENGTH.search(ast.unparse(right)):
            return node
        name = ast.Name(EXCEEDS, ast.Load())
        return ast.copy_location(ast.Call(name, [node.left, right], []), node)


def _trains(node: ast.If) -> bool:
    """Whether what stands under a condition is a part of training a step alone."""
    found = {
        each.attr
        for part in (*node.body, *node.orelse)
        for each in ast.walk(part)
        if isinstance(each, ast.Attribute) and each.attr in TRAINS
    }
    return bool(found) and found != WHOLE


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
