"""What one turn of a loop hands on to the next, as its text says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.source.counting import SCOPES, Loop

ADDING = ("append", "extend", "insert")
"""Methods that make a list longer."""


def carried(loop: Loop) -> list[ast.expr]:
    """Names whose value a turn reads before it sets them: the last turn's value."""
    first: dict[str, bool] = {}
    stored: set[str] = set()
    for name in _in_order(loop.body):
        reads = isinstance(name.ctx, ast.Load)
        first.setdefault(name.id, reads)
        if not reads:
            stored.add(name.id)
    heads = _names(loop.target) if isinstance(loop, ast.For) else set()
    names = [name for name, reads in first.items() if reads and name in stored]
    return [ast.Name(name, ast.Load()) for name in names if name not in heads]


def _in_order(nodes: Sequence[ast.AST]) -> Iterator[ast.Name]:
    """The names of some statements as they are met: values before their targets."""
    for node in nodes:
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, ast.Name):
            yield node
            continue
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign | ast.For | ast.comprehension):
            inner.sort(key=lambda each: _is_target(node, each))
        elif isinstance(node, ast.AugAssign):
            yield from (ast.Name(each, ast.Load()) for each in _names(node.target))
        yield from _in_order(inner)


def _is_target(node: ast.AST, inner: ast.AST) -> int:
    """0 for what is evaluated first, 1 for what is set to it, 2 for a body."""
    if isinstance(node, ast.Assign):
        return int(inner is not node.value)
    if isinstance(node, ast.For):
        return 0 if inner is node.iter else 1 if inner is node.target else 2
    assert isinstance(node, ast.comprehension)
    return int(inner is not node.iter)


def is_uneven(loop: Loop) -> bool:
    """Whether some turns add to a list and others do not: `append` under an `if`."""
    waiting: list[tuple[ast.AST, bool]] = [(each, False) for each in loop.body]
    while waiting:
        node, under = waiting.pop()
        if isinstance(node, SCOPES):
            continue
        called = node.func if isinstance(node, ast.Call) else None
        if under and isinstance(called, ast.Attribute) and called.attr in ADDING:
            return True
        under |= isinstance(node, ast.If | ast.Try | ast.Match)
        waiting += [(each, under) for each in ast.iter_child_nodes(node)]
    return False


def _names(node: ast.AST) -> set[str]:
    """The names in an expression."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
