"""Layers whose results nothing reads: `out = layer(x)` in a loop, and `self.head(x)`
behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from shapewright.analysis.fixes.chained_layers import (
    UnpassedResult,
    find_unpassed,
    is_over_layers,
    is_unread,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.findings.codes import NO_GRADIENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_line,
    list_reads,
)

READ_AS_WHOLE = frozenset({"locals", "vars", "eval", "exec"})
"""Functions that may read any name of the function that calls them."""
UNREAD_RESULT = "nothing reads"
"""What is said of a name under which the result of a layer is kept."""
LAST_ONLY = "of these only the last is read"


@dataclass(frozen=True, slots=True)
class _KeptResult:
    """A statement that gives what a layer returned a name, the call of the layer in it,
    and how the layers of its loop are called, if all of them get one input.
    """

    text: SourceText
    statement: ast.Assign
    name: str
    node: ast.expr | ast.stmt
    unpassed: UnpassedResult | None


def find_unread_layers(
    program: Program,
    counted: str,
    layers: Sequence[str],
    *related: tuple[Span | None, str],
) -> Finding | None:
    """Return the finding on layers without a gradient whose results get a name that
    nothing reads, or of which only that of the last turn of a loop is read; `counted`
    says how many parameters they have.
    """
    results = [_find_unread_result(program, layer) for layer in layers]
    first = results[0] if results else None
    if first is None or None in results:
        return None
    scope = first.text.around(first.statement, *FUNCTIONS)
    if scope is not None and is_unread(scope, first.name):
        reason = f"{UNREAD_RESULT} `{first.name}`, which holds what they compute"
    else:
        reason = f"each turn of the loop sets `{first.name}` anew, and {LAST_ONLY}"
    if first.unpassed is not None:
        reason += f"; each of them gets `{first.unpassed.handed.id}`"
    return build_finding(
        NO_GRADIENT,
        f"{counted}: {reason}",
        first.text.span(first.node),
        *related,
        module=layers[0],
    )


def find_unpassed_layers(text: SourceText, node: ast.AST) -> UnpassedResult | None:
    """Return the call of layers in a loop that a statement, or a call in it, makes, if
    what it returns is not passed on to the next turn.
    """
    loop = text.around(node, ast.For)
    if loop is None or text.around(loop, *FUNCTIONS) is not text.around(
        node, *FUNCTIONS
    ):
        return None
    return find_unpassed(text, loop, node)


def _find_unread_result(program: Program, layer: str) -> _KeptResult | None:
    """Return where what a layer computed gets a name that nothing reads, or that only
    a line behind the loop over it and other layers reads.
    """
    ops = [op for op in program.trace.ops if op.module == layer]
    for frame in reversed(ops[-1].frames) if ops else ():
        place = program.node(frame.span)
        if place is None:
            continue
        text, node = place
        statement = text.statement_of(node) if isinstance(node, ast.expr) else node
        scope = text.around(statement, *FUNCTIONS)
        if not isinstance(statement, ast.Assign) or scope is None:
            continue
        target = statement.targets[0]
        if len(statement.targets) > 1 or not isinstance(target, ast.Name):
            continue
        if any(get_called_name(part) in READ_AS_WHOLE for part in ast.walk(scope)):
            return None
        unpassed = find_unpassed_layers(text, node)
        is_of_loop = unpassed is not None and is_over_layers(unpassed.loop, layer)
        kept = _KeptResult(
            text, statement, target.id, node, unpassed if is_of_loop else None
        )
        if is_unread(scope, target.id):
            return kept
        if is_of_loop and unpassed is not None:
            last = get_last_line(unpassed.loop)
            reads = list_reads(scope, target.id)
            if all(read.lineno > last for read in reads):
                return kept
    return None
