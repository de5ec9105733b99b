"""What autograd makes of one call: what it keeps, and what backward gives back.

The call runs on copies, with a gradient asked for every input that can have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from shapewright.engine.identity import DTYPE_NAMES
from shapewright.index_maps.drawn_calls import Autograd, Gradient, Kept
from shapewright.runtime.operator_calls.dispatcher import Nested, observed
from shapewright.runtime.operator_calls.drawing import (
    arguments_of,
    tensors_in,
    tensors_of,
)

Tensor = torch.Tensor
Fresh = Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]
"""Gives the arguments of the call, each time as new copies."""


@dataclass(slots=True)
class Run:
    """One run of the call: its leaves by name, what it made, what it kept.

    `used` are the tensors that went in, which are not the leaves where the call writes
    in place.
    """

    leaves: dict[str, Tensor]
    used: dict[str, Tensor]
    versions: dict[str, int]
    outs: list[Tensor] = field(default_factory=list)
    packed: list[Tensor] = field(default_factory=list)
    called: Nested | None = None


def differentiable(tensor: Tensor) -> bool:
    """Whether a tensor's dtype can require a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def run_with(
    func: Any, name: str, fresh: Fresh, asked: set[str], cloned: bool = False
) -> Run:
    """Run the call with gradients asked for some of its inputs.

    With `cloned` the call gets copies of the leaves, which may be written in place.
    """
    args, kwargs = fresh()
    names = {id(t): key for key, t in tensors_in(arguments_of(name, args, kwargs))}
    leaves: dict[str, Tensor] = {}
    used: dict[str, Tensor] = {}

    def with_gradient(value: Any) -> Any:
        if isinstance(value, Tensor):
            key = names.get(id(value), "")
            given = value.detach()
            if key in asked:
                given = leaves[key] = given.requires_grad_()
                given = given.clone() if cloned else given
            return used.setdefault(key, given) if key else given
        if type(value) in (tuple, list):
            return type(value)([with_gradient(item) for item in value])
        return value

    args = tuple(with_gradient(value) for value in args)
    kwargs = {key: with_gradient(value) for key, value in kwargs.items()}
    run = Run(leaves, used, {key: int(t._version) for key, t in used.items()})

    def pack(tensor: Tensor) -> Tensor:
        run.packed.append(tensor)
        return tensor

    hooks = torch.autograd.graph.saved_tensors_hooks
    with torch.enable_grad(), hooks(pack, lambda tensor: tensor):
        made, run.called = observed(lambda: func(*args, **kwargs))
    run.outs = [out for out in tensors_of(made) if isinstance(out, Tensor)]
    return run


def gradients(func: Any, name: str, fresh: Fresh) -> tuple[Autograd, Nested | None]:
    """What autograd makes of a call, and the operators that the call went through."""
    args, kwargs = fresh()
    given = dict(tensors_in(arguments_of(name, args, kwargs)))
    asked = {key for key, tensor in given.items() if differentiable(tensor)}
    if not asked:
        run = run_with(func, name, fresh, set())
        return Autograd(reason=nothing_asks(given), written=written(run)), run.called
    refused: list[tuple[str, str]] = []
    none: list[Gradient] = []
    cloned = False
    try:
        run = run_with(func, name, fresh, asked)
    except (RuntimeError, NotImplementedError) as error:
        first = message(error)
        if "in-place" in first:
            cloned = True
            refused.append(("written in place where it is a leaf", first))
        run, none = without_refusing(func, name, fresh, asked, cloned)
    flowing = [out for out in run.outs if out.requires_grad]
    if not flowing:
        said = none[0].reason if none else no_way(run.outs)
        return Autograd(written=written(run), reason=said), run.called
    nodes = tuple(type_names(flowing, run, cloned))
    kept = kept_of(run)
    refused += views_written(run)
    found = [*backward(run, flowing), *none]
    order = list(given)
    found.sort(key=lambda one: order.index(one.name))
    made = Autograd(nodes, kept, tuple(found), written(run), tuple(refused))
    return made, run.called


def nothing_asks(given: dict[str, Tensor]) -> str:
    """Why no input can require a gradient."""
    if not given:
        return "a new tensor is a leaf: `requires_grad=True` asks for its gradient"
    return "no input has a floating dtype, so none can require a gradient"


def no_way(outs: list[Tensor]) -> str:
    """Why no gradient flows back from what came out."""
    whole = next((out for out in outs if not differentiable(out)), None)
    if whole is not None:
        return f"`out` is {DTYPE_NAMES[whole.dtype]}"
    return "what comes out does not depend on its inputs in a way torch can follow"


def without_refusing(
    func: Any, name: str, fresh: Fresh, asked: set[str], cloned: bool
) -> tuple[Run, list[Gradient]]:
    """The run with all inputs that torch lets ask for a gradient, and the others."""
    try:
        return run_with(func, name, fresh, asked, cloned), []
    except (RuntimeError, NotImplementedError):
        pass
    none, able = [], set()
    for key in sorted(asked):
        try:
            run_with(func, name, fresh, {key}, cloned)
            able.add(key)
        except (RuntimeError, NotImplementedError) as error:
            none.append(Gradient(key, None, message(error)))
    return run_with(func, name, fresh, able, cloned), none


def message(error: Exception) -> str:
    """The first line of what torch says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def written(run: Run) -> tuple[tuple[str, int, int], ...]:
    """The inputs whose version went up."""
    return tuple(
        (key, run.versions[key], int(tensor._version))
        for key, tensor in run.used.items()
        if int(tensor._version) != run.versions[key]
    )


# -- the graph -------------------------------------------------------------------------


def type_names(outs: list[Tensor], run: Run, cloned: bool) -> Iterator[str]:
    """The names of the graph's nodes, the outputs' own first; ours are left out."""
    leaves = {id(leaf) for leaf in run.leaves.values()}
    queue = list(dict.fromkeys(out.grad_fn for out in outs if out.grad_fn is not None))
    seen = set(queue)
    while queue:
        node = queue.pop(0)
        following = [one for one, _ in node.next_functions if one is not None]
        first = [getattr(one, "variable", None) for one in following]
        mine = cloned and node.name() == "CloneBackward0"
        if not (mine and any(id(leaf) in leaves for leaf in first)):
            yield node.name().removeprefix("torch::autograd::")
        for one, leaf in zip(following, first, strict=True):
            if leaf is None and one not in seen:
                seen.add(one)
                queue.append(one)


def kept_of(run: Run) -> tuple[Kept, ...]:
    """What the call keeps for backward, each tensor once."""
    named = {**run.used, **out_names(run.outs)}
    found: dict[Any, Kept] = {}
    for tensor in run.packed:
        storage = tensor.untyped_storage()
        if not storage.nbytes():
            continue
        key = storage.data_ptr(), place(tensor)
        same = [n for n, t in named.items() if shares(t, tensor)]
        exact = [n for n in same if place(named[n]) == place(tensor)]
        shape, dtype = tuple(tensor.shape), DTYPE_NAMES[tensor.dtype]
        name = (exact or same or [""])[0]
        found.setdefault(
            key, Kept(name, shape, dtype, storage.nbytes(), bool(name) and not exact)
        )
    order = [*named, ""]
    return tuple(sorted(found.values(), key=lambda one: order.index(one.name)))


def out_names(outs: list[Tensor]) -> dict[str, Tensor]:
    """Outputs by their names in a drawing."""
    return {"out": outs[0]} if len(outs) == 1 else {
        f"out.{n}": out for n, out in enumerate(outs)
    }  # fmt: skip


def place(tensor: Tensor) -> tuple[Any, ...]:
    """Where in its storage a tensor lies."""
    return int(tensor.storage_offset()), tuple(tensor.shape), tuple(tensor.stride())


def shares(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors look at the same storage."""
    mine, its = one.untyped_storage(), other.untyped_storage()
    return bool(mine.nbytes()) and mine.data_ptr() == its.data_ptr()


def backward(run: Run, outs: list[Tensor]) -> Iterator[Gradient]:
    """The gradient of each leaf."""
    leaves = list(run.leaves.values())
    try:
        # Gradients of ones, by way of sums: giving them makes torch import sympy.
        with torch.enable_grad():
            ends = [out.real.sum() if out.is_complex() else out.sum() for out in outs]
        found = torch.autograd.grad(ends, leaves, allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        for key in run.leaves:
            yield Gradient(key, None, message(error))
        return
    for key, made in zip(run.leaves, found, strict=True):
        if made is None:
            yield Gradient(key, None, "no output depends on it")
        else:
            told = "" if made.layout is torch.strided else "sparse: rows that were read"
            yield Gradient(key, tuple(made.shape), told)


def views_written(run: Run) -> list[tuple[str, str]]:
    """What torch says where a view that came out is written in place."""
    for out in run.outs:
        if out.requires_grad and out._is_view() and out.is_floating_point():
            try:
                with torch.enable_grad():
                    out.mul_(1)
            except RuntimeError as error:
                return [("a view of a leaf, written in place", message(error))]
            return []
    return []
