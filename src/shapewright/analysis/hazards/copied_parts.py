"""Find writes to a copy of some elements, which nothing reads: `x[mask][other] = 0`.

An index of tensors, a mask or a list copies the elements that it chooses, and so does a
`reshape` of a transposed tensor. What such a statement writes to is gone behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import RESULT_DROPPED
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Op

CHOOSING = operators_with("reads_by_index") | operators_with("takes_mask")
"""What copies the elements that it chooses."""
CUTTING = operators_with("regroups_dims")
"""What copies a tensor only if it cannot be viewed."""
FLAGS = operators_with("changes_tensor_itself") | {"share_memory_"}
"""Methods that write no elements."""
MOST_VIEWS = 4
"""Views between a copy and what is written."""


def find_copied_parts(scene: HazardContext) -> Iterator[Finding]:
    """Find writes to copies of elements that only their own statement has."""
    for call in scene.calls:
        if call.op.kind != "inplace" or not call.op.inputs:
            continue
        place = find_written_part(scene.program, call.op)
        if place is None:
            continue
        text, part = place
        source = part.value if isinstance(part, ast.Subscript) else get_receiver(part)
        if source is None or _is_read(scene, call, text):
            continue
        written, owner = text.line_of(part), text.line_of(source)
        message = (
            f"`{written}` is a copy of elements of `{owner}`, and what is written to"
            f" it is lost: `{owner}` stays as it was"
        )
        yield scene.finding(RESULT_DROPPED, call.op, message)


def find_written_part(
    program: Program, op: Op
) -> tuple[SourceText, ast.Subscript | ast.Call] | None:
    """Return `x[i]` of `x[i][j] = y`, `x[i][j] += y` and `x[i].fill_(y)` if it copied
    elements that a call writes to; None for other calls.
    """
    place = program.node(op.span)
    if place is None or op.name.rpartition(".")[2] in FLAGS:
        return None
    text, node = place
    chain = _find_written_chain(text, node)
    fact = op.inputs[0]
    for _ in range(MOST_VIEWS if chain is not None else 0):
        maker = program.producers.get(fact.tensor)
        made_at = program.node(maker.span) if maker is not None else None
        if maker is None or made_at is None or made_at[0] is not text:
            return None
        part, name = made_at[1], maker.name.rpartition(".")[2]
        if not any(part is inner for inner in ast.walk(chain or part)):
            return None
        copies = maker.kind == "new" and name in CHOOSING
        if copies or (maker.kind == "copy" and name in CUTTING):
            if isinstance(part, ast.Subscript | ast.Call) and _is_of_name(part):
                return text, part
            return None
        if maker.kind != "view" or not maker.inputs:
            return None
        fact = maker.inputs[0]
    return None


def _find_written_chain(text: SourceText, node: ast.AST) -> ast.expr | None:
    """Return what a statement writes elements of: `x[i]` of `x[i][j] = y`, of
    `x[i].fill_(y)` and of `nn.init.zeros_(x[i])`.
    """
    if not isinstance(node, ast.expr | ast.stmt):
        return None
    statement = text.statement_of(node)
    if isinstance(statement, ast.Assign | ast.AugAssign):
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
        )
        target = next((t for t in targets if node in ast.walk(t)), None)
        return target.value if isinstance(target, ast.Subscript) else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return None
    owner = get_receiver(call)
    if owner is not None and get_last_name(owner) == "init":
        return call.args[0] if call.args else None
    return owner


def _is_of_name(part: ast.expr) -> bool:
    """Return whether elements are those of a tensor that has a name."""
    while isinstance(part, ast.Subscript | ast.Call | ast.Attribute):
        receiver = get_receiver(part) if isinstance(part, ast.Call) else part.value
        if receiver is None:
            return False
        part = receiver
    return isinstance(part, ast.Name)


def _is_read(scene: HazardContext, call: OperatorCall, text: SourceText) -> bool:
    """Return whether another statement reads what a call writes to, or what this is a
    part of.
    """
    node = scene.program.node(call.op.span)
    assert node is not None
    statement = text.statement_of(node[1])
    end = statement.end_lineno or statement.lineno
    tensors, fact = [call.op.inputs[0].tensor], call.op.inputs[0]
    for _ in range(MOST_VIEWS):
        maker = scene.program.producers.get(fact.tensor)
        if maker is None or maker.kind != "view":
            break
        fact = maker.inputs[0]
        tensors.append(fact.tensor)
    return any(
        user.op.span is None or not statement.lineno <= user.op.span.line <= end
        for tensor in tensors
        for user in scene.users.get(tensor, ())
    )
