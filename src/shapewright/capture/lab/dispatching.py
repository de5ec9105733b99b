"""How a call goes from Python to its kernels, as torch reports it."""

from __future__ import annotations

import torch

from shapewright.capture.lab import dispatcher
from shapewright.capture.lab.dispatcher import Nested
from shapewright.rules.maps.beside import Called, Dispatch

UNTOLD = "this torch does not tell, or a profiler is on"
NONE = "no operator is called: the Python side of torch answers"
LOOKS = frozenset("aten::resolve_conj aten::resolve_neg".split())
"""They ask whether a conjugation is due, and nothing comes of it."""


def way(
    called: Nested | None, overloads: dict[str, str], tensors: list[torch.Tensor]
) -> Dispatch:
    """The operators that a call went through, with the keys of each."""
    if called is None:
        return Dispatch(reason=UNTOLD)
    if not called:
        return Dispatch(reason=NONE)
    keys = dispatcher.keys(tensors)
    found: list[Called] = []
    above: list[Called] = []
    for name, depth in called:
        del above[depth:]
        below = any(not one.composite for one in above)
        seen = overloads.get(name)
        passed, composite = passing(dispatcher.kernels(name, seen), keys, below)
        shown = f"{name}.{seen}" if seen else name
        one = Called(shown, depth, passed, composite)
        # What a backend's own kernel calls is its own affair.
        if name not in LOOKS and all(inside(other) for other in above):
            found.append(one)
        above.append(one)
    return Dispatch(tuple(found))


def inside(called: Called) -> bool:
    """Whether the work of a call is done by the calls in it."""
    return not called.keys or called.keys[-1].startswith("Composite")


def passing(
    kernels: dict[str, str], keys: list[str], below: bool
) -> tuple[tuple[str, ...], bool]:
    """The keys whose kernels a call goes through, and whether it is composite."""
    found: list[str] = []
    for key in dict.fromkeys(keys):
        kind = kernels.get(key, "")
        above = key.startswith(("Auto", "ADInplaceOrView"))
        if kind in ("", "fallthrough") or (below and above):
            continue
        if kind == "math kernel":
            return (*found, "CompositeImplicitAutograd"), True
        if kind == "default backend kernel":
            return (*found, "CompositeExplicitAutograd"), False
        if kind != "backend fallback":
            found.append(key)
    return tuple(found), False
