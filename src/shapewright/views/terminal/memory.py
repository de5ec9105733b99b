"""The memory of a step, as text: its peak, whether it fits, what lives at it.

activations   9.8 GiB  69%  ████████████████████
"""

from __future__ import annotations

from collections.abc import Sequence

from shapewright.record.memory import (
    ACTIVATIONS,
    DECODE,
    FITS,
    LAST_TOKEN,
    PREFILL,
    TIGHT,
    Generation,
    HeldBytes,
    LargestBatch,
    Memory,
    PeakFormula,
    TimelinePoint,
)
from shapewright.record.rehearsed_memory import RehearsedMemory
from shapewright.views.formatting import (
    ASCII,
    UNICODE,
    Line,
    Terminal,
    count_cells,
    cut_left,
    cut_text,
    format_duration,
    format_flops,
    format_nbytes,
    pad,
    render_lines,
)
from shapewright.views.terminal.memory_changes import format_changes
from shapewright.views.terminal.totals import label_text

LINES = 5
"""Lines of the program that are shown."""

MOST_KINDS = 4
"""Kinds of what lives at the peak of a rehearsed script that are named."""

LABEL = 13
NUMBER = 9
SHARE = 4

TOKENS = {
    PREFILL: "for the prompt",
    DECODE: "for the first token after it",
    LAST_TOKEN: "for the last token",
}
"""What a phase of a generation is."""

LEVELS = " ▁▂▃▄▅▆▇█"
PLAIN_LEVELS = " .:-=+*%#"


def format_memory(
    memory: Memory, width: int | None = None, colour: bool = False, unicode: bool = True
) -> str:
    """Return the peak, whether it fits, what lives at it and what would help."""
    terminal = Terminal(max(width or 100, 60), colour, UNICODE if unicode else ASCII)
    return render_lines(_format_page(memory, terminal), colour)


def _format_page(memory: Memory, terminal: Terminal) -> list[Line]:
    lines: list[Line] = [
        [(memory.target, "title"), (f"  {memory.spec}".rstrip(), "plain")],
        [(_describe_step(memory), "plain")],
        [],
    ]
    if not memory.complete:
        lines += _format_error(memory, terminal)
    if not memory.peak.bytes:
        return lines
    lines += _format_numbers(memory, terminal)
    lines += _format_work(memory, terminal)
    lines += [[], *_format_kinds(memory, terminal)]
    if memory.peak.lines:
        lines += [[], *_format_activations(memory, terminal)]
    lines += [[], *_format_timeline(memory, terminal)]
    if memory.what_if is not None:
        lines += [[], *format_changes(memory, terminal)]
    elif memory.advice:
        lines.append([])
        for at, text in enumerate(memory.advice):
            lines += label_text("" if at else "would help", text, terminal)
    notes = list(memory.notes)
    if notes:
        lines.append([])
        for at, text in enumerate(notes):
            lines += label_text("" if at else "note", text, terminal)
    return lines


def _describe_step(memory: Memory) -> str:
    """Return ``a training step with AdamW on H100 80GB``."""
    under = f", under autocast in {memory.autocast}" if memory.autocast else ""
    if memory.generation is not None:
        counts = memory.generation.tokens, memory.generation.prompt
        tokens = "{:,} tokens after {:,}".format(*counts)
        return f"a generation of {tokens}, on {memory.device}{under}"
    if not memory.training:
        return f"forward under `no_grad`, in evaluation, on {memory.device}{under}"
    optimizer = memory.optimizer or "no optimizer"
    return f"a training step with {optimizer} on {memory.device}{under}"


def _format_error(memory: Memory, terminal: Terminal) -> list[Line]:
    error = memory.events.error
    assert error is not None
    place = f", at {error.span.file}:{error.span.line}" if error.span else ""
    lines = label_text("error", f"{error.message}{place}", terminal)
    hint = "nothing after that is counted; `shapewright check` explains it"
    return [*lines, *label_text("", hint, terminal), []]


def format_rehearsed_memory(memory: RehearsedMemory, terminal: Terminal) -> list[Line]:
    """Return the memory of a rehearsed script: its peak, what lives there, the verdict.

    memory       2.6 GiB of tensors at the peak, in backward, turn 2 of 9 of train.py:48
    """
    peak, turn = memory.peak, memory.turn
    when = f"in {peak.phase}"
    if turn is not None:
        of = f" of {turn.total:,}" if turn.total is not None else ""
        when += f", turn {turn.number:,}{of} of {turn.file}:{turn.line}"
    kinds = sorted(peak.kinds.items(), key=lambda pair: -pair[1])
    held = [f"{kind} {format_nbytes(size)}" for kind, size in kinds if size]
    lines = label_text(
        "memory",
        f"{format_nbytes(peak.bytes)} of tensors at the peak, {when}",
        terminal,
    )
    lines += label_text("", ", ".join(held[:MOST_KINDS]), terminal)
    lines += _format_total(memory, terminal)
    notes = list(memory.notes)
    if memory.run.ended_early:
        notes.append(f"counted until the script ended early: {memory.run.ended_early}")
    for note in notes:
        lines += label_text("", note, terminal)
    return lines


def _format_numbers(memory: Memory, terminal: Terminal) -> list[Line]:
    """Return the three numbers, and whether they fit."""
    peak = memory.peak
    place = f", at {peak.file}:{peak.line}" if peak.file else ""
    op = f" by {peak.op}" if peak.op else ""
    module = f" in {peak.module}" if peak.module else ""
    lines = label_text(
        "peak",
        f"{format_nbytes(peak.bytes)} of tensors, in {peak.phase}{place}{op}{module}",
        terminal,
    )
    if memory.formula is not None:
        lines += label_text("formula", _describe_formula(memory.formula), terminal)
    if memory.generation is not None:
        lines += label_text("cache", _describe_cache(memory.generation), terminal)
    lines += _format_total(memory, terminal)
    if memory.largest_batch is not None:
        lines += label_text("largest", _describe_batch(memory.largest_batch), terminal)
    return lines


def _describe_formula(formula: PeakFormula) -> str:
    """Return ``98304*B + 4000 bytes (holds in 3 runs, up to B = 24)``."""
    last = ", ".join(
        f"{letter} = {size}"
        for letter, size in zip(formula.letters, formula.tried[-1], strict=True)
    )
    return f"{formula.text} bytes (holds in {len(formula.tried)} runs, up to {last})"


def _describe_cache(generation: Generation) -> str:
    """Return what a cache takes at the end, and what each token adds."""
    text = f"{format_nbytes(generation.cache)} after the last token"
    if generation.cache_per_token is None:
        return f"{text}, {format_nbytes(generation.cache_of_prompt)} after the prompt"
    return f"{text}, {format_nbytes(generation.cache_per_token)} for each"


def _format_total(memory: Memory | RehearsedMemory, terminal: Terminal) -> list[Line]:
    """Return what the allocator reserves, what a process has, and whether it fits."""
    lines: list[Line] = []
    total = memory.total
    if total is None:
        return lines
    if memory.reserved is None:  # of a Mac
        text = f"{format_nbytes(total.low)} to {format_nbytes(total.high)}"
        lines += label_text("in all", f"{text}, with Metal's allocator", terminal)
        if memory.verdict:
            lines.append(_format_verdict(memory))
        return lines
    reserved = f"{format_nbytes(memory.reserved)} by torch's allocator"
    if memory.allocated is not None:
        allocated = format_nbytes(memory.allocated)
        if allocated != format_nbytes(memory.peak.bytes):
            reserved += f", which counts {allocated} as allocated"
    lines += label_text("reserved", reserved, terminal)
    lines += label_text(
        "in all",
        f"{format_nbytes(total.low)} to {format_nbytes(total.high)}, with a CUDA"
        " context",
        terminal,
    )
    if memory.verdict:
        lines.append(_format_verdict(memory))
    return lines


def _format_verdict(memory: Memory | RehearsedMemory) -> Line:
    """Return whether the step fits on the device, and by how much."""
    assert memory.capacity is not None
    assert memory.total is not None
    low, high = memory.capacity
    size = format_nbytes(high)
    if low != high:
        size = f"{format_nbytes(low)} to {size}"
    verdict = memory.verdict
    if verdict == FITS:
        rest = f"{format_nbytes(low - memory.total.high)} or more of {size} are left"
        return [(f"{'fits':{LABEL}}", "out"), (f"yes: {rest}", "out")]
    if verdict == TIGHT:
        rest = f"within what is not known, of {size}"
        return [(f"{'fits':{LABEL}}", "warning"), (f"perhaps: {rest}", "warning")]
    missing = memory.total.low - high
    rest = f"{format_nbytes(missing)} or more are missing, of {size}"
    if missing <= 0:  # so much only in turns of a loop that were left out
        rest = f"a later turn of a loop fills its {size}"
    return [(f"{'fits':{LABEL}}", "error"), (f"no: {rest}", "error")]


def _describe_batch(batch: LargestBatch) -> str:
    """Return ``B = 71 fits, 72 does not (5 sizes were run)``."""
    count = len(batch.tried)
    runs = f"({count} sizes were run)" if count > 1 else "(1 size was run)"
    if not batch.size:
        return f"not even {batch.letter} = {min(batch.tried)} fits {runs}"
    if batch.is_exact:
        return f"{batch.letter} = {batch.size} fits, {batch.size + 1} does not {runs}"
    return f"{batch.letter} = {batch.size} fits; a larger one may too {runs}"


def _format_work(memory: Memory, terminal: Terminal) -> list[Line]:
    """Return the FLOPs of the step, and the time that it takes at best."""
    lines: list[Line] = []
    phases: dict[str, int] = {}
    for (phase, _), count in memory.events.sum_flops().items():
        phases[phase] = phases.get(phase, 0) + count
    if memory.generation is not None:
        return _format_tokens(memory, phases, terminal)
    if phases:
        text = format_flops(sum(phases.values()))
        parts = [f"{format_flops(count)} {phase}" for phase, count in phases.items()]
        text += f": {', '.join(parts)}" if len(parts) > 1 else ""
        moved = sum(work.bytes for work in memory.events.kernels)
        ran = sum(work.flops for work in memory.events.kernels)
        text += f"; {ran / moved:,.0f} a byte read or written"
        lines += label_text("arithmetic", text, terminal)
    if memory.estimate is not None:
        total = format_duration(sum(memory.estimate.seconds.values()))
        share = f"{memory.estimate.arithmetic:.0%}"
        text = (
            f"{total} a step by data-sheet rates, an estimate; {share} of it bound by "
            "arithmetic"
        )
        lines += label_text("at best", text, terminal)
    return lines


def _format_tokens(
    memory: Memory, flops: dict[str, int], terminal: Terminal
) -> list[Line]:
    """Return the FLOPs of the prompt and of a token, and their times at best."""
    lines: list[Line] = []
    if flops:
        parts = [f"{format_flops(flops[name])} {TOKENS[name]}" for name in flops]
        lines += label_text("arithmetic", ", ".join(parts), terminal)
    if memory.estimate is not None:
        seconds = memory.estimate.seconds
        parts = [f"{format_duration(seconds[name])} {TOKENS[name]}" for name in seconds]
        text = f"{', '.join(parts)}, by data-sheet rates, an estimate"
        lines += label_text("at best", text, terminal)
    return lines


def _format_kinds(memory: Memory, terminal: Terminal) -> list[Line]:
    """Return a bar for each kind of which bytes live at the peak."""
    peak = memory.peak
    lines = []
    room = terminal.width - LABEL - NUMBER - SHARE - 6
    kinds = sorted(peak.kinds.items(), key=lambda pair: -pair[1])
    for kind, size in kinds:
        if size:
            style = "name" if kind == ACTIVATIONS else ""
            bar = _draw_bar(size / peak.bytes, min(room, 40), terminal)
            lines.append(
                [
                    (f"{kind:{LABEL}}", style),
                    (f"{format_nbytes(size):>{NUMBER}}  ", ""),
                    (f"{size / peak.bytes:>{SHARE}.0%}  ", "plain"),
                    (bar, style),
                ]
            )
    return lines


def _draw_bar(share: float, room: int, terminal: Terminal) -> str:
    """Return a bar of as much of the room as the share; something is never nothing."""
    mark = "█" if terminal.glyphs is UNICODE else "#"
    return mark * max(round(share * room), 1)


def _format_activations(memory: Memory, terminal: Terminal) -> list[Line]:
    """Return the lines of the program that hold most of the activations."""
    peak = memory.peak
    shown = peak.lines[:LINES]
    by_line = any(held.file for held in shown)
    what = "lines" if by_line else "modules"
    lines: list[Line] = [[(f"{what} that hold most activations", "bold")]]
    room = max(count_cells(held.place) for held in shown)
    room = min(room, terminal.width // 2)
    for held in shown:
        place = pad(cut_left(held.place, room, terminal.glyphs.cut), room)
        share = held.bytes / peak.bytes
        start = f"{format_nbytes(held.bytes):>{NUMBER}}  {share:>{SHARE}.0%}  "
        detail = _describe_held(held, by_line)
        left = terminal.width - 2 - count_cells(start) - room - 2
        lines.append(
            [
                ("  ", ""),
                (place, "name"),
                ("  ", ""),
                (start, ""),
                (cut_text(detail, max(left, 0), terminal.glyphs.cut), "plain"),
            ]
        )
    rest = peak.lines[LINES:]
    if rest:
        size = format_nbytes(sum(held.bytes for held in rest))
        lines.append([(f"  and {size} at {len(rest)} more", "plain")])
    return lines


def _describe_held(held: HeldBytes, by_line: bool) -> str:
    """Return ``for gelu, addmm in blocks.*.mlp``."""
    text = f"for {', '.join(filter(None, held.saved_by))}" if any(held.saved_by) else ""
    if by_line and held.module:
        text = f"{text} in {held.module}"
    return text


def _fit_timeline(
    points: Sequence[TimelinePoint], room: int
) -> Sequence[TimelinePoint]:
    """Return the points, or the larger of each two of a phase if they are too many."""
    if len(points) <= room:
        return points
    joined: list[TimelinePoint] = []
    is_open = False
    for point in points:
        if is_open and joined[-1].phase == point.phase:
            joined[-1] = max(joined[-1], point, key=lambda p: p.bytes)
            is_open = False
        else:
            joined.append(point)
            is_open = True
    return _fit_timeline(joined, room) if len(joined) < len(points) else points


def _format_timeline(memory: Memory, terminal: Terminal) -> list[Line]:
    """Return the course of memory over the step, and the phases below it."""
    levels = LEVELS if terminal.glyphs is UNICODE else PLAIN_LEVELS
    most = memory.peak.bytes
    marks = ""
    phases: list[tuple[str, int]] = []
    for point in _fit_timeline(memory.timeline, terminal.width - LABEL - 1):
        level = max(1, round(point.bytes / most * (len(levels) - 1))) if most else 0
        marks += levels[min(level, len(levels) - 1)]
        if phases and phases[-1][0] == point.phase:
            phases[-1] = point.phase, phases[-1][1] + 1
        else:
            phases.append((point.phase, 1))
    below = "".join(
        pad(cut_text(f"{terminal.glyphs.rule}{phase}", count, ""), count)
        for phase, count in phases
    )
    label = f"{'over the step':{LABEL}}"
    return [
        [(f"{label} ", "plain"), (marks, "name")],
        [(" " * (LABEL + 1), ""), (below, "plain")],
    ]
