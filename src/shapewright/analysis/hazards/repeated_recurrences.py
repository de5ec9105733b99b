"""Find one recurrent layer that a loop runs once for each layer of a stack:
`for i in range(self.n_layers): output, hidden = self.gru(output, hidden)`.

All passes share the weights, and each begins in the state that the one before has left.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import REPEATED_LAYER
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import ModuleCall, collect_leaves

KINDS = frozenset({"GRU", "LSTM", "RNN"})
SHARED = re.compile(r"shar(e|ed|es|ing)\b|tied\b|\btie|recurrent_depth", re.IGNORECASE)
"""Words of programs that share a layer on purpose."""
COUNTS = re.compile(r"layer|depth", re.IGNORECASE)
"""What a loop over the layers of a stack counts."""


def find_repeated_recurrences(scene: HazardContext) -> Iterator[Finding]:
    """Find recurrent layers that get their own output and state again."""
    last: dict[tuple[str, int | None], ModuleCall] = {}
    seen: set[object] = {None}
    for call in scene.program.trace.calls:
        if call.class_name not in KINDS or not call.path:
            continue
        first = last.get((call.path, call.parent))
        last[call.path, call.parent] = call
        if first is None or call.span in seen or not _is_fed_again(first, call):
            continue
        place = scene.program.node(call.span)
        loop = _find_loop(*place) if place is not None else None
        if place is None or loop is None:
            continue
        seen.add(call.span)
        text, limit = place[0], loop
        name = call.path.rpartition(".")[2]
        message = (
            f"`{name}` is one layer, and runs once for each of `{text.line_of(limit)}`"
            " with the same weights, in the state of the pass before: a stack is"
            f" `nn.{call.class_name}(..., num_layers={text.line_of(limit)})`"
        )
        related = (Related(text.span(limit), "the loop over the layers"),)
        yield Finding(
            REPEATED_LAYER, "warning", message, call.span, call.path, related=related
        )


def _is_fed_again(first: ModuleCall, second: ModuleCall) -> bool:
    """Return whether a call takes both the output and the state of another."""
    results = {fact.tensor for fact in collect_leaves(first.output)}
    taken = [fact.tensor for fact in collect_leaves(second.inputs[0])]
    return len(taken) > 1 and all(tensor in results for tensor in taken[:2])


def _find_loop(text: SourceText, node: ast.AST) -> ast.expr | None:
    """Return what a loop around a call counts, if that is layers."""
    scope = text.around(node, ast.ClassDef)
    if scope is not None and SHARED.search(text.written(scope)):
        return None
    for outer in text.outwards(node):
        if isinstance(outer, FUNCTIONS):
            return None
        if isinstance(outer, ast.For) and get_called_name(outer.iter) == "range":
            assert isinstance(outer.iter, ast.Call)
            limit = outer.iter.args[-1] if outer.iter.args else None
            if limit is not None and COUNTS.search(text.written(limit)):
                return limit
    return None
