"""Find one of two results of a call that is lost, as the other is used in its place:
`h, c = h[:, order], h[:, order]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import RESULT_DROPPED
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    pair_targets,
)

Pair = tuple[str, str]

OF_ITEMS = frozenset({"next", "__getitem__", "__next__"})
"""Calls that return a sample, of which two views may be wanted."""


def find_lost_results(program: Program) -> Iterator[Finding]:
    """Find two results of one call of which the first is used twice in the same form,
    once in the place of the second, which nothing reads.
    """
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            if get_called_name(node.value) in OF_ITEMS:
                continue
            function = text.around(node, *FUNCTIONS)
            scope = list(ast.walk(function)) if function is not None else text.nodes
            for first, second, is_nested in _iter_pairs(node.targets[0]):
                use = _find_second_use(text, scope, node, (first, second), is_nested)
                if use is None:
                    continue
                message = (
                    f"`{join_lines(text.written(use))}` is computed twice, the second"
                    f" time in the place of `{second}`: nothing reads the `{second}`"
                    f" that came with `{first}`"
                )
                origin = Related(text.span(node), "both are results of this call")
                yield Finding(
                    RESULT_DROPPED,
                    "warning",
                    message,
                    text.span(use),
                    related=(origin,),
                )


def _iter_pairs(target: ast.expr) -> Iterator[tuple[str, str, bool]]:
    """Yield the names of two results side by side, and whether they are a pair among
    other results, as the states of an LSTM are.
    """
    if not isinstance(target, ast.Tuple | ast.List):
        return
    groups: list[tuple[Sequence[ast.expr], bool]] = [(target.elts, False)]
    groups += [(part.elts, True) for part in target.elts if isinstance(part, ast.Tuple)]
    for group, is_nested in groups:
        if len(group) != len(("first", "second")):
            continue
        names = [part.id for part in group if isinstance(part, ast.Name)]
        if len(set(names)) == len(group) and not any(n.startswith("_") for n in names):
            yield names[0], names[1], is_nested
            yield names[1], names[0], is_nested


def _find_second_use(
    text: SourceText,
    scope: Sequence[ast.AST],
    call: ast.Assign,
    names: Pair,
    is_nested: bool,
) -> ast.expr | None:
    """Return the expression that is written a second time, in the place of the other
    result, or None.
    """
    for node in scope:
        if not isinstance(node, ast.expr | ast.stmt) or node.lineno <= call.lineno:
            continue
        use: ast.expr | None = None
        if isinstance(node, ast.Assign):
            pairs = [
                (text.written(target), value)
                for target, value in pair_targets(node.targets[0], node.value)
            ]
            if [name for name, _ in pairs] in ([*names], [*reversed(names)]):
                use = _find_repeated([value for _, value in pairs], names)
                if use is not None and pairs[0][0] == names[1]:
                    use = pairs[0][1]
            elif [name for name, _ in pairs] == [names[1]]:
                use = _find_repeated_statement(text, node, names)
        elif is_nested and _is_pair(text, node):
            assert isinstance(node, ast.Tuple)
            use = _find_repeated(node.elts, names)
        if use is not None and not _is_read(text, scope, call, node, names):
            return use
    return None


def _is_pair(text: SourceText, node: ast.AST) -> bool:
    """Return whether a node is a pair of values that is handed on, no index."""
    is_pair = isinstance(node, ast.Tuple) and len(node.elts) == len(("first", "second"))
    return is_pair and not isinstance(text.parent(node), ast.Subscript | ast.Assign)


def _find_repeated(values: Sequence[ast.expr], names: Pair) -> ast.expr | None:
    """Return the last of two equal expressions that are more than a name and read the
    first of two names.
    """
    first, second = values
    if isinstance(second, ast.Name) or ast.dump(first) != ast.dump(second):
        return None
    read = collect_names(second)
    return second if names[0] in read and names[1] not in read else None


def _find_repeated_statement(
    text: SourceText, node: ast.Assign, names: Pair
) -> ast.expr | None:
    """Return the part or the changed form of the first result that a statement gives to
    the name of the second one, right behind `h = h[:, order]`.
    """
    block = getattr(text.parent(node), "body", [])
    at = block.index(node) if isinstance(block, list) and node in block else 0
    above = block[at - 1] if at else None
    if not isinstance(above, ast.Assign) or text.written(above.targets[0]) != names[0]:
        return None
    root: ast.expr | None = node.value
    while isinstance(root, ast.Subscript | ast.Call):
        root = root.value if isinstance(root, ast.Subscript) else get_receiver(root)
    if not isinstance(root, ast.Name) or root.id != names[0]:
        return None
    return _find_repeated([above.value, node.value], names)


def _is_read(
    text: SourceText,
    scope: Sequence[ast.AST],
    call: ast.Assign,
    use: ast.expr | ast.stmt,
    names: Pair,
) -> bool:
    """Return whether anything reads a result before its name gets another value, or
    gives it one between its call and the use of the other.
    """
    is_set = isinstance(use, ast.Assign)
    loop = text.around(call, *LOOPS)
    for node in scope:
        if not isinstance(node, ast.Name) or node.id not in names:
            continue
        between = call.lineno < node.lineno < use.lineno
        if isinstance(node.ctx, ast.Store) and between:
            setting = text.statement_of(node)
            value = setting.value if isinstance(setting, ast.Assign) else None
            is_changed = value is not None and node.id in collect_names(value)
            if node.id == names[1] or not is_changed:
                return True
        if node.id == names[1] and isinstance(node.ctx, ast.Load):
            behind = is_set and node.lineno > (use.end_lineno or use.lineno)
            before = node.lineno < call.lineno and loop is None
            if not behind and not before:
                return True
    return False
