"""Ranges of the results of calls, and calls that promise more than a range."""

from __future__ import annotations

from typing import Any

import torch

from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import Meta
from shapewright.engine.memo import Answer
from shapewright.operators.facts import operators_with, values_of

OF_NUMBERS = operators_with("follows_from_numbers")
INDICES = operators_with("returns_indices")
PICKS = operators_with("returns_values_and_indices")
CLAMPS = operators_with("clamps")
Tensor = torch.Tensor
PROMISED = operators_with("keeps_promise")
"""Calls computed on any representatives, as ones would break their promise."""
REPEATED = operators_with("stays_positive")
"""Calls computed on any representatives, which stay positive."""
COUNTED = operators_with("counts_truths")
"""Calls that count truths or show how many there are."""
SEEN = operators_with("shows_elements")
"""Calls that show all or some elements of a tensor, however large."""
COMPARED = operators_with("compares_elements")
BOTH = operators_with("needs_all_truths") | SEEN
"""Calls that are true of all elements only if their operands are."""
CARRIED = COUNTED | SEEN | COMPARED | operators_with("carries_guesses")
"""Calls computed on answered representatives, so that no answers conflict."""
CONSTANT = values_of("fills_with")


def make_constant(name: str, arguments: Any, meta: Meta) -> Tensor | None:
    """Return the result of a factory whose values are constant, however large it is."""
    args, kwargs = arguments
    name = name.removeprefix("new_")
    if name in CONSTANT:
        return torch.full(meta.shape, CONSTANT[name], dtype=meta.torch_dtype)
    if name in ("full", "full_like"):
        value = kwargs.get("fill_value", args[-1] if args else None)
        if type(value) in (int, float, bool):
            return torch.full(meta.shape, value, dtype=meta.torch_dtype)
    if name in OF_NUMBERS:
        kept = {k: v for k, v in kwargs.items() if k in ("start", "end", "step", "n")}
        if all(type(number) in (int, float) for number in (*args, *kept.values())):
            constant: Tensor = getattr(torch, name)(*args, **kept)
            same = tuple(constant.shape) == meta.shape
            return constant.to(meta.torch_dtype) if same else None
    return None


def make_half_true(shape: tuple[int, ...]) -> Tensor:
    """Return a mask in which every second element is true, and at least one element."""
    total = 1
    for size in shape:
        total *= size
    mask = torch.zeros(total, dtype=torch.bool)
    mask[0 if total == 1 else 1 :: 2] = True
    return mask.reshape(shape)


def make_ones_within(
    shape: tuple[int, ...], answer: Answer | None, meta: Meta
) -> Tensor:
    """Return ones, or the nearest values within the range of the call."""
    dtype = meta.torch_dtype
    total = 1
    for size in shape:
        total *= size
    if answer is not None:
        name = get_plain_name(answer.func).strip("_")
        args, kwargs = answer.arguments
        if name == "randperm":
            return torch.arange(total).reshape(shape).to(dtype)
        if name == "bernoulli":
            return make_half_true(shape).to(dtype)
        least, most = find_bounds(name, args, kwargs, meta)
        number: Any = min(max(1, least), most)
        if (least, most) != ANY and number == most and not _is_whole(dtype):
            number = least + (most - least) * 0.75  # the end may be left out
        if name == "multinomial":
            step = torch.arange(total).remainder_(max(1, int(most) + 1))
            return step.reshape(shape).to(dtype)
        return torch.full(shape, number, dtype=dtype)
    return torch.ones(shape, dtype=dtype)


def is_ranged(answer: Answer, meta: Meta) -> bool:
    """Return whether the values that a call returns lie in a known range."""
    name = get_plain_name(answer.func).strip("_")
    if name in ("randperm", "bernoulli"):
        return True
    args, kwargs = answer.arguments
    return find_bounds(name, args, kwargs, meta) != ANY


ANY = (float("-inf"), float("inf"))


def _is_whole(dtype: torch.dtype) -> bool:
    """Return whether a dtype holds integers or bools."""
    return not (dtype.is_floating_point or dtype.is_complex)


def find_bounds(name: str, args: Any, kwargs: Any, meta: Meta) -> tuple[float, float]:
    """Return the bounds of a call's result, inclusive for integers."""
    first = args[0] if args else kwargs.get("input")
    if name in ("rand", "rand_like"):
        return 0.0, 1.0
    if name == "uniform":
        limits = dict(zip(("from", "to"), args[1:], strict=False))
        limits |= {word: kwargs[word] for word in ("from", "to") if word in kwargs}
        return _to_plain(limits.get("from", 0.0), 0.0), _to_plain(
            limits.get("to", 1.0), 1.0
        )
    if name in ("randint", "randint_like", "random"):
        numbers = [argument for argument in args if type(argument) is int]
        low, high = kwargs.get("low"), kwargs.get("high")
        numbers += [limit for limit in (low, high) if type(limit) is int]
        if name == "random":
            numbers += [kwargs[w] for w in ("from", "to") if type(kwargs.get(w)) is int]
        if not numbers:
            return ANY
        start = numbers[0] if len(numbers) > 1 else 0
        return start, max(start, numbers[-1] - 1)
    if name in INDICES | PICKS:
        return _find_index_bounds(name, first, args, kwargs, meta)
    if name in ("logsigmoid", "log_softmax"):
        return -1.0, -0.5
    if name in CLAMPS:
        words = ("min_val", "max_val") if name == "hardtanh" else ("min", "max")
        limits = dict(zip(words, args[1:], strict=False)) | kwargs
        least = _to_plain(limits.get(words[0]), -1.0 if name == "hardtanh" else ANY[0])
        most = _to_plain(limits.get(words[1]), 1.0 if name == "hardtanh" else ANY[1])
        return least, max(least, most)
    return ANY


def _find_index_bounds(
    name: str, first: Any, args: Any, kwargs: Any, meta: Meta
) -> tuple[float, float]:
    """Return the bounds of indices into a dim, which lie below its size."""
    if not isinstance(first, Meta) or meta.dtype != "int64":
        return ANY
    if name in PICKS and first.dtype == "int64":
        return ANY
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if name == "multinomial":
        dim = -1
    size = 1
    for length in first.shape if type(dim) is not int else first.shape[dim:][:1]:
        size *= length
    return 0, max(0, size - 1)


def _to_plain(value: Any, otherwise: float) -> float:
    """Return a plain number as a float, or the default for any other value."""
    return float(value) if type(value) in (int, float) else otherwise
