"""Find layers with weights that `forward` builds anew in each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import BUILT_IN_FORWARD, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span


@looks_for(BUILT_IN_FORWARD)
def find_modules_built_in_forward(scene: HazardContext) -> Iterator[Finding]:
    """Find modules with parameters that a `forward` constructs and does not keep."""
    program = scene.program
    owners = {state.path.rpartition(".")[0] for state in program.trace.states
              if not state.buffer}  # fmt: skip
    seen: set[Span] = set()
    for path, built in program.built.items():
        own = any(owner == path or owner.startswith(f"{path}.") for owner in owners)
        if not own or built.span in seen or not _is_built_in_forward(scene, built.span):
            continue
        seen.add(built.span)
        message = (
            f"`nn.{built.class_name}` is built anew in each call of `forward`: its"
            " weights are random each time and never trained"
        )
        yield Finding(BUILT_IN_FORWARD, "warning", message, built.span)


def _is_built_in_forward(scene: HazardContext, span: Span) -> bool:
    """Return whether a module is built in `forward` and not assigned to `self`."""
    text_and_node = scene.program.node(span)
    if text_and_node is None:
        return False
    text, node = text_and_node
    function = text.around(node, ast.FunctionDef)
    if function is None or function.name != "forward":
        return False
    statement = text.statement_of(node)
    kept = isinstance(statement, ast.Assign) and any(
        not isinstance(target, ast.Name) for target in statement.targets
    )
    return not kept
