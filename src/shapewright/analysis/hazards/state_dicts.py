"""Find state dicts of which `strict=False` loaded next to nothing, and loaded weights
that are drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.given_weights import find_given_weights
from shapewright.analysis.hazards.padding_rows import find_drawn_padding
from shapewright.analysis.program_run import Program
from shapewright.analysis.state_dicts import explain_loose_load
from shapewright.findings.codes import (
    LOADED_WEIGHTS_LOST,
    UNMATCHED_STATE_DICT,
    looks_for,
)
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

DRAWS = operators_with("is_random") & operators_with("overwrites_all")
SHARE = 2 / 3
"""The share of the loaded matrices that must be lost: a new head is meant."""


@looks_for(UNMATCHED_STATE_DICT)
def find_unmatched_state_dicts(scene: HazardContext) -> Iterator[Finding]:
    """Find calls of `load_state_dict` after which the model is as it was built."""
    for span, misloaded in scene.program.loads:
        if misloaded.matched is not None:
            yield explain_loose_load(span, misloaded)


@looks_for(LOADED_WEIGHTS_LOST)
def find_lost_weights(scene: HazardContext) -> Iterator[Finding]:
    """Find initialisations of weights that were just loaded, or computed."""
    yield from find_given_weights(scene)
    yield from find_drawn_padding(scene)
    loading: dict[int, Op] = {}  # by the tensor, until something uses it
    loaded: dict[Span, set[int]] = {}
    lost: dict[Span, dict[int, Op]] = {}
    for op in scene.program.trace.ops:
        name = op.name.rpartition(".")[2]
        for fact in (*op.inputs, *op.outputs):
            load = loading.pop(fact.tensor, None)
            if load is None or load.span is None:
                continue
            if name in DRAWS and len(op.outputs) == 1 and len(op.inputs) == 1:
                lost.setdefault(load.span, {})[fact.tensor] = op
        target = op.outputs[0] if op.outputs else None
        is_copy = name == "copy_" and target is not None and len(target.shape) > 1
        if target is None or op.span is None or not is_copy:
            continue
        if _is_load(scene.program, op.span):
            loading[target.tensor] = op
            loaded.setdefault(op.span, set()).add(target.tensor)
    for span, ops in lost.items():
        count, whole = len(ops), len(loaded[span])
        load = next(op for op in scene.program.trace.ops if op.span == span)
        if count >= SHARE * whole:
            yield _report_lost(load, span, list(ops.values()), whole)


def _is_load(program: Program, span: Span) -> bool:
    """Return whether a line loads a state dict."""
    text = program.text(span.file)
    nodes = text.near(span.line) if text is not None else ()
    return any(get_called_name(node) == "load_state_dict" for node in nodes)


def _report_lost(load: Op, span: Span, draws: list[Op], whole: int) -> Finding:
    """Return the finding for the weights of one load."""
    last = draws[-1]
    place, start = last.span, span
    for frame, other in zip(last.frames, load.frames, strict=False):
        if frame.span != other.span:
            place, start = frame.span, other.span
            break
    weights = f"{len(draws)} of the {whole} loaded weights are"
    if whole == len(draws):
        weights = "all loaded weights are" if whole > 1 else "the loaded weight is"
    return Finding(
        LOADED_WEIGHTS_LOST,
        "warning",
        f"{weights} drawn anew here, before anything has used them",
        place,
        related=(Related(start, "they were loaded here"),),
    )
