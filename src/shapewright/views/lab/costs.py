"""What a call or a tensor costs, in words: free, a copy, or a pass; and the loop."""

from __future__ import annotations

from dataclasses import replace

from shapewright.rules.maps.costs import METADATA, Costs, costs, dense
from shapewright.rules.maps.drawn import Drawn
from shapewright.rules.maps.stored import Stored
from shapewright.trace.fact import ITEMSIZE
from shapewright.views import units


def told_of_costs(drawn: Drawn) -> list[str]:
    """The cost of a call in a line or two."""
    made = costs(drawn)
    said = f"cost: {memory(drawn, made)}"
    loop = looped(made)
    return [said] if made.kind in ("view", "same") or not loop else [said, loop]


def told_of_reading(drawn: Drawn) -> list[str]:
    """The cost of a call that gives no tensor: a question to one."""
    last = drawn.name.rpartition(".")[2]
    if last in METADATA:
        return ["cost: free at any size, the tensor knows it: no element is read"]
    if last == "item":
        return ["cost: one element is read; from a GPU the program waits for it"]
    if last == "tolist":
        size = sum(side.size for side in drawn.inputs)
        return [f"cost: {units.plural(size, 'element')} become numbers of Python"]
    return []


def memory(drawn: Drawn, made: Costs) -> str:
    """What happens to memory, and the arithmetic where there is any."""
    if made.kind == "same":
        return "free, the same elements in the same storage: 0 bytes are moved"
    if made.kind == "view":
        later = "`out.contiguous()` copies nothing either"
        if made.copied is not None:
            later = f"a later `out.contiguous()` copies {made.copied:,} bytes"
        return f"free, 0 bytes are moved; {later}"
    if made.kind == "new":
        done = "allocated" if empty(drawn) else "written"
        return f"{made.moved:,} bytes are {done}"
    if made.kind == "copy":
        return f"a copy, {made.moved:,} bytes are read and written"
    work = sums(made)
    if made.kind == "in place":
        return f"a pass in place over {made.moved:,} bytes, none are new{work}"
    return f"a pass over {made.moved:,} bytes of inputs and outputs{work}"


def empty(drawn: Drawn) -> bool:
    """Whether a call only allocates."""
    return drawn.name.rpartition(".")[2].startswith("empty")


def sums(made: Costs) -> str:
    """`: 24 multiplications, 24 additions`, where they are few and known."""
    parts = [f"{count:,} {name}" for name, count in (made.arithmetic or {}).items()]
    return f": {', '.join(parts)}" if 0 < len(parts) <= 3 else ""


def looped(made: Costs) -> str:
    """The loop beside the one call."""
    if not made.passes:
        return ""
    calls = f"{made.calls:,} calls of torch in " if made.calls is not None else ""
    passes = units.plural(made.passes, "pass", "passes")
    return f"1 call of torch; the loop makes {calls}{passes} of Python"


def cost_lines(drawn: Drawn) -> list[str]:
    """The section: vectorised beside looped, with the operation counts of both."""
    made = costs(drawn)
    lines = [memory(drawn, made)]
    if not drawn.maps:
        return lines
    free = made.kind in ("view", "same")
    rows = [
        ("", "torch", "the loop"),
        ("calls of torch", "1", number(made.calls)),
        ("passes of Python", "0", number(made.passes)),
    ]
    for name, count in (made.arithmetic or {}).items():
        rows.append((name, number(count), number(count)))
    rows.append(("elements read", reads_of_torch(drawn, made), number(made.reads)))
    written = "0" if free else number(made.writes)
    rows.append(("elements written", written, number(made.writes)))
    wide = [max(len(row[n]) for row in rows) for n in range(3)]
    lines += [f"{a:{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}" for a, b, c in rows]
    if None in (made.calls, made.reads):
        lines.append("-: values decide, or the line has no plain form: not counted")
    if made.kind in ("pass", "in place"):
        lines.append("+: each element of its inputs once, some kernels more often")
    flops = drawn.beside.flops if drawn.beside else None
    if flops:
        lines.append(f"in a trace: {flops:,} FLOPs, a multiply-add counts as two")
    return lines


def reads_of_torch(drawn: Drawn, made: Costs) -> str:
    """The elements that torch reads: of a pass at least each of its inputs once."""
    if made.kind in ("view", "same", "new"):
        return "0"
    if made.kind == "copy":
        return number(made.reads)
    return f"{sum(side.size for side in drawn.inputs):,}+"


def number(count: int | None) -> str:
    """A count, or `-`."""
    return "-" if count is None else f"{count:,}"


# -- a tensor by itself ----------------------------------------------------------------


def tensor_costs(stored: Stored) -> list[str]:
    """What is free, what is a copy, and what is a pass over this tensor."""
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
        copy += [] if dense(turned) else [f"`{name}.t().contiguous()`"]
    copy += [] if dense(side) else [f"`{name}.contiguous()`"]
    count = units.plural(side.size, "element")
    return [
        f"free at any size: {', '.join([*free, 'any view'])}",
        f"a copy of {nbytes} bytes: {', '.join(copy)}",
        f"a pass over {count}: `{name} + {name}`, `{name} == {name}`",
    ]
