"""An operator call as a page of text, with marks at what does not fit."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from textwrap import wrap

from shapewright.index_maps.drawn_calls import Drawn, Side, Unfit
from shapewright.index_maps.index_map import IndexMap
from shapewright.views.drawing.call_sections import format_page_lines, format_sections
from shapewright.views.drawing.followed_elements import (
    Followed,
    explain_missing_values,
    find_kinds,
    follow,
)
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
    describe_sizes,
    format_formulas,
    format_loop,
)
from shapewright.views.drawing.refused_calls import (
    build_refused_grids,
    describe_unfit_dims,
    explain_marks,
)
from shapewright.views.drawing.storage import get_places


def _format_carets(side: Side, unfit: Collection[Unfit]) -> str:
    """Return carets below what does not fit of a shape and a dtype, or ""."""
    parts = [part for part in unfit if part.name == side.name]
    dims = {part.dim for part in parts if part.dim is not None}
    kinds = {part.part for part in parts}
    if "rank" in kinds or "count" in kinds:
        dims |= set(range(len(side.shape)))
    text = ""
    for dim, size in enumerate(side.written):
        text += " " * (1 if dim == 0 else 2)
        text += ("^" if dim in dims else " ") * len(size)
    if kinds & {"dtype", "values"}:
        text = f"{'':{len(side.shape_text) + 1}}{'^' * len(side.dtype)}"
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
        parts.append(_draw_refused(drawn, width, strokes))
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
    lines = []
    for side in every:
        arrow = "->" if side in drawn.outputs else "  "
        name = add_ink(f"{side.name:{wide}}", (styles or {}).get(side.name, ""), colour)
        lines.append(f"{arrow} {name}  {side.shape_text} {side.dtype}")
        if marks := _format_carets(side, drawn.unfit):
            lines.append(add_ink(" " * (wide + 5) + marks, "error", colour))
    lettered = any(any(side.letters) for side in every)
    clashing = describe_unfit_dims(drawn) if lettered else []
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
    axes = followed.axes
    for side, marks in followed.marks:
        most = max(1, (width - 4) // (get_widest(side, marks, axes) + 2))
        grid = build_grid(side, marks, most, axes)
        boxes.append(draw_box(grid, strokes, styles[side.name]))
    lines = join_parts(read_out(drawn, followed), width)
    words = [colour_names(line, styles, strokes.colour) for line in lines]
    return [*join_beside(boxes, width), "", *words]


def _draw_refused(drawn: Drawn, width: int, strokes: Strokes) -> list[str]:
    """Return grids of the tensors that do not fit, with the dims that disagree."""

    def fit(wide: int, count: int) -> int:
        most = (width - 4) // (wide + 2)
        return count if count <= most else max(4, (width // 2 - 6) // (wide + 2))

    grids = build_refused_grids(drawn, fit)
    if not grids:
        return []
    boxes = [draw_box(grid, strokes, "error") for grid in grids]
    return [*join_beside(boxes, width), "", *explain_marks(grids, strokes.missing)]


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
    """Return the first few of `out[1, 2] = 20 reads input[3, 2] = 20`, in parts.

    Of a transposition both elements that change places are read.
    """
    parts = _read_element(drawn, followed)
    if followed.partner is None:
        return parts
    back = [(name, followed.index) for name, _ in followed.found]
    other = replace(followed, index=followed.partner, found=back)
    return [*parts[:-1], f"{parts[-1]};", *_read_element(drawn, other)]


def _read_element(drawn: Drawn, followed: Followed) -> list[str]:
    """Return what an output element reads, in parts."""
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
