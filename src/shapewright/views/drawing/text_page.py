"""An operator call as a page of text, with a mark at dims that do not fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from textwrap import wrap

from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.index_maps.index_map import IndexMap
from shapewright.operators.facts import operators_with
from shapewright.views.drawing.call_sections import format_page_lines, format_sections
from shapewright.views.drawing.grids import (
    BOXES,
    Index,
    Kinds,
    Strokes,
    add_ink,
    build_grid,
    colour_names,
    draw_box,
    format_cell,
    get_element,
    get_widest,
    join_beside,
)
from shapewright.views.drawing.index_map_text import (
    Followed,
    describe_sizes,
    explain_missing_values,
    find_kinds,
    follow,
    format_formulas,
    format_loop,
)
from shapewright.views.drawing.storage import get_places

CONVOLUTIONS = operators_with("is_convolution")
JOINS = operators_with("concatenates") | {"stack"}
Place = tuple[str, int]
"""The name of a tensor, and one of its dims, counted from 0."""
Clash = tuple[Place, Place]

PRODUCTS = operators_with("is_product") - {"__rmatmul__"} | {"addmm", "baddbmm"}
"""Functions whose last two tensors are multiplied in this order."""


def _find_clashes(drawn: Drawn) -> list[Clash]:
    """Return pairs of dims that should have been equal, for known families of calls.

    Example: ``F.linear(f32[8, 256], f32[120, 400])`` clashes in dim 1 of `input` and
    dim 1 of `weight`.
    """
    if not drawn.error or len(drawn.inputs) < 2:
        return []
    last = drawn.name.rpartition(".")[2]
    if last in PRODUCTS:
        return list(_iter_product_clashes(*drawn.inputs[-2:]))
    if last == "linear":
        left, right = drawn.inputs[:2]
        return list(_iter_differing([(left, -1), (right, -1)]))
    if last in CONVOLUTIONS and drawn.arguments.get("groups", 1) == 1:
        left, right = drawn.inputs[:2]
        if len(left.shape) >= len(right.shape) - 1 > 1:
            return list(_iter_differing([(left, 1 - len(right.shape)), (right, 1)]))
    if last in JOINS:
        return list(_iter_joining_clashes(drawn, None if last == "stack" else "dim"))
    if drawn.broadcast:
        return list(_iter_broadcast_clashes(*drawn.inputs[:2]))
    return []


def _iter_product_clashes(left: Side, right: Side) -> Iterator[Clash]:
    """Yield mismatches of columns with rows of the second, then of batch dims."""
    if not left.shape or not right.shape:
        return
    rows = -1 if len(right.shape) == 1 else -2
    yield from _iter_differing([(left, -1), (right, rows)])
    for back in range(3, min(len(left.shape), len(right.shape)) + 1):
        if 1 not in (left.shape[-back], right.shape[-back]):
            yield from _iter_differing([(left, -back), (right, -back)])


def _iter_broadcast_clashes(left: Side, right: Side) -> Iterator[Clash]:
    """Yield pairs of sizes, aligned from the right, that do not broadcast."""
    for back in range(1, min(len(left.shape), len(right.shape)) + 1):
        if 1 not in (left.shape[-back], right.shape[-back]):
            yield from _iter_differing([(left, -back), (right, -back)])


def _iter_joining_clashes(drawn: Drawn, along: str | None) -> Iterator[Clash]:
    """Yield mismatches with the first tensor in dims other than the joined dim."""
    first, *others = drawn.inputs
    dim = drawn.arguments.get("dim", 0) if along else None
    rank = len(first.shape)
    for other in others:
        for axis in range(rank) if len(other.shape) == rank else ():
            if dim is None or axis != dim % rank:
                yield from _iter_differing([(first, axis), (other, axis)])


def _iter_differing(pair: list[tuple[Side, int]]) -> Iterator[Clash]:
    """Yield the pair of dims if their sizes differ."""
    (left, at), (right, to) = pair
    if left.shape[at] != right.shape[to]:
        yield (
            (left.name, at % len(left.shape)),
            (right.name, to % len(right.shape)),
        )


def _describe_clashes(drawn: Drawn, clashes: list[Clash]) -> list[str]:
    """Return a sentence for each mismatch."""
    sizes = {side.name: side.written for side in drawn.inputs}
    return [
        f"dim {at} of `{left}` is {sizes[left][at]}, dim {to} of `{right}` is"
        f" {sizes[right][to]}: they should be equal"
        for (left, at), (right, to) in clashes
    ]


def _format_carets(side: Side, clashes: list[Clash]) -> str:
    """Return carets below the mismatched sizes of a shape, or an empty string."""
    marked = {at for clash in clashes for name, at in clash if name == side.name}
    text = ""
    for dim, size in enumerate(side.written):
        text += " " * (1 if dim == 0 else 2)
        text += ("^" if dim in marked else " ") * len(size)
    return text.rstrip()


MOST_OUTPUTS = 3
"""Outputs whose formulas are shown."""


def format_page(
    drawn: Drawn, width: int = 80, strokes: Strokes = BOXES, inside: bool = False
) -> str:
    """Return the page of a call; `inside` adds where each element lies, costs, autograd
    and dispatch.
    """
    colour = strokes.colour
    followed = follow(drawn) if drawn.maps else None
    every = find_kinds(drawn, followed)

    def painted(lines: Iterable[str]) -> list[str]:
        return [colour_names(line, every, colour) for line in lines]

    title = add_ink(drawn.text or drawn.name, "title", colour)
    parts = [[title], format_sides(drawn, every, colour)]
    parts.append(painted(_wrap_lines(list(drawn.notes), width)))
    if drawn.error:
        parts.append(_wrap_lines(list(drawn.refusal), width))
        parts.append([add_ink(f"torch: {drawn.error}", "error", colour)])
    elif drawn.reason:
        parts.append([add_ink(f"not drawn: {drawn.reason}", "warning", colour)])
    known: set[str] = set()
    for index_map, side in find_explained_maps(drawn):
        parts += map(painted, _describe_map(index_map, side, width, known))
        known |= {stage.name for stage in index_map.stages}
    parts.append(describe_sizes(drawn))
    if drawn.maps:
        seen = _draw_picture(drawn, followed, width, every, strokes)
        parts.append([*seen, *describe_pictured_output(drawn)])
        parts.append(painted(describe_storage(drawn)[0 if inside else -1 :]))
    below = format_page_lines(drawn, inside)
    parts.append(painted(_wrap_lines(below, width)))
    if inside:
        for name, *lines in format_sections(drawn):
            heading = add_ink(name, "title", colour)
            parts.append([heading, *painted(_wrap_lines(lines, width))])
    if drawn.maps:
        parts.append([add_ink(describe_checks(drawn), "plain", colour)])
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _wrap_lines(lines: list[str], width: int) -> list[str]:
    """Return lines of words, wrapped if they are too long."""
    return [part for line in lines for part in _continue_line(line, width)]


def _continue_line(line: str, width: int) -> list[str]:
    """Wrap a line, with continuation lines indented further."""
    if len(line) <= width:
        return [line]
    deep = " " * (len(line) - len(line.lstrip()) + 2)
    return wrap(line, width, subsequent_indent=deep, break_on_hyphens=False)


def find_explained_maps(drawn: Drawn) -> list[tuple[IndexMap, Side]]:
    """Return the outputs to explain: the first, and two of many similar outputs."""
    maps = []
    for number, index_map in enumerate(drawn.maps[:MOST_OUTPUTS]):
        if number > 1 and index_map.sentence == drawn.maps[0].sentence:
            break
        maps.append((index_map, drawn.outputs[number]))
    return maps


def describe_pictured_output(drawn: Drawn) -> list[str]:
    """Return which of several outputs is pictured, and how many are not described."""
    if len(drawn.maps) < 2:
        return []
    untold = len(drawn.maps) - len(find_explained_maps(drawn))
    rest = f"; {untold} more outputs are not shown" if untold else ""
    return [f"the picture is of {drawn.outputs[0].name}{rest}"]


def format_sides(
    drawn: Drawn, styles: Kinds | None = None, colour: bool = False
) -> list[str]:
    """Return the shape of every tensor, one per line, with marks below mismatches."""
    every = [*drawn.inputs, *drawn.outputs]
    wide = max((len(side.name) for side in every), default=0)
    clashes = _find_clashes(drawn)
    lines = []
    for side in every:
        arrow = "->" if side in drawn.outputs else "  "
        name = add_ink(f"{side.name:{wide}}", (styles or {}).get(side.name, ""), colour)
        lines.append(f"{arrow} {name}  {side.shape_text} {side.dtype}")
        if marks := _format_carets(side, clashes):
            lines.append(add_ink(" " * (wide + 5) + marks, "error", colour))
    lettered = any(any(side.letters) for side in every)
    clashing = (
        _describe_clashes(drawn, clashes) if lettered or not drawn.refusal else []
    )
    return [*lines, *([""] if clashing else []), *clashing, *_describe_layer(drawn)]


def _describe_layer(drawn: Drawn) -> list[str]:
    """Return which operator a layer calls, if the drawing shows it."""
    layer = drawn.text.startswith(("nn.", "torch.nn.")) and ")(" in drawn.text
    if not layer or not drawn.name.startswith("torch.nn.functional."):
        return []
    name = f"F.{drawn.name.rpartition('.')[2]}"
    return ["", f"the layer, in evaluation mode, calls `{name}`"]


def _describe_map(
    index_map: IndexMap, side: Side, width: int, known: Collection[str] = ()
) -> list[list[str]]:
    """Return sentence, formulas and loop, without the stages already shown."""
    parts = []
    if index_map.sentence:
        parts.append(wrap(index_map.sentence, width))
    parts.append(
        [
            part
            for line in format_formulas(index_map, side.name, known)
            for part in _wrap_code(line, width)
        ]
    )
    steps = format_loop(index_map, side.name, known)
    parts.append([part for line in steps for part in _wrap_code(line, width, "    ")])
    return parts


def _wrap_code(line: str, width: int, indent: str = "  ") -> list[str]:
    """Return a line of a formula or a loop, wrapped if it is too long."""
    if len(indent) + len(line) <= width:
        return [f"{indent}{line}"]
    bare = line.lstrip()
    indent += " " * min(len(line) - len(bare), width // 2)
    deeper = f"{indent}    "
    return wrap(bare, width, initial_indent=indent, subsequent_indent=deeper)


def _draw_picture(
    drawn: Drawn, followed: Followed | None, width: int, styles: Kinds, strokes: Strokes
) -> list[str]:
    """Return grids of all tensors, with an output element and its reads in brackets."""
    if followed is None:
        return [f"({explain_missing_values(drawn)})"]
    boxes = []
    for side, marks in followed.marks:
        most = max(1, (width - 4) // (get_widest(side, marks) + 2))
        boxes.append(
            draw_box(build_grid(side, marks, most), strokes, styles[side.name])
        )
    lines = join_parts(read_out(drawn, followed), width)
    words = [colour_names(line, styles, strokes.colour) for line in lines]
    return [*join_beside(boxes, width), "", *words]


def join_parts(parts: list[str], width: int) -> list[str]:
    """Join parts into lines without a line break inside a part."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}")
    return lines


def read_out(drawn: Drawn, followed: Followed) -> list[str]:
    """Return the first few of `out[1, 2] = 20 reads input[3, 2] = 20`, in parts."""
    out, index = followed.out, followed.index
    named = {side.name: side for side in (*drawn.inputs, *drawn.stages)}
    value = format_cell(get_element(out.values, index))
    head = f"{_format_element(out.name, index)} = {value}"
    elements = followed.found
    if not elements:
        return [f"{head} reads nothing"]
    few = [
        f"{_format_element(name, place)}"
        f" = {format_cell(get_element(named[name].values, place))}"
        for name, place in elements[:6]
    ]
    ends = [*[","] * (len(few) - 1), ""]
    rest = [f"and {len(elements) - 6} more"] if len(elements) > 6 else []
    parts = [f"{part}{end}" for part, end in zip(few, ends, strict=True)]
    return [f"{head} reads {parts[0]}", *parts[1:], *rest]


def _format_element(name: str, index: Index) -> str:
    """Return `input[3, 2]`."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def describe_checks(drawn: Drawn) -> str:
    """Return the number of elements at which the map was compared with torch."""
    count = f"{drawn.checked} element{'s' * (drawn.checked != 1)}"
    return f"checked: equal to torch at {count}"


def _describe_written(size: int) -> str:
    """Return `1 element is written` or `12 elements are written`."""
    return "1 element is written" if size == 1 else f"{size:,} elements are written"


def describe_storage(drawn: Drawn) -> list[str]:
    """Return the strides, and whether anything was copied."""
    out = drawn.outputs[0]
    lines = []
    for side in (*drawn.inputs, out):
        if side.stride:
            every = get_places(side)
            terms = " + ".join(
                f"{step}*{letter}" if step != 1 else letter
                for step, letter in zip(side.stride, every, strict=True)
            )
            start = f"{side.offset} + " if side.offset else ""
            letters = ", ".join(every)
            lines.append(f"{side.name}[{letters}] is element {start}{terms}")
    last = drawn.name.rpartition(".")[2]
    if out.shares and last.endswith("_") and not last.endswith("__"):
        lines.append(f"in place: `{out.name}` is `{out.shares}`, written")
    elif out.shares:
        lines.append(f"a view: `{out.name}` shares the storage of `{out.shares}`")
    else:
        lines.append(f"new storage: {_describe_written(out.size)}")
    return lines
