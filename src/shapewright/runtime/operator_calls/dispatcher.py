"""The path of a call from Python to its kernels, as torch's dispatcher reports it.

There is no public interface for this. What is missing in a version of torch is left
out; nothing here is needed to draw a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from shapewright.engine.postponed_imports import replace_dynamo
from shapewright.index_maps.drawn_calls import Called, Dispatch

Nested = list[tuple[str, int]]
"""Operators with their depth: `[("aten::linear", 0), ("aten::t", 1)]`."""


def observe_run(run: Callable[[], Any]) -> tuple[Any, Nested | None]:
    """Return the result of `run`, and the torch operators it called with their depths.

    This uses the profiler without Kineto, which prints lines of its own. The second is
    None if this torch has none, or if a profiler of the user's is already on.
    """
    autograd = torch._C._autograd
    try:
        from torch.autograd.profiler_legacy import profile

        start = autograd._enable_profiler_legacy
        stop = autograd._disable_profiler_legacy
        if autograd._profiler_enabled():
            return run(), None
        start(profile().config())
    except (ImportError, AttributeError, TypeError, RuntimeError):
        return run(), None
    try:
        result = run()
    finally:
        records = stop()
    return result, [pair for thread in records for pair in _nest_records(thread)]


def _nest_records(records: Any) -> Nested:
    """Return the operators that one thread called, with their depths."""
    operators: Nested = []
    stack: list[bool] = []
    for record in records:
        if record.kind() == "push":
            ours = "::" in record.name()
            if ours:
                operators.append((record.name(), sum(stack)))
            stack.append(ours)
        elif record.kind() == "pop" and stack:
            stack.pop()
    return operators


class _Overloads(TorchDispatchMode):
    """A dispatch mode that records the overloads that reach the backend."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: dict[str, str] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = func._schema.name
        self.found.setdefault(name, func._schema.overload_name)
        return func(*args, **(kwargs or {}))


def find_overloads(run: Callable[[], Any]) -> dict[str, str]:
    """Return the overloads that `run` calls below autograd, by operator name."""
    mode = _Overloads()
    with replace_dynamo(), mode:  # torch wraps every mode in a call of its compiler's
        run()
    return mode.found


def _find_kernels(name: str, overload: str | None) -> dict[str, str]:
    """Return the kernels of an operator by dispatch key: `{"CPU": "kernel"}`.

    The words are torch's: "kernel", "autograd kernel", "math kernel" (composed of other
    operators, above autograd), "default backend kernel" (one for all backends),
    "fallthrough". Empty if the table is not available.
    """
    dump = getattr(torch._C, "_dispatch_dump_table", None)
    full = name if not overload else f"{name}.{overload}"
    if overload is None:
        full = f"{name}.{first}" if (first := _find_overload(name)) else name
    try:
        text = dump(full) if dump else ""
    except RuntimeError:
        return {}
    kernels = {}
    for line in text.splitlines():
        key, _, rest = line.partition(": ")
        kind = rest[rest.rfind("[") + 1 :].rstrip("]")
        kernels[key] = "fallthrough" if rest.startswith("fallthrough") else kind
    return kernels


def _find_overload(name: str) -> str:
    """Return the overload that represents all of an operator's, or an empty string."""
    space, _, last = name.partition("::")
    packet = getattr(getattr(torch.ops, space, None), last, None)
    every = packet.overloads() if packet is not None else []
    plain = [
        overload
        for overload in every
        if "out" not in overload and "names" not in overload.lower()
    ]
    return (
        next((overload for overload in plain if overload != "default"), "")
        if ("default" not in plain)
        else ""
    )


def _get_keys(tensors: list[torch.Tensor]) -> list[str]:
    """Return the dispatch keys of a call on `tensors`, in the order of their priority.

    A call without tensors has the backend chosen for it. Autocast's keys count while
    autocast is on.
    """
    if not tensors:
        return ["BackendSelect", "CPU"]
    ask: Any = getattr(torch._C, "_dispatch_keys", None)
    keys: list[str] = []
    for tensor in tensors if ask else ():
        inside = str(ask(tensor)).partition("(")[2].rstrip(")")
        keys += [key for key in inside.split(", ") if key and key not in keys]
    rank = {"Autocast": 0, "Autograd": 1, "ADInplaceOrView": 2, "Negative": 3,
            "Conjugate": 4, "BackendSelect": 5}  # fmt: skip
    on = torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
    keys = [key for key in keys if on or not key.startswith("Autocast")]

    def order(key: str) -> int:
        return next((n for start, n in rank.items() if key.startswith(start)), 6)

    return sorted(keys, key=order)


UNTOLD = "this torch does not tell, or a profiler is on"
NONE = "no operator is called: the Python side of torch answers"
LOOKS = frozenset("aten::resolve_conj aten::resolve_neg".split())
"""Operators that check whether a conjugation is due, without further effect."""


def find_way(
    called: Nested | None, overloads: dict[str, str], tensors: list[torch.Tensor]
) -> Dispatch:
    """Return the operators that a call went through, with the dispatch keys of each."""
    if called is None:
        return Dispatch(reason=UNTOLD)
    if not called:
        return Dispatch(reason=NONE)
    keys = _get_keys(tensors)
    calls: list[Called] = []
    above: list[Called] = []
    for name, depth in called:
        del above[depth:]
        below = any(not caller.composite for caller in above)
        seen = overloads.get(name)
        passed, composite = _find_passing_keys(_find_kernels(name, seen), keys, below)
        shown = f"{name}.{seen}" if seen else name
        call = Called(shown, depth, passed, composite)
        # What a backend's own kernel calls is its own affair.
        if name not in LOOKS and all(_is_inside(other) for other in above):
            calls.append(call)
        above.append(call)
    return Dispatch(tuple(calls))


def _is_inside(called: Called) -> bool:
    """Return whether an operator does its work by calling other operators."""
    return not called.keys or called.keys[-1].startswith("Composite")


def _find_passing_keys(
    kernels: dict[str, str], keys: list[str], below: bool
) -> tuple[tuple[str, ...], bool]:
    """Return the dispatch keys whose kernels a call uses, and if it is composite."""
    passing: list[str] = []
    for key in dict.fromkeys(keys):
        kind = kernels.get(key, "")
        above = key.startswith(("Auto", "ADInplaceOrView"))
        if kind in ("", "fallthrough") or (below and above):
            continue
        if kind == "math kernel":
            return (*passing, "CompositeImplicitAutograd"), True
        if kind == "default backend kernel":
            return (*passing, "CompositeExplicitAutograd"), False
        if kind != "backend fallback":
            passing.append(key)
    return tuple(passing), False
