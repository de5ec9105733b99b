"""Find losses of a generator that are computed of real data: none of what it makes is
in them.
"""

from __future__ import annotations

import ast

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import NO_GRADIENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    LOOPS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)
from shapewright.record.report import Optimized


def find_loss_of_real_data(scene: RehearsalContext, group: Optimized) -> Finding | None:
    """Return the finding on `loss_g = criterion(D(real), ones)` where `fake = G(noise)`
    is what the step's model makes, and `D` reads it elsewhere.
    """
    optimizer = scene.span(group.built, group.name)
    built = scene.program.call_at(optimizer)
    stepping = scene.program.node(scene.span(group.stepped, "step"))
    if built is None or stepping is None or built[0] is not stepping[0]:
        return None
    text, step = stepping
    loop = text.around(step, *LOOPS)
    owners = {
        get_dotted_name(node.func.value)
        for node in ast.walk(built[1])
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "parameters"
    }
    loss = _find_loss(text, loop, step) if loop is not None else None
    if len(owners) != 1 or loop is None or loss is None:
        return None
    owner = owners.pop()
    outputs = {
        target.id
        for target, value in iter_assignments(loop)
        if isinstance(target, ast.Name)
        and isinstance(value, ast.Call)
        and get_dotted_name(value.func) == owner
    }
    names = {node.id for node in ast.walk(loss) if isinstance(node, ast.Name)}
    if len(outputs) != 1 or outputs & names or owner in names:
        return None
    output = outputs.pop()
    readers = {
        get_dotted_name(node.func)
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        and node.args
        and any(
            isinstance(part, ast.Name) and part.id == output
            for part in ast.walk(node.args[0])
        )
    }
    calls = [
        node
        for node in ast.walk(loss)
        if isinstance(node, ast.Call)
        and get_dotted_name(node.func) in readers
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name)
    ]
    if len(calls) != 1:
        return None
    return build_finding(
        NO_GRADIENT,
        f"{group.parameters} of the {group.parameters} parameters of `{group.name}`"
        f" never get a gradient: the loss of their step is computed of"
        f" `{text.written(calls[0])}`, and nothing in it of `{output}`, which"
        f" `{owner}` makes",
        text.span(calls[0].args[0]),
        (optimizer, "the optimizer holds them"),
        (scene.span(group.stepped, "step"), "its steps do not change them"),
    )


def _find_loss(text: SourceText, loop: ast.AST, step: ast.AST) -> ast.expr | None:
    """Return what the last `backward()` before a step is called on, as it is computed
    in the loop.
    """
    line = getattr(step, "lineno", 0)
    backwards = [
        node.func.value
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        and get_called_name(node) == "backward"
        and isinstance(node.func, ast.Attribute)
        and node.lineno < line
    ]
    last = max(backwards, key=lambda node: node.lineno, default=None)
    if not isinstance(last, ast.Name):
        return last
    values = [
        value
        for target, value in iter_assignments(loop, before=last.lineno)
        if isinstance(target, ast.Name) and target.id == last.id
    ]
    return max(values, key=lambda node: node.lineno, default=None)
