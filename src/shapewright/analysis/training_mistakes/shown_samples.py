"""Find samples that a training draws to show them, and keeps with their graphs:
`rows.append(generator(z))` in front of `save_image(torch.cat(rows).data, path)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.graph_keepers import (
    VALUES,
    find_keepers,
    is_differentiated,
    is_storing,
)
from shapewright.findings.codes import GRAPH_KEPT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    LOOPS,
    get_called_name,
    get_last_line,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import Op

PASSES = frozenset({"backward", "grad"})


def find_shown_samples(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops between two backward passes that keep what a module computes in each
    turn with its graph, though only its values are read.
    """
    passes = [op.index for op in scene.program.trace.ops if _get_name(op) in PASSES]
    for text in scene.program.own_texts() if passes else ():
        for loop in text.nodes:
            if not isinstance(loop, LOOPS):
                continue
            ops = _list_recorded(scene, text, loop)
            if not any(passes[0] < op.index < passes[-1] for op in ops):
                continue
            if not _is_repeated(scene, ops) or not _is_only_read(scene, ops):
                continue
            place = text.file, loop.lineno
            for name, _, statement in find_keepers(scene.program, place):
                call = statement.value if isinstance(statement, ast.Expr) else None
                stored = isinstance(call, ast.Call) and is_storing(call)
                if not stored or is_differentiated(text, statement):
                    continue
                if _is_detached(loop, name):
                    continue
                span = text.span(statement)
                yield build_finding(
                    GRAPH_KEPT,
                    f"`{name}` is kept with its graph, though only its values are read:"
                    " the activations of all turns are held at once for a backward pass"
                    " that never comes",
                    span,
                    (scene.span((text.file, loop.lineno)), "this loop"),
                    (span, f"`{name}.detach()` keeps the values only"),
                )
                break


def _get_name(op: Op) -> str:
    return op.name.rpartition(".")[2]


def _is_detached(loop: ast.AST, name: str) -> bool:
    """Return whether a loop assigns to a name what has left its graph."""
    return any(
        (get_called_name(part) or get_last_name(part)) in VALUES
        for target, value in iter_assignments(loop)
        if isinstance(target, ast.Name) and target.id == name
        for part in ast.walk(value)
        if isinstance(part, ast.Call | ast.Attribute)
    )


def _list_recorded(
    scene: RehearsalContext, text: SourceText, loop: ast.AST
) -> list[Op]:
    """Return the ops of a loop outside of any `forward` whose results have a graph."""
    function = text.around(loop, ast.FunctionDef)
    if function is not None and function.name == "forward":
        return []  # the branches of a network, which a training differentiates
    assert isinstance(loop, ast.stmt)
    lines = range(loop.lineno, get_last_line(loop) + 1)
    return [
        op
        for op in scene.program.trace.ops
        if any(fact.requires_grad and not fact.is_leaf for fact in op.outputs)
        and any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
    ]


def _is_repeated(scene: RehearsalContext, ops: list[Op]) -> bool:
    """Return whether an op of a module is among these twice without a backward pass
    between, as of two turns of one loop.
    """
    seen: dict[object, int] = {}
    passes = [op.index for op in scene.program.trace.ops if _get_name(op) in PASSES]
    for op in ops:
        key = op.module, op.span
        last = seen.get(key)
        if last is not None and not any(last < at < op.index for at in passes):
            return True
        if op.module:
            seen[key] = op.index
    return False


def _is_only_read(scene: RehearsalContext, ops: list[Op]) -> bool:
    """Return whether no backward pass depends on any of these ops, by their graph or by
    their values, and values of what they compute are read.
    """
    followed = {fact.tensor for op in ops for fact in op.outputs}
    is_read = False
    for op in scene.program.trace.ops[ops[0].index :]:
        if not any(fact.tensor in followed for fact in op.inputs):
            continue
        name = _get_name(op)
        if name in PASSES:
            return False
        is_read |= name in VALUES
        followed |= {fact.tensor for fact in op.outputs}
    return is_read
