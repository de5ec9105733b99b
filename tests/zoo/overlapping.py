"""Torch's samples with memory shared between what is written and what is read.

From each valid sample: the call with `out=` and in place, its written tensor expanded,
the same object as an operand, a view of one, or shifted against one in a common buffer;
and the same in random layouts.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from zoo.observe import observe, storage_key, tensors
from zoo.samples import BY_NAME, Sample, samples

MOST = 16
"""Valid samples that are tried, spread over all that there are."""

EXTRA: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "copy_": (torch.Tensor.copy_, (torch.ones(4, 3), torch.ones(4, 3))),
    "copy_ broadcast": (torch.Tensor.copy_, (torch.ones(4, 3), torch.ones(3))),
    "zero_": (torch.Tensor.zero_, (torch.ones(4, 3),)),
    "relu_": (torch.Tensor.relu_, (torch.ones(4, 3),)),
    "torch.relu_": (torch.relu_, (torch.ones(4, 3),)),
    "random_": (torch.Tensor.random_, (torch.ones(4, 3),)),
    "bernoulli_": (torch.Tensor.bernoulli_, (torch.ones(4, 3), 0.5)),
    "bernoulli_ of": (torch.Tensor.bernoulli_, (torch.ones(4, 3), torch.ones(4, 3))),
    "fill_diagonal_": (torch.Tensor.fill_diagonal_, (torch.ones(4, 3), 1.0)),
    "fill_ of": (torch.Tensor.fill_, (torch.ones(4, 3), torch.ones(()))),
    "F.threshold_": (torch.nn.functional.threshold_, (torch.ones(4, 3), 0.1, 0.2)),
    "F.elu_": (torch.nn.functional.elu_, (torch.ones(4, 3),)),
    "F.hardtanh_": (torch.nn.functional.hardtanh_, (torch.ones(4, 3),)),
    "F.selu_": (torch.selu_, (torch.ones(4, 3),)),
    "clamp_max_": (torch.clamp_max_, (torch.ones(4, 3), 0.5)),
    "clamp_": (torch.clamp_, (torch.ones(4, 3), 0.5)),
    "exp_": (torch.exp_, (torch.ones(4, 3),)),
    "sigmoid_": (torch.sigmoid_, (torch.ones(4, 3),)),
    "tanh_": (torch.tanh_, (torch.ones(4, 3),)),
    "sqrt_": (torch.sqrt_, (torch.ones(4, 3),)),
    "floor_": (torch.floor_, (torch.ones(4, 3),)),
    "dropout_": (torch.dropout_, (torch.ones(4, 3), 0.5, True)),
}  # fmt: skip
"""In-place functions that torch has no samples for."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One call that writes into shared memory.

    `form` is `out` or `in place`, `written` the place among the written tensors, `read`
    that of the operand that shares its memory (None: the tensor overlaps itself), and
    `layout` one of `expanded`, `same`, `view`, `shifted` and `random`.
    """

    form: str
    layout: str
    written: int
    read: int | None
    call: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def names() -> list[str]:
    """Operators that can write into a tensor that is given, and the extra functions."""
    return [*BY_NAME, *EXTRA]


def trials(name: str) -> Iterator[Trial]:
    """All trials of one operator and of its aliases, in a fixed order."""
    chance = random.Random(0)
    for call, in_place, sample in bases(name):
        if call is not None and "out" not in sample.kwargs:
            yield from with_out(replace(sample, call=call), chance)
        if in_place is not None and isinstance(sample.args[0], torch.Tensor):
            yield from on_itself(replace(sample, call=in_place), chance)


def bases(name: str) -> Iterator[tuple[Any, Any, Sample]]:
    """Valid samples, with the functions to try them with: new and in place."""
    if name in EXTRA:
        call, args = EXTRA[name]
        yield None, call, Sample(name, "float32", 0, call, args, {})
        return
    operator = BY_NAME[name]
    forms = [(operator.op, operator.inplace_variant)]
    forms += [(None, operator.inplace_operator_variant)]
    forms += [(alias.op, alias.inplace_variant) for alias in operator.aliases]
    valid = [sample for sample in samples(name) if sample.kind != "error"]
    for sample in valid[:: -(-len(valid) // MOST) or 1]:
        for call, in_place in forms:
            yield call, in_place, sample


def with_out(sample: Sample, chance: random.Random) -> Iterator[Trial]:
    """The sample with `out=`."""
    made = observed(sample)
    if made is None:
        return
    outs = [made] if isinstance(made, torch.Tensor) else list(made)
    single = isinstance(made, torch.Tensor)

    def place(changed: Sample, at: int, new: torch.Tensor) -> dict[str, Any]:
        given = [torch.empty_strided(o.shape, o.stride(), dtype=o.dtype) for o in outs]
        given[at] = new
        return {**changed.kwargs, "out": given[0] if single else tuple(given)}

    first = torch.empty_strided(outs[0].shape, outs[0].stride(), dtype=outs[0].dtype)
    if observe(sample.call, sample.args, place(sample, 0, first)).error:
        return
    for at, out in enumerate(outs):
        for layout, read, changed, new in shared(sample, out, chance):
            kwargs = place(changed, at, new)
            yield Trial("out", layout, at, read, sample.call, changed.args, kwargs)


def observed(sample: Sample) -> Any:
    """What the sample gives: strided tensors, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = sample.call(*sample.args, **sample.kwargs)
    except Exception:
        return None
    if isinstance(made, tuple | list):
        fit = all(isinstance(item, torch.Tensor) for item in made) and len(made)
    else:
        fit = isinstance(made, torch.Tensor)
    return made if fit and None not in map(storage_key, tensors(made)) else None


def on_itself(sample: Sample, chance: random.Random) -> Iterator[Trial]:
    """The sample in place."""
    target = sample.args[0]
    fresh = (target.clone(), *sample.args[1:])
    if storage_key(target) is None or observe(sample.call, fresh, sample.kwargs).error:
        return
    rest = replace(sample, args=sample.args[1:])
    for layout, read, changed, new in shared(rest, target, chance):
        if layout != "same":
            args = (new, *changed.args)
            yield Trial("in place", layout, 0, read, sample.call, args, changed.kwargs)


Shared = tuple[str, int | None, Sample, torch.Tensor]


def shared(
    sample: Sample, like: torch.Tensor, chance: random.Random
) -> Iterator[Shared]:
    """A tensor in the place of `like` that overlaps itself, or an operand."""
    dim = next((d for d, size in enumerate(like.shape) if size > 1), None)
    if dim is not None and like.numel():
        shape = [1 if d == dim else size for d, size in enumerate(like.shape)]
        one = torch.zeros(shape, dtype=like.dtype)
        yield "expanded", None, sample, one.expand(like.shape)
        windows = list(one.stride())
        windows[dim] = min(1, windows[dim])
        whole = torch.zeros(like.numel(), dtype=like.dtype)
        yield "random", None, sample, whole.as_strided(like.shape, windows)
    for place, operand in enumerate(tensors((sample.args, sample.kwargs))):
        if storage_key(operand) is None or operand.dtype != like.dtype:
            continue
        if operand.shape == like.shape and like.numel():
            copy = operand.clone(memory_format=torch.contiguous_format)
            yield "same", place, replaced(sample, operand, copy), copy
            copy = operand.clone(memory_format=torch.contiguous_format)
            yield "view", place, replaced(sample, operand, copy), copy.view(copy.shape)
        for layout in ("shifted", "random"):
            if min(like.numel(), operand.numel()) and like.numel() > 1:
                new, other = pair(like, operand, layout, chance)
                yield layout, place, replaced(sample, operand, other), new


def pair(
    like: torch.Tensor, operand: torch.Tensor, layout: str, chance: random.Random
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both in one buffer: shifted by one element, or anyhow."""
    places = [(contiguous(like.shape), 0), (contiguous(operand.shape), 1)]
    if layout == "random":
        places = [
            (strides(tensor.shape, chance), chance.choice((0, 0, 1, like.numel())))
            for tensor in (like, operand)
        ]
    buffer = torch.zeros(3 * (like.numel() + operand.numel()), dtype=like.dtype)
    new, other = (
        buffer.as_strided(tensor.shape, stride, offset)
        for tensor, (stride, offset) in zip((like, operand), places, strict=True)
    )
    other.copy_(operand.detach())
    return new, other


def strides(shape: tuple[int, ...], chance: random.Random) -> tuple[int, ...]:
    """Dense in some order of the dims, or with every second element left out."""
    order = list(range(len(shape)))
    if chance.random() < 0.5:
        chance.shuffle(order)
    step = chance.choice((1, 1, 1, 2))
    made = dict.fromkeys(order, 1)
    for dim in reversed(order):
        made[dim] = step
        step *= shape[dim]
    return tuple(made[dim] for dim in range(len(shape)))


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[dim + 1 :]) for dim in range(len(shape)))


def replaced(sample: Sample, old: torch.Tensor, new: torch.Tensor) -> Sample:
    """The sample with one tensor replaced."""
    leaves, structure = tree_flatten((sample.args, sample.kwargs))
    swapped = [new if leaf is old else leaf for leaf in leaves]
    args, kwargs = tree_unflatten(swapped, structure)
    return replace(sample, args=tuple(args), kwargs=kwargs)
