"""Find reads of the `grad` of a result: torch keeps the gradients of leaves only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import GRAD_OF_RESULT, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_own_nodes,
)
from shapewright.record.ops import Fact

KEEPING = frozenset({"retain_grad", "register_hook"})


@looks_for(GRAD_OF_RESULT)
def find_result_gradients(scene: HazardContext) -> Iterator[Finding]:
    """Find `code.grad` of a tensor that a call returned, which is None."""
    texts = [*scene.program.own_texts()]
    if any(get_called_name(node) in KEEPING for text in texts for node in text.nodes):
        return
    # Where the program failed on the None, the error tells it.
    places = [finding.span for finding in scene.program.trace.findings]
    failed = {(span.file, span.line) for span in places if span is not None}
    for text in texts:
        seen: set[tuple[object, str]] = set()
        for node in text.nodes:
            if not isinstance(node, ast.Attribute) or node.attr != "grad":
                continue
            if not isinstance(node.value, ast.Name):
                continue
            if not isinstance(node.ctx, ast.Load) or _is_tested(text, node):
                continue
            name, scope = node.value.id, text.around(node, *FUNCTIONS)
            assigned = _find_assigned(text, scope, name, node.lineno)
            if assigned is None or (scope, name) in seen:
                continue
            if (text.file, node.lineno) in failed:
                continue
            fact = _find_fact(scene, text, name, assigned)
            if fact is None or fact.is_leaf or not fact.requires_grad:
                continue
            seen.add((scope, name))
            message = (
                f"`{name}.grad` is None: `{name}` is the result of a call, and torch"
                " keeps the gradients of leaves only"
            )
            related = [Related(text.span(assigned), f"`{name}` is set here")]
            flagged = _find_flag(texts, name)
            if flagged is not None:
                words = "`requires_grad_()` sets a flag that results have: no leaf"
                where, call = flagged
                related.append(Related(where.span(call), words))
            yield Finding(
                GRAD_OF_RESULT,
                "warning",
                message,
                text.span(node),
                related=tuple(related),
            )


def _is_tested(text: SourceText, node: ast.Attribute) -> bool:
    """Return whether a gradient is only compared, as in `x.grad is None`."""
    return isinstance(text.parent(node), ast.Compare)


def _find_assigned(
    text: SourceText, scope: ast.AST | None, name: str, line: int
) -> ast.Assign | None:
    """Return the only statement of a scope that gives a value to a name above a line,
    or None.
    """
    statements = [
        node
        for node in iter_own_nodes(scope or text.tree)
        if isinstance(node, ast.Assign)
        and any(
            isinstance(part, ast.Name) and part.id == name
            for target in node.targets
            for part in ast.walk(target)
        )
    ]
    first = statements[0] if len(statements) == 1 else None
    return first if first is not None and first.lineno < line else None


def _find_fact(
    scene: HazardContext, text: SourceText, name: str, assigned: ast.Assign
) -> Fact | None:
    """Return the tensor that a statement gives to a name, or None if unknown."""
    if len(assigned.targets) != 1:
        return None
    target, span = assigned.targets[0], text.span(assigned.value)
    place = None
    if isinstance(target, ast.Tuple):
        names = [getattr(part, "id", "") for part in target.elts]
        place = names.index(name) if name in names else None
        if place is None:
            return None
    elif not isinstance(target, ast.Name):
        return None
    for call in scene.program.trace.calls:
        if call.span != span:
            continue
        output = call.output
        if place is None:
            return output if isinstance(output, Fact) else None
        if isinstance(output, tuple | list) and place < len(output):
            part = output[place]
            return part if isinstance(part, Fact) else None
        return None
    op = next((op for op in scene.program.trace.ops if op.span == span), None)
    if op is None or place is not None or not op.outputs:
        return None
    return op.outputs[0]


def _find_flag(
    texts: list[SourceText], name: str
) -> tuple[SourceText, ast.Call] | None:
    """Return a call of `requires_grad_` of this name."""
    for text in texts:
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) == "requires_grad_":
                owner = get_receiver(node)
                if isinstance(owner, ast.Name) and owner.id == name:
                    return text, node
    return None
