"""The sections beside the picture of a call: cost, autograd, dispatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shapewright.index_maps.costs import (
    METADATA,
    Costs,
    RepeatedReads,
    compute_costs,
    find_repeats,
    is_dense,
)
from shapewright.index_maps.drawn_calls import (
    Autograd,
    Called,
    Drawn,
    InputGradient,
    Kept,
    Stored,
)
from shapewright.index_maps.index_map import Read
from shapewright.record.ops import ITEMSIZE
from shapewright.views import formatting
from shapewright.views.drawing.new_tensors import format_making_lines


def _describe_costs(drawn: Drawn) -> list[str]:
    """Return the cost of a call in a line or two."""
    costs = compute_costs(drawn)
    cost = f"cost: {_describe_memory(drawn, costs)}"
    loop = _describe_loop(costs)
    return [cost] if costs.kind in ("view", "same") or not loop else [cost, loop]


def _describe_reading(drawn: Drawn) -> list[str]:
    """Return the cost of a call that returns no tensor, such as `item`."""
    last = drawn.name.rpartition(".")[2]
    if last in METADATA:
        return ["cost: free at any size, the tensor knows it: no element is read"]
    if last == "item":
        return ["cost: one element is read; from a GPU the program waits for it"]
    if last == "tolist":
        size = sum(side.size for side in drawn.inputs)
        return [
            f"cost: {formatting.format_plural(size, 'element')} become Python numbers"
        ]
    return []


def _describe_memory(drawn: Drawn, costs: Costs) -> str:
    """Return the effect on memory, and the arithmetic operations if there are any."""
    if costs.kind == "same":
        return "free, the same elements in the same storage: 0 bytes are moved"
    if costs.kind == "view":
        later = "`out.contiguous()` copies nothing either"
        if costs.copied is not None:
            later = f"a later `out.contiguous()` copies {costs.copied:,} bytes"
        return f"free, 0 bytes are moved; {later}"
    if costs.kind == "new":
        done = "allocated" if _is_empty(drawn) else "written"
        return f"{costs.moved:,} bytes are {done}"
    if costs.kind == "copy":
        return f"a copy, {costs.moved:,} bytes are read and written"
    work = _format_sums(costs)
    if costs.kind == "in place":
        return f"a pass in place over {costs.moved:,} bytes, none are new{work}"
    return f"a pass over {costs.moved:,} bytes of inputs and outputs{work}"


def _is_empty(drawn: Drawn) -> bool:
    """Return whether a call only allocates memory."""
    return drawn.name.rpartition(".")[2].startswith("empty")


def _format_sums(costs: Costs) -> str:
    """Return `: 24 multiplications, 24 additions` if the numbers are few and known."""
    parts = [f"{count:,} {name}" for name, count in (costs.arithmetic or {}).items()]
    return f": {', '.join(parts)}" if 0 < len(parts) <= 3 else ""


def _describe_loop(costs: Costs) -> str:
    """Return a comparison of the naive loop with the single call."""
    if not costs.passes:
        return ""
    calls = f"{costs.calls:,} calls of torch in " if costs.calls is not None else ""
    passes = formatting.format_plural(costs.passes, "pass", "passes")
    return f"1 call of torch; the loop makes {calls}{passes} of Python"


def format_cost_lines(drawn: Drawn) -> list[str]:
    """Return the costs section: the call beside the loop, with operation counts."""
    costs = compute_costs(drawn)
    lines = [_describe_memory(drawn, costs)]
    if not drawn.maps:
        return lines
    free = costs.kind in ("view", "same")
    rows = [
        ("", "torch", "the loop"),
        ("calls of torch", "1", _format_number(costs.calls)),
        ("passes of Python", "0", _format_number(costs.passes)),
    ]
    for name, count in (costs.arithmetic or {}).items():
        rows.append((name, _format_number(count), _format_number(count)))
    rows.append(
        ("elements read", _count_reads(drawn, costs), _format_number(costs.reads))
    )
    written = "0" if free else _format_number(costs.writes)
    rows.append(("elements written", written, _format_number(costs.writes)))
    wide = [max(len(row[n]) for row in rows) for n in range(3)]
    lines += [f"{a:{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}" for a, b, c in rows]
    if None in (costs.calls, costs.reads):
        lines.append(
            "-: not counted, because it depends on values or has no simple formula"
        )
    if costs.kind in ("pass", "in place"):
        lines.append(
            "+: counts each input element once; some kernels read it more often"
        )
    flops = drawn.beside.flops if drawn.beside else None
    if flops:
        lines.append(f"in a trace: {flops:,} FLOPs, a multiply-add counts as two")
    return lines


def _count_reads(drawn: Drawn, costs: Costs) -> str:
    """Return how many elements torch reads, which is at least each input once."""
    if costs.kind in ("view", "same", "new"):
        return "0"
    if costs.kind == "copy":
        return _format_number(costs.reads)
    return f"{sum(side.size for side in drawn.inputs):,}+"


def _format_number(count: int | None) -> str:
    """Return a count as text, or `-` if it is not known."""
    return "-" if count is None else f"{count:,}"


# -- a tensor by itself ----------------------------------------------------------------


def describe_tensor_costs(stored: Stored) -> list[str]:
    """Return which operations on this tensor are free, copy it, or read all of it."""
    side = stored.side
    if not side.stride and side.shape:
        return []
    name, nbytes = side.name, f"{side.size * ITEMSIZE.get(side.dtype, 0):,}"
    free = []
    if side.shape:
        letters = ", ".join("ijklmnpqrs"[: len(side.shape)])
        free = [f"`len({name})` ({side.shape[0]})", f"one element `{name}[{letters}]`"]
    copy = [f"`{name}.clone()`"]
    if len(side.shape) == 2:
        free.append(f"the transpose `{name}.t()`")
        turned = replace(side, shape=side.shape[::-1], stride=side.stride[::-1])
        copy += [] if is_dense(turned) else [f"`{name}.t().contiguous()`"]
    copy += [] if is_dense(side) else [f"`{name}.contiguous()`"]
    count = formatting.format_plural(side.size, "element")
    return [
        f"free at any size: {', '.join([*free, 'any view'])}",
        f"a copy of {nbytes} bytes: {', '.join(copy)}",
        f"a pass over {count}: `{name} + {name}`, `{name} == {name}`",
    ]


MOVES = frozenset(
    """View UnsafeView ReshapeAlias Permute Transpose T Expand Unsqueeze Squeeze Clone
    AsStrided Alias""".split()
)
"""Nodes that only rename: another node is named instead, if there is any."""


def _describe_backward(drawn: Drawn) -> list[str]:
    """Return a line on autograd, and a line for each input that is read repeatedly."""
    autograd = drawn.beside.autograd if drawn.beside else None
    if autograd is None or not (
        autograd.nodes or autograd.reason or autograd.gradients
    ):
        return []
    if autograd.reason:
        return [f"no gradient: {autograd.reason}"]
    if not autograd.nodes:
        return ["backward: the input itself comes back, and gets the gradient"]
    kept = (
        _list_parts(_format_kept(kept_tensor) for kept_tensor in autograd.kept)
        or "nothing"
    )
    having = [gradient for gradient in autograd.gradients if gradient.shape is not None]
    gradients = _list_parts(
        f"`{gradient.name}` {gradient.shape}" for gradient in having
    )
    summary = (
        f"backward: {_find_main_node(autograd)} keeps {kept}; gradients:"
        f" {gradients or 'none'}"
    )
    return [
        summary,
        *(
            line
            for gradient in having
            for line in _describe_broadcast(drawn, gradient.name)
        ),
    ]


def _describe_broadcast(drawn: Drawn, name: str) -> list[str]:
    """Return a line on an input that is read repeatedly: its gradient is a sum."""
    repeats = _find_repeated_dims(drawn, name)
    if repeats is None or repeats.loops or not repeats.dims or not repeats.times:
        return []
    if len(drawn.maps) != 1 or any(
        read.tensor == name for read in _find_looped_reads(drawn)
    ):
        return []
    return [
        f"`{name}` is read {formatting.format_times(repeats.times)}, 0 copies: its"
        f" gradient sums over {_format_out_dims(repeats)}"
    ]


def _find_looped_reads(drawn: Drawn) -> tuple[Read, ...]:
    """Return the reads that are inside a loop of the map."""
    first_map = drawn.maps[0]
    return first_map.reads if first_map.loops else ()


def _find_main_node(autograd: Autograd) -> str:
    """Return the node that does the main work."""
    names = [name.partition("Backward")[0] for name in autograd.nodes]
    place = next((n for n, name in enumerate(names) if name not in MOVES), 0)
    return autograd.nodes[place]


def _format_kept(kept_tensor: Kept) -> str:
    """Return a short description of a kept tensor."""
    if kept_tensor.name:
        return f"`{kept_tensor.name}`"
    return f"{kept_tensor.shape} {kept_tensor.dtype} of its own"


def _list_parts(parts: Iterable[str]) -> str:
    """Return `a, b and c`, without duplicates."""
    every = list(dict.fromkeys(parts))
    if len(every) > 6:
        every = [*every[:5], f"{len(every) - 5} more"]
    return " and ".join([", ".join(every[:-1]), every[-1]]) if every[1:] else (
        every[0] if every else ""
    )  # fmt: skip


def _find_repeated_dims(drawn: Drawn, name: str) -> RepeatedReads | None:
    """Return the dims along which an input is reread, or None without a single map."""
    shapes = {side.name: side.shape for side in drawn.inputs}
    if len(drawn.maps) != 1 or name not in shapes:
        return None
    return find_repeats(drawn.maps[0], name, shapes[name])


def _format_out_dims(repeats: RepeatedReads) -> str:
    """Return `dim 0 of `out`` or `dims 0 and 1 of `out``."""
    many = "s" if repeats.dims[1:] else ""
    return f"dim{many} {_list_parts(map(str, repeats.dims))} of `out`"


# -- the section -----------------------------------------------------------------------


def format_backward_lines(drawn: Drawn) -> list[str]:
    """Return the autograd section: graph, kept tensors, gradients, writes."""
    assert drawn.beside is not None
    autograd = drawn.beside.autograd
    lines = _format_versions(autograd)
    if autograd.reason:
        return [f"no gradient: {autograd.reason}", *lines]
    lines = [_format_graph(autograd), *_format_kept_lines(autograd), *lines]
    lines.append("gradients, if every input requires one:")
    wide = max((len(gradient.name) for gradient in autograd.gradients), default=0)
    for gradient in autograd.gradients:
        lines.append(f"  {gradient.name:{wide}}  {_describe_gradient(drawn, gradient)}")
    for what, reason in autograd.refused:
        lines.append(f"{what}: torch refuses: {reason}")
    return lines


def _format_graph(autograd: Autograd) -> str:
    """Return the nodes that backward runs, in order."""
    if not autograd.nodes:
        return "no grad_fn: the input itself comes back"
    rest = f", then {', '.join(autograd.nodes[1:])}" if autograd.nodes[1:] else ""
    return f"grad_fn: {autograd.nodes[0]}{rest}"


def _format_kept_lines(autograd: Autograd) -> list[str]:
    """Return the tensors that stay in memory until backward, with their costs."""
    if not autograd.kept:
        return ["kept until backward: nothing"]
    wide = max(len(kept_tensor.name or "another") for kept_tensor in autograd.kept)
    lines = ["kept until backward:"]
    for kept_tensor in autograd.kept:
        cost = f"{kept_tensor.nbytes:,} bytes of its own"
        if kept_tensor.name:
            seen = "a view of it, " if kept_tensor.view else ""
            cost = f"{seen}no memory of its own"
        name = kept_tensor.name or "another"
        lines.append(
            f"  {name:{wide}}  {kept_tensor.shape} {kept_tensor.dtype}: {cost}"
        )
    named = _list_parts(
        f"`{kept_tensor.name}`" for kept_tensor in autograd.kept if kept_tensor.name
    )
    if named:
        lines.append(f"{named} must not be written in place before backward")
    return lines


def _format_versions(autograd: Autograd) -> list[str]:
    """Return the version counters of the tensors that were written."""
    return [
        f"written in place: `{name}._version` goes from {before} to {after}"
        for name, before, after in autograd.written
    ]


def _describe_gradient(drawn: Drawn, gradient: InputGradient) -> str:
    """Return the shape and sum of an input's gradient, or why it has none."""
    if gradient.shape is None:
        return f"none: {gradient.reason}"
    text = str(gradient.shape)
    if gradient.reason:
        text += f", {gradient.reason}"
    return f"{text}{_describe_terms(_find_repeated_dims(drawn, gradient.name))}"


def _describe_terms(repeats: RepeatedReads | None) -> str:
    """Return what the backward pass adds up for an element of an input's gradient."""
    if repeats is None or repeats.times == 1:
        return ""
    if repeats.chosen:
        return ": 0 where nothing was read, a sum where something was read again"
    if repeats.times is None:
        return ": the sum over all elements of `out` that read it"
    over = [_format_out_dims(repeats)] if repeats.dims else []
    over += [f"the loop of `{letter}`" for letter in repeats.loops]
    read = f"each element is read {formatting.format_times(repeats.times)}, 0 copies"
    return f": {read}; it sums over {_list_parts(over)}"


MOST = 40
"""Calls that are shown, at most."""


def _describe_dispatch(drawn: Drawn) -> list[str]:
    """Return `torch.gather -> aten::gather -> AutogradCPU -> CPU`, or "" if unknown."""
    calls = drawn.beside.dispatch.calls if drawn.beside else ()
    return [f"way: {' -> '.join(_find_steps(drawn, calls))}"] if calls else []


def _find_steps(drawn: Drawn, calls: tuple[Called, ...]) -> list[str]:
    """Return the steps to the kernels, as far as they form a single path."""
    first = calls[0]
    parts = [_shorten_name(drawn.name), first.name]
    if len(every := [call for call in calls if call.depth == 0]) > 1:
        return [parts[0], _format_calls(every)]
    while first.composite:
        inner = [call for call in _find_children(calls, first) if not _is_check(call)]
        if len(inner) != 1:
            named = _format_calls(inner)
            return [*parts, named] if named else parts
        first = inner[0]
        parts.append(first.name)
    return [*parts, *first.keys]


def _is_check(call: Called) -> bool:
    """Return whether a call only checks if there is something to do."""
    return call.name in ("aten::to", "aten::_nnpack_available")


def _format_calls(calls: list[Called]) -> str:
    """Return `aten::t, aten::addmm`."""
    names = list(dict.fromkeys(call.name for call in calls))
    return ", ".join(names[:6]) + (", ..." if names[6:] else "")


def _find_children(calls: tuple[Called, ...], caller: Called) -> list[Called]:
    """Return the calls that a call makes."""
    children = []
    place = next(n for n, other in enumerate(calls) if other is caller)
    for other in calls[place + 1 :]:
        if other.depth <= caller.depth:
            break
        if other.depth == caller.depth + 1:
            children.append(other)
    return children


def _shorten_name(name: str) -> str:
    """Return `F.linear` for `torch.nn.functional.linear`."""
    return name.replace("torch.nn.functional.", "F.")


def format_dispatch_lines(drawn: Drawn) -> list[str]:
    """Return the dispatch section: operators with keys, inner calls indented."""
    assert drawn.beside is not None
    dispatch = drawn.beside.dispatch
    if dispatch.reason or not dispatch.calls:
        return [dispatch.reason or "not known"]
    shown = dispatch.calls[:MOST]
    lines = [_shorten_name(drawn.name)]
    wide = max(len(call.name) + 2 * call.depth for call in shown)
    for call in shown:
        name = f"{'  ' * call.depth}{call.name}"
        keys = " -> ".join(call.keys)
        node = _format_node(call, drawn.beside.autograd)
        lines.append(f"  {name:{wide}}  {keys}{node}".rstrip())
    if dispatch.calls[MOST:]:
        lines.append(f"  … {len(dispatch.calls) - MOST} more calls")
    keys_shown = {key for call in shown for key in call.keys}
    return [*lines, *(f"{key}: {MEANS[key]}" for key in MEANS if key in keys_shown)]


MEANS = {
    "CompositeImplicitAutograd": "made of the calls below it, which have the gradients",
    "CompositeExplicitAutograd": "one kernel for every backend, made of other calls",
    "ADInplaceOrView": "counts versions, and knows views of each other",
    "BackendSelect": "chooses the backend by the requested device",
}
"""Explanations of dispatch keys that are not the name of a device."""


def _format_node(call: Called, autograd: Autograd) -> str:
    """Return the node that autograd made for an operator: ` (GatherBackward0)`."""
    if not any(key.startswith("Autograd") for key in call.keys):
        return ""
    plain = call.name.removeprefix("aten::").partition(".")[0].strip("_")
    due = "".join(part.capitalize() for part in plain.split("_")).lower()
    for name in autograd.nodes:
        if name.partition("Backward")[0].lower() == due:
            return f"  ({name})"
    return ""


def format_page_lines(drawn: Drawn, inside: bool = True) -> list[str]:
    """Return the lines of every page: new tensors; if `inside`, costs, backward,
    dispatch.
    """
    if drawn.error:
        return []
    if not drawn.outputs:
        return _describe_reading(drawn)
    making_lines = format_making_lines(drawn)
    if not inside:
        return making_lines
    lines = [*making_lines, *_describe_costs(drawn)]
    return (
        lines
        if making_lines
        else [*lines, *_describe_backward(drawn), *_describe_dispatch(drawn)]
    )


def format_sections(drawn: Drawn) -> list[list[str]]:
    """Return the sections that are shown on request."""
    if drawn.error or not drawn.outputs:
        return []
    sections = [_format_section("costs", format_cost_lines(drawn))]
    if drawn.beside is not None:
        sections.append(_format_section("autograd", format_backward_lines(drawn)))
        sections.append(_format_section("dispatch", format_dispatch_lines(drawn)))
    return sections


def _format_section(name: str, lines: list[str]) -> list[str]:
    """Return a heading with its lines below it."""
    return [name, *(f"  {line}" for line in lines)]
