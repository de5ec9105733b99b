"""The text around a loop: where it stands, and what was made before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from shapewright.reasoning.loops.nest import (
    Nest,
    Step,
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
from shapewright.reasoning.loops.recorded import Place, place_of

MADE = "(made)"
"""The name under which an expression that stands for a loop is compared."""

ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})
FACTORIES = ZEROS | frozenset(
    """
    empty empty_like new_empty ones ones_like new_ones full full_like new_full rand
    randn rand_like randn_like
""".split()
)
STACKS = frozenset({"torch.stack", "torch.cat"})
LOOPS = (ast.For, ast.While, ast.AsyncFor)


@dataclass(frozen=True, slots=True)
class Text:
    """A file's syntax tree, with each node's parent."""

    text: str
    tree: ast.AST
    above: dict[ast.AST, ast.AST]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that it stands in, the innermost first."""
        while node in self.above:
            node = self.above[node]
            yield node

    def function(self, node: ast.AST) -> ast.AST:
        """The function that it stands in, or the whole file."""
        for outer in self.around(node):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                return outer
        return self.tree


@lru_cache(maxsize=8)
def parsed(text: str) -> Text | None:
    """The tree of a program; None where it is no Python of this version."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Text(text, tree, parents(tree))


def node_at(text: Text, place: Place) -> ast.AST | None:
    """The outermost expression at exactly this place."""
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


def nests_around(text: Text, node: ast.AST) -> Iterator[Nest]:
    """The loops around an expression that are read as a whole, the outermost first."""
    for outer in reversed(list(loops_around(node, text.above))):
        try:
            if isinstance(outer, ast.For):
                nest = Nest(outer, function=text.function(outer))
                read_for(nest, outer, ())
                appended(text, nest)
            elif isinstance(outer, ast.Call) and dotted(outer.func) in STACKS:
                nest = Nest(outer, function=text.function(outer))
                stack(nest, outer, ())
            else:
                continue
        except Unread:
            continue
        assigned = set(nest.bound) | {loop.letter for loop in nest.loops}
        if independent(nest) and not used_outside(nest, assigned):
            yield nest


def stack(nest: Nest, call: ast.Call, letters: tuple[str, ...]) -> None:
    """`torch.stack([... for i in range(n)])`, also one in the other."""
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
        stack(nest, elt, inner)
        return
    if joined and letters:
        raise Unread
    value = substituted(elt, nest.bound)
    operator = "cat" if joined else "stack"
    nest.steps.append(Step(loaded(MADE), operator, value, listed.elt, inner))


def appended(text: Text, nest: Nest) -> None:
    """A list that a loop fills: it is stacked later, and used for nothing else."""
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
        if not empty or not same_rounds(text, first, nest.root):
            raise Unread
        if not isinstance(last, ast.Call) or ast.unparse(last) not in (
            f"torch.stack({name})",
            f"torch.stack({name}, 0)",
            f"torch.stack({name}, dim=0)",
        ):
            raise Unread
        nest.bound[MADE] = last


def same_rounds(text: Text, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether a statement runs each time before another does."""
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


def before(text: Text, nest: Nest, name: str) -> ast.expr | None:
    """What the program assigned to a name right before the loop, unused in between."""
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
            return above.value if same_rounds(text, above, nest.root) else None
        return None
    return None


def fresh(text: Text, nest: Nest, name: str) -> str:
    """ "zeros" or "made" for a tensor that was made right before the loop."""
    value = before(text, nest, name)
    if not isinstance(value, ast.Call):
        return ""
    last = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if last in ZEROS:
        return "zeros"
    return "made" if last in FACTORIES else ""
