"""Find the line at which the GPU that is named has no room for the next tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.memory.advice import find_advice
from shapewright.analysis.memory.rehearsed_runs import count_needless
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.graph_keepers import (
    find_keepers,
    is_differentiated,
)
from shapewright.analysis.training_mistakes.growth import (
    describe_end,
    find_full_turn,
)
from shapewright.analysis.training_mistakes.kept_graphs import find_kept_graphs
from shapewright.analysis.training_mistakes.recorded_evaluations import (
    find_recorded_evaluations,
)
from shapewright.findings.codes import OUT_OF_MEMORY, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span
from shapewright.record.memory import (
    BACKWARD,
    EVALUATION,
    FORWARD,
    SETUP,
    STEP,
    HeldBytes,
    LargestBatch,
)
from shapewright.record.rehearsed_memory import RehearsedMemory, Shortage
from shapewright.record.report import Place
from shapewright.views.formatting import format_nbytes

_PHASES = {
    SETUP: "before any training",
    FORWARD: "in a forward pass",
    BACKWARD: "in a backward pass",
    STEP: "in a step of the optimizer",
    EVALUATION: "in an evaluation",
}

MOST_LINES = 3
"""Lines whose activations are named."""


@looks_for(OUT_OF_MEMORY, misled_by_errors=True)
def find_shortages(scene: RehearsalContext) -> Iterator[Finding]:
    """Find the first allocation for which there is no room, in the turns that ran or
    else in those that a real run has.
    """
    memory = scene.rehearsal.memory
    shortage = memory.shortage if memory is not None else None
    if memory is None or memory.capacity is None:
        return
    if shortage is None:
        yield from _find_growth(scene, memory)
        return
    span = scene.span((shortage.file, shortage.line))
    if shortage.phase == BACKWARD:
        span = scene.span((shortage.file, shortage.line), "backward", "grad")
    turn = shortage.turn
    related: list[tuple[Span | None, str]] = []
    if turn is not None:
        number = f"turn {find_full_turn(memory, turn):,}"
        number += f" of {turn.total:,}" if turn.total is not None else ""
        related.append(
            (scene.span((turn.file, turn.line)), f"in {number} of this loop")
        )
        related += _list_keepers(scene, (turn.file, turn.line))
    for held in shortage.moment.lines[:MOST_LINES]:
        words = f"{format_nbytes(held.bytes)} of activations are held for this line"
        related.append((_find_span(scene, held), words))
    finding = build_finding(
        OUT_OF_MEMORY,
        _write_message(memory, shortage),
        span,
        *related,
        severity="error" if shortage.is_sure else "warning",
    )
    yield _add_lines(scene, finding, memory, shortage)


def _find_growth(scene: RehearsalContext, memory: RehearsedMemory) -> Iterator[Finding]:
    """Find loops whose turns fill the device, and of which no other finding says so."""
    others = [*find_kept_graphs(scene), *find_recorded_evaluations(scene)]
    for growth in memory.growth:
        if growth.full_at is None and growth.full_from is None:
            continue
        end = describe_end(memory, growth)
        if any(finding.message.endswith(end) for finding in others):
            continue
        size = format_nbytes(growth.bytes)
        related = _list_keepers(scene, (growth.file, growth.line))
        related += [
            (_find_span(scene, held), f"{format_nbytes(held.bytes)} of it is made here")
            for held in growth.held
        ]
        is_sure = growth.full_at is not None and growth.count is not None
        yield build_finding(
            OUT_OF_MEMORY,
            f"each turn of this loop keeps {size} more: {end}",
            scene.span((growth.file, growth.line)),
            *related,
            severity="error" if is_sure else "warning",
        )


def _list_keepers(
    scene: RehearsalContext, loop: Place
) -> list[tuple[Span | None, str]]:
    """Return the first statement of a loop that keeps a graph, with what it keeps."""
    for name, text, statement in find_keepers(scene.program, loop):
        words = f"`{name}` is kept here with its graph, once for each turn"
        if is_differentiated(text, statement):
            words += "; a backward pass in each turn would free it"
        return [(text.span(statement), words)]
    return []


def _find_span(scene: RehearsalContext, held: HeldBytes) -> Span | None:
    return scene.span((held.file, held.line)) if held.file else None


def _write_message(memory: RehearsedMemory, shortage: Shortage) -> str:
    """Return what is full, when, and by how much."""
    assert memory.capacity is not None
    phase = _PHASES.get(shortage.phase, f"in {shortage.phase}")
    least, most = map(format_nbytes, shortage.needed)
    low, high = map(format_nbytes, memory.capacity)
    if shortage.is_sure:
        return (
            f"`{memory.device}` is full {phase}: {least} or more are needed, {high} "
            "are there"
        )
    size = low if low == high else f"{low} to {high}"
    return (
        f"`{memory.device}` may be full {phase}: {least} to {most} are needed, {size} "
        "are there"
    )


def _add_lines(
    scene: RehearsalContext,
    finding: Finding,
    memory: RehearsedMemory,
    shortage: Shortage,
) -> Finding:
    """Return the finding with what lives there, and what would help."""
    kinds = sorted(shortage.moment.kinds.items(), key=lambda pair: -pair[1])
    live = ", ".join(f"{kind} {format_nbytes(size)}" for kind, size in kinds if size)
    asked = format_nbytes(shortage.asked)
    op = f" by `{shortage.op}`" if shortage.op else ""
    lines = [f"{asked} more are asked for{op}; what lives: {live or 'nothing'}"]
    lines += _list_advice(scene, memory, shortage)
    torch_message = f"CUDA out of memory. Tried to allocate {asked}."
    return replace(finding, lines=tuple(lines), torch_message=torch_message)


def _list_advice(
    scene: RehearsalContext, memory: RehearsedMemory, shortage: Shortage
) -> Iterator[str]:
    """Yield what would help, as far as the record shows it."""
    needless = count_needless(memory, shortage)
    if needless:
        yield (
            f"{format_nbytes(needless)} of the activations are an evaluation's, for a "
            "backward pass that never comes: `with torch.no_grad():` around it keeps "
            "none"
        )
        return
    batch, turn = memory.largest_batch, shortage.turn
    growth = None
    if turn is not None and turn.number > 1:
        growth = memory.find_growth((turn.file, turn.line))
    if growth is not None:
        yield (
            f"each turn of this loop keeps {format_nbytes(growth.bytes)} more: with a "
            "smaller batch the device is full some turns later"
        )
        return
    if batch is not None and turn is not None and turn.loader is not None:
        place = f"`batch_size` at {turn.loader[0]}:{turn.loader[1]}"
        yield _describe_batch(batch, place)
    optimizers = scene.rehearsal.training.optimizers
    name = optimizers[0].name if optimizers else ""
    yield from find_advice(shortage.moment, True, name, "")


def _describe_batch(batch: LargestBatch, place: str) -> str:
    """Return which size of a batch fits."""
    if not batch.size:
        return f"not even 1 as {place} fits (checked by running it)"
    more = f", {batch.size + 1} does not" if batch.is_exact else "; more may fit too"
    return f"{batch.size:,} as {place} fits{more} (checked by running it)"
