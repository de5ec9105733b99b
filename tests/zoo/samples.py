"""Torch's own operator samples and error inputs, in a fixed order."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = (torch.float32, torch.int64, torch.bool)


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of one operator. `kind` is a dtype name or `error`."""

    operator: str
    kind: str
    index: int
    call: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def operators() -> list[str]:
    """Names of all operators, variants included (`std_mean.unbiased`), in order."""
    return [operator.formatted_name for operator in op_db]


BY_NAME = {operator.formatted_name: operator for operator in op_db}


def seeded() -> None:
    """Samples are drawn from the global generators; start those anew."""
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)


def samples(name: str, call: Callable[..., Any] | None = None) -> Iterator[Sample]:
    """All sample inputs of an operator, then its error inputs.

    Valid samples come in float32, int64 and bool where the operator supports them.
    `call` runs them through another form of the operator (a method, in place).
    """
    operator = BY_NAME[name]
    call = call or operator.op
    for dtype in DTYPES:
        if operator.supports_dtype(dtype, "cpu"):
            yield from _valid(operator, call, dtype)
    yield from _errors(operator, call)


FORMS = (
    "method_variant",
    "inplace_variant",
    "operator_variant",
    "inplace_operator_variant",
)


def forms(name: str) -> list[Callable[..., Any]]:
    """The other forms of an operator: `Tensor.add`, `Tensor.add_`, `+`, `+=`."""
    operator = BY_NAME[name]
    found = [getattr(operator, form, None) for form in FORMS]
    different = [form for form in found if form is not None and form != operator.op]
    return list(dict.fromkeys(different))


def _valid(
    operator: Any, call: Callable[..., Any], dtype: torch.dtype
) -> Iterator[Sample]:
    seeded()
    kind = str(dtype).removeprefix("torch.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = operator.sample_inputs("cpu", dtype, requires_grad=False)
        for index, sample in enumerate(drawn):
            yield _sample(operator, call, kind, index, sample)


def _errors(operator: Any, call: Callable[..., Any]) -> Iterator[Sample]:
    if operator.error_inputs_func is None:
        return
    seeded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, error in enumerate(operator.error_inputs("cpu")):
            yield _sample(operator, call, "error", index, error.sample_input)


def _sample(
    operator: Any, call: Callable[..., Any], kind: str, index: int, sample: Any
) -> Sample:
    args = (sample.input, *sample.args)
    return Sample(operator.formatted_name, kind, index, call, args, sample.kwargs)
