"""Find custom functions whose `backward` leaves out the gradient that it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import is_of_function
from shapewright.findings.codes import CODES, GRADIENT_LEFT_OUT, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import values_of
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, iter_own_nodes

ZEROS = frozenset(name for name, n in values_of("fills_with").items() if n == 0)


@looks_for(GRADIENT_LEFT_OUT)
def find_left_out_gradients(scene: HazardContext) -> Iterator[Finding]:
    """Find functions whose results are computed with further, and whose `backward`
    returns its own derivative alone.
    """
    seen: set[object] = set()
    for call in scene.calls:
        for fact in call.op.inputs:
            if not fact.shape or not is_of_function(scene, fact):
                continue  # a loss of its own is given a gradient of 1
            maker = scene.maker(fact)
            span = maker.op.span if maker is not None else None
            place = scene.program.node(span)
            if place is None or span in seen:
                continue
            seen.add(span)
            text, node = place
            backward = _find_backward(text, node)
            if backward is None or backward in seen:
                continue
            seen.add(backward)
            returned = list_returned(backward)
            name = get_incoming_gradient(backward)
            if not returned or not name:
                continue
            message = (
                f"`backward` never reads `{name}`: its result is multiplied by nothing"
                " of what comes behind the function, so the chain rule is broken"
            )
            code = CODES[GRADIENT_LEFT_OUT]
            where = Related(text.span(node), "its result is computed here")
            yield Finding(
                GRADIENT_LEFT_OUT, code.severity, message, text.span(returned[0]),
                related=(where,),
            )  # fmt: skip


def _find_backward(text: SourceText, node: ast.AST) -> ast.FunctionDef | None:
    """Return the `backward` of the class around a call of its `forward`."""
    owner = text.around(node, ast.ClassDef)
    for part in owner.body if owner is not None else ():
        if isinstance(part, ast.FunctionDef) and part.name == "backward":
            return part
    return None


def get_incoming_gradient(backward: ast.FunctionDef) -> str:
    """Return the name of the first gradient that a `backward` is given, or an empty
    string if it reads one of them.
    """
    arguments = backward.args
    names = [argument.arg for argument in arguments.args[1:]]
    if arguments.vararg is not None:
        names.append(arguments.vararg.arg)
    for part in ast.walk(backward):
        if isinstance(part, ast.Name) and part.id in names:
            return ""
        if get_called_name(part) in ("locals", "apply"):
            return ""
    return names[0] if names else ""


def list_returned(backward: ast.FunctionDef) -> list[ast.expr]:
    """Return the gradients that a `backward` returns, but None and zeros."""
    returned: list[ast.expr] = []
    for part in iter_own_nodes(backward):
        if isinstance(part, ast.Return) and part.value is not None:
            value = part.value
            returned += value.elts if isinstance(value, ast.Tuple) else [value]
    return [
        value
        for value in returned
        if not isinstance(value, ast.Constant) and get_called_name(value) not in ZEROS
    ]
