"""The memory of a step as SVG: what lives over its allocations and frees, by kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapewright.record.memory import (
    ACTIVATIONS,
    BUFFERS,
    CACHE,
    GRADIENTS,
    INPUTS,
    OPTIMIZER,
    PARAMETERS,
    TEMPORARY,
    WORKSPACES,
    Memory,
)
from shapewright.views.drawing.svg_canvas import MONO, PAD, Canvas
from shapewright.views.formatting import format_nbytes

WIDTH = 860.0
HEIGHT = 300.0
LEFT = 90.0
SIZE = 12.0

COLUMNS = 700
"""Points across a drawing, at most."""

GRANULARITY = 512
"""What a GPU's allocator rounds sizes up to."""

ORDER = (
    PARAMETERS, BUFFERS, OPTIMIZER, GRADIENTS, INPUTS, CACHE, ACTIVATIONS, TEMPORARY,
    WORKSPACES,
)  # fmt: skip
"""The kinds from the bottom up: what stays is below."""

COLOURS = {
    PARAMETERS: ("#6e7781", "#8b949e"), BUFFERS: ("#afb8c1", "#57606a"),
    OPTIMIZER: ("#8250df", "#a371f7"), GRADIENTS: ("#bf3989", "#db61a2"),
    INPUTS: ("#1a7f37", "#3fb950"), ACTIVATIONS: ("#0969da", "#58a6ff"),
    CACHE: ("#8250df", "#a371f7"), TEMPORARY: ("#d4a72c", "#bb8009"),
    WORKSPACES: ("#57606a", "#8b949e"),
}  # fmt: skip
"""The light and the dark colour of each kind."""

UNITS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True, slots=True)
class _Column:
    """What lives in a stretch of the step, where it has the most bytes."""

    phase: str
    sizes: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.sizes)


def draw_timeline_svg(memory: Memory) -> str:
    """Return the last step as one self-contained picture, for light and dark."""
    canvas = Canvas(WIDTH)
    canvas.lines([memory.target], "text mono bold", 15, after=2)
    canvas.lines([_describe_numbers(memory)], "soft sans", SIZE, after=14)
    columns = _join_columns(list(_list_columns(memory)))
    if not columns:
        canvas.lines(["nothing was recorded"], "soft sans")
        return canvas.page(memory.target, "nothing was recorded")
    canvas.parts.append(f"<style>{_write_style()}</style>")
    top = canvas.y
    most = max(column.total for column in columns) * 1.06
    _draw_axis(canvas, top, most)
    _draw_areas(canvas, columns, top, most)
    _draw_phases(canvas, columns, top)
    _draw_peak(canvas, memory, columns, top, most)
    canvas.y = top + HEIGHT + 34
    _draw_legend(canvas, memory)
    return canvas.page(memory.target, _describe_numbers(memory))


def _describe_numbers(memory: Memory) -> str:
    """Return ``4.3 GiB of tensors, 5.5 GiB reserved on RTX 4090 24GB: fits``."""
    text = f"{format_nbytes(memory.peak.bytes)} of tensors"
    if memory.reserved is not None:
        text += f", {format_nbytes(memory.reserved)} reserved"
    verdict = f": {memory.verdict}" if memory.verdict else ""
    return f"{text} on {memory.device}{verdict}"


def _write_style() -> str:
    """Return the colours of the kinds."""
    light, dark = (
        "".join(
            f".sw-{kind}{{fill:{colours[night]}}}" for kind, colours in COLOURS.items()
        )
        for night in (0, 1)
    )
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _list_columns(memory: Memory) -> Iterator[_Column]:
    """Yield what lives after each event of the last step."""
    events = memory.events.events
    step = min(memory.events.steps, max((event.step for event in events), default=0))
    rounding = 1 if memory.reserved is None else GRANULARITY
    sizes: dict[int, int] = {}
    sums = dict.fromkeys(ORDER, 0)
    for event in events:
        size = -(-event.bytes // rounding) * rounding
        kind = memory.events.storages[event.storage].kind
        sums[kind] += size - sizes.get(event.storage, 0)
        sizes[event.storage] = size
        if event.step == step:
            yield _Column(event.phase, tuple(sums.values()))


def _join_columns(columns: Sequence[_Column]) -> list[_Column]:
    """Return at most `COLUMNS`, each the largest of its stretch and phase."""
    width = -(-len(columns) // COLUMNS)
    joined: list[_Column] = []
    count = width
    for column in columns:
        if count == width or joined[-1].phase != column.phase:
            joined.append(column)
            count = 1
            continue
        count += 1
        joined[-1] = max(joined[-1], column, key=lambda c: c.total)
    return joined


def _draw_axis(canvas: Canvas, top: float, most: float) -> None:
    """Draw lines at round numbers of bytes."""
    scale = 1 << max((int(most).bit_length() - 1) // 10 * 10, 0)
    unit = next(
        (n for n in UNITS if most / scale / n <= 5), UNITS[-1]
    ) if most >= scale else 1  # fmt: skip
    for at in range(int(most / scale / unit) + 1):
        y = top + HEIGHT * (1 - at * unit * scale / most)
        canvas.path(f"M{LEFT:g} {y:.1f}H{WIDTH - PAD:g}", "frame")
        label = format_nbytes(at * unit * scale) if at else "0"
        canvas.text(LEFT - 8, y + 4, label, "soft mono", 11, "end")


def _draw_areas(
    canvas: Canvas, columns: Sequence[_Column], top: float, most: float
) -> None:
    """Draw a band for each kind, one on the other."""
    wide = (WIDTH - PAD - LEFT) / len(columns)
    below = [0] * len(columns)
    for place, kind in enumerate(ORDER):
        above = [
            b + column.sizes[place] for b, column in zip(below, columns, strict=True)
        ]
        if above != below:
            edge = _trace_edge(above, wide, top, most, forward=True)
            foot = _trace_edge(below, wide, top, most, forward=False)
            canvas.path(f"M{edge}L{foot}Z", kind)
        below = above


def _trace_edge(
    sizes: Sequence[int], wide: float, top: float, most: float, *, forward: bool
) -> str:
    """Return the steps of a band's edge, in one direction or the other."""
    points: list[tuple[float, float]] = []
    for at, size in enumerate(sizes):
        x, y = LEFT + at * wide, top + HEIGHT * (1 - size / most)
        if len(points) > 1 and points[-1][1] == y:
            points[-1] = x + wide, y
        else:
            points += [(x, y), (x + wide, y)]
    if not forward:
        points.reverse()
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _draw_phases(canvas: Canvas, columns: Sequence[_Column], top: float) -> None:
    """Name the phases below, with a line where each begins."""
    wide = (WIDTH - PAD - LEFT) / len(columns)
    last, free_from = "", 0.0
    for at, column in enumerate(columns):
        if column.phase == last:
            continue
        last = column.phase
        x = LEFT + at * wide
        canvas.path(f"M{x:.1f} {top:g}V{top + HEIGHT + 18:g}", "frame")
        if x >= free_from:
            canvas.text(x + 4, top + HEIGHT + 15, last, "soft sans", 11)
            free_from = x + 8 + len(last) * 7


def _draw_peak(
    canvas: Canvas,
    memory: Memory,
    columns: Sequence[_Column],
    top: float,
    most: float,
) -> None:
    """Mark the peak, with the line of the program that is there."""
    wide = (WIDTH - PAD - LEFT) / len(columns)
    at = max(range(len(columns)), key=lambda n: columns[n].total)
    x = LEFT + (at + 0.5) * wide
    y = top + HEIGHT * (1 - columns[at].total / most)
    peak = memory.peak
    place = f" at {peak.file}:{peak.line}" if peak.file else ""
    text = f"{format_nbytes(peak.bytes)}{place}"
    is_left = x + len(text) * 11 * MONO > WIDTH - PAD
    canvas.text(x, y - 4, text, "text mono bold", 11, "end" if is_left else "")


def _draw_legend(canvas: Canvas, memory: Memory) -> None:
    """Name the kinds, with the bytes of each at the peak."""
    x = LEFT
    kinds = sorted(memory.peak.kinds.items(), key=lambda pair: -pair[1])
    for kind, size in kinds:
        if not size:
            continue
        text = f"{kind} {format_nbytes(size)}"
        wide = 16 + len(text) * SIZE * MONO + 18
        if x + wide > WIDTH:
            x = LEFT
            canvas.y += 20
        canvas.parts.append(
            f'<rect x="{x:g}" y="{canvas.y:g}" width="10" height="10" rx="2" '
            f'class="sw-{kind}"/>'
        )
        canvas.text(x + 16, canvas.y + 9, text, "text mono", SIZE)
        x += wide
    canvas.y += 24
