"""The functions that index maps name, computed by torch on single elements."""

from __future__ import annotations

from typing import Any

import torch

from shapewright.operators.facts import operators_with

Tensor = torch.Tensor

OWNERS = (torch, torch.nn.functional, torch.special, torch.linalg)
"""Modules in which a function is looked up by its last name."""

ALONG = operators_with("needs_dim")
"""Functions of all steps that take a `dim`: the only one there is."""

FLOATING = operators_with("needs_floats")
"""Functions that take integers only with a `dtype`, which a map leaves out."""


LOSSES = operators_with("takes_only_tensors")
"""Functions that accept nothing but tensors."""


def _find_torch_function(name: str) -> Any:
    """Return the torch function of a name: `torch.amax` for "amax"."""
    # `torch.kl_div` and its kind take the reduction as a number.
    for owner in OWNERS if name not in LOSSES else (torch.nn.functional,):
        function = getattr(owner, name, None)
        if function is not None:
            return function
    raise AttributeError(f"torch has no function {name}")


def _compute_batch_norm(
    input: Tensor, mean: Tensor, var: Tensor, *affine: Tensor, eps: float
) -> Tensor:
    """Compute batch norm of one element with its channel's statistics."""
    function: Any = torch.nn.functional.batch_norm
    normalized: Tensor = function(input.reshape(1, 1), mean, var, *affine, eps=eps)
    return normalized.reshape(1)


def _find_window_argmax(values: Tensor) -> Tensor:
    """Return the index that max pooling returns: the first maximum or the last NaN."""
    unknown = values.isnan().nonzero()
    return unknown[-1] if len(unknown) else values.argmax()


OF_STEPS = {"window_argmax": _find_window_argmax}
"""Functions of all steps that torch has only inside other operators."""
OF_ELEMENTS = {"batch_norm": _compute_batch_norm}
"""Functions that torch has only for tensors with more dims."""


def of_elements(name: str, values: list[Any], options: dict[str, Any]) -> Tensor:
    """Apply a function to single elements, which are tensors if their dtypes matter."""
    if name in LOSSES:
        values = [torch.as_tensor(value, dtype=torch.float64) for value in values]
    elif not any(isinstance(value, Tensor) for value in values):
        first = values[0]
        values = [torch.tensor(first, dtype=_find_exact_dtype(first)), *values[1:]]
    function = OF_ELEMENTS.get(name) or _find_torch_function(name)
    output: Tensor = function(*values, **options)
    return output


def of_steps(name: str, values: list[Any], at: int | None, options: Any) -> Any:
    """Apply a function to all steps, and return the named part of its result."""
    function, _, part = name.partition(".")
    if values and isinstance(values[0], Tensor):
        operand = torch.cat([value.reshape(1) for value in values])
    else:
        operand = torch.tensor(
            values, dtype=_find_exact_dtype(values[0] if values else 0.0)
        )
    if function in FLOATING:
        operand = operand.double()
    along = {"dim": 0} if function in ALONG else {}
    over_all = OF_STEPS.get(function) or _find_torch_function(function)
    result = over_all(operand, **along, **options)
    result = getattr(result, part) if part else result
    return result if at is None else result[at]


def _find_exact_dtype(value: Any) -> torch.dtype | None:
    """Return the dtype that holds a number exactly, or None to let torch choose."""
    if isinstance(value, complex):
        return torch.complex128
    return torch.float64 if isinstance(value, float) else None


def stored(value: Any, dtype: torch.dtype) -> Any:
    """Return a number wrapped and rounded as a tensor of a dtype stores it."""
    if value is None:
        return None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    if not isinstance(value, Tensor):
        value = torch.tensor(value, dtype=_find_exact_dtype(value))
    return value.to(dtype).item()
