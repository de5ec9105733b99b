"""Find counts that are counted and never read, beside another that is read instead.

A count that nobody reads is common, and no mistake of a training. It is one where the
statement after its loop reads the count of an earlier loop, whose name is the same but
for a word: `correct_val` is counted, `correct / total` is printed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    iter_own_nodes,
)

READ_AS_WHOLE = frozenset({"locals", "globals", "vars", "eval", "exec", "getattr"})
"""Functions that may read any name."""
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _UnreadCount:
    """Counts that are never read, and the statement that reads others for them.

    `pairs` has the name of each, with the name that is read in its place; `additions`
    are the statements that count the first.
    """

    statement: ast.stmt
    pairs: tuple[tuple[str, str], ...]
    additions: tuple[ast.AugAssign, ...]


def find_unread_counts(text: SourceText, is_main: bool) -> Iterator[_UnreadCount]:
    """Yield the counts of each scope of a text that are never read.

    Other files may read the names of a module, so only those of the script itself are
    looked at.
    """
    calls = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    if text.tree is None or calls & READ_AS_WHOLE:
        return
    functions = [
        node
        for node in text.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    scopes: list[Scope] = [*([text.tree] if is_main else []), *functions]
    known = _collect_read_names(text)
    for scope in scopes:
        yield from _find_in_scope(text, scope, known)


def _collect_read_names(text: SourceText) -> frozenset[str]:
    """Return the names that are read anywhere, or may be: `global`, in a text, deleted.

    `total = total + 1` reads its own name only to count.
    """
    reads: set[str] = set()
    for node in text.nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            statement = text.around(node, ast.Assign)
            targets = statement.targets if statement is not None else []
            own = [target.id for target in targets if isinstance(target, ast.Name)]
            if node.id not in own:
                reads.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            reads.update(node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            reads.add(node.value)
        elif isinstance(node, ast.arg):
            reads.add(node.arg)
    return frozenset(reads)


def _find_in_scope(
    text: SourceText, scope: Scope, known: frozenset[str]
) -> Iterator[_UnreadCount]:
    counts: dict[str, list[ast.AugAssign]] = {}
    for node in iter_own_nodes(scope):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            counts.setdefault(node.target.id, []).append(node)
    unread = {
        name: additions
        for name, additions in counts.items()
        if name not in known and not name.startswith("_")
    }
    by_loop: dict[ast.AST, list[str]] = {}
    for name, additions in unread.items():
        loops = [_find_outer_loop(text, scope, addition) for addition in additions]
        if len(loops) == 1 and loops[0] is not None:
            by_loop.setdefault(loops[0], []).append(name)
    for loop, names in by_loop.items():
        read = _find_reading(text, scope, loop, names, counts)
        if read is not None:
            counted = tuple(unread[name][0] for name, _ in read[1])
            yield _UnreadCount(read[0], read[1], counted)


def _find_outer_loop(text: SourceText, scope: Scope, node: ast.AST) -> ast.AST | None:
    """Return the innermost loop that contains a node, within its scope."""
    for outer in text.outwards(node):
        if outer is scope or isinstance(outer, FUNCTIONS):
            return None
        if isinstance(outer, LOOPS):
            return outer
    return None


def _find_reading(
    text: SourceText,
    scope: Scope,
    loop: ast.AST,
    names: list[str],
    counts: dict[str, list[ast.AugAssign]],
) -> tuple[ast.stmt, tuple[tuple[str, str], ...]] | None:
    """Return the first statement after a loop that reads counts of earlier loops with
    nearly the names of its own, and the pairs of names.
    """
    written = collect_names(loop, ast.Store)
    others = [name for name in counts if name not in written]
    later = [
        node
        for node in iter_own_nodes(scope)
        if isinstance(node, SIMPLE) and node.lineno > (getattr(loop, "end_lineno", 0))
    ]
    for statement in sorted(later, key=lambda node: node.lineno):
        read = collect_names(statement, ast.Load)
        pairs = []
        for name in names:
            like = [other for other in others if other in read
                    and _is_meant(name, other, statement)]  # fmt: skip
            if len(like) == 1:
                pairs.append((name, like[0]))
        if pairs and len({other for _, other in pairs}) == len(pairs):
            return statement, tuple(pairs)
        stored = collect_names(statement, ast.Store)
        others = [other for other in others if other not in stored]
        names = [name for name in names if name not in stored]
    return None


def _is_meant(name: str, other: str, statement: ast.stmt) -> bool:
    """Return whether a name is another with a word more (`correct_val` of `correct`),
    or with another word that the statement says (`val_loss` of `train_loss`: "val"), in
    a text or in the names beside it (`val_mean = train_loss / n_val`).
    """
    own, words = name.lower().split("_"), other.lower().split("_")
    more = [word for word in own if word not in words]
    missing = [word for word in words if word not in own]
    printed = " ".join(
        node.value.lower()
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    if len(more) != 1 or len(missing) > 1 or len(own) < 2:
        return False
    if missing:
        others = collect_names(statement) - {other}
        parts = {part for word in others for part in word.lower().split("_")}
        by_names = more[0] in parts and missing[0] not in parts
        return missing[0] not in printed and (more[0] in printed or by_names)
    return "train" not in printed
