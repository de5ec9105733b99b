"""The way of a call from Python to its kernels, in words."""

from __future__ import annotations

from shapewright.rules.maps.beside import Autograd, Called
from shapewright.rules.maps.drawn import Drawn

MOST = 40
"""Calls that are shown."""


def told_of_way(drawn: Drawn) -> list[str]:
    """`torch.gather -> aten::gather -> AutogradCPU -> CPU`; nothing where unknown."""
    calls = drawn.beside.dispatch.calls if drawn.beside else ()
    return [f"way: {' -> '.join(steps(drawn, calls))}"] if calls else []


def steps(drawn: Drawn, calls: tuple[Called, ...]) -> list[str]:
    """The steps of the way, as far as it is one way."""
    first = calls[0]
    parts = [short_name(drawn.name), first.name]
    if len(every := [one for one in calls if one.depth == 0]) > 1:
        return [parts[0], calls_named(every)]
    while first.composite:
        inner = [one for one in children(calls, first) if not first_is_look(one)]
        if len(inner) != 1:
            named = calls_named(inner)
            return [*parts, named] if named else parts
        first = inner[0]
        parts.append(first.name)
    return [*parts, *first.keys]


def first_is_look(one: Called) -> bool:
    """Whether a call does nothing but look whether there is something to do."""
    return one.name in ("aten::to", "aten::_nnpack_available")


def calls_named(calls: list[Called]) -> str:
    """`aten::t, aten::addmm`."""
    names = list(dict.fromkeys(one.name for one in calls))
    return ", ".join(names[:6]) + (", ..." if names[6:] else "")


def children(calls: tuple[Called, ...], one: Called) -> list[Called]:
    """The calls that one call makes."""
    found = []
    place = next(n for n, other in enumerate(calls) if other is one)
    for other in calls[place + 1 :]:
        if other.depth <= one.depth:
            break
        if other.depth == one.depth + 1:
            found.append(other)
    return found


def short_name(name: str) -> str:
    """`F.linear` for `torch.nn.functional.linear`."""
    return name.replace("torch.nn.functional.", "F.")


def way_lines(drawn: Drawn) -> list[str]:
    """The section: each operator with the keys that it goes through, calls indented."""
    assert drawn.beside is not None
    made = drawn.beside.dispatch
    if made.reason or not made.calls:
        return [made.reason or "not known"]
    shown = made.calls[:MOST]
    lines = [short_name(drawn.name)]
    wide = max(len(one.name) + 2 * one.depth for one in shown)
    for one in shown:
        name = f"{'  ' * one.depth}{one.name}"
        keys = " -> ".join(one.keys)
        node = node_of(one, drawn.beside.autograd)
        lines.append(f"  {name:{wide}}  {keys}{node}".rstrip())
    if made.calls[MOST:]:
        lines.append(f"  … {len(made.calls) - MOST} more calls")
    said = {key for one in shown for key in one.keys}
    return [*lines, *(f"{key}: {MEANS[key]}" for key in MEANS if key in said)]


MEANS = {
    "CompositeImplicitAutograd": "made of the calls below it, which have the gradients",
    "CompositeExplicitAutograd": "one kernel for every backend, made of other calls",
    "ADInplaceOrView": "counts versions, and knows views of each other",
    "BackendSelect": "chooses the backend by the device that is asked for",
}
"""What dispatch keys do that are not the name of a device."""


def node_of(one: Called, made: Autograd) -> str:
    """The node that autograd made there: ` (GatherBackward0)`."""
    if not any(key.startswith("Autograd") for key in one.keys):
        return ""
    plain = one.name.removeprefix("aten::").partition(".")[0].strip("_")
    due = "".join(part.capitalize() for part in plain.split("_")).lower()
    for name in made.nodes:
        if name.partition("Backward")[0].lower() == due:
            return f"  ({name})"
    return ""
