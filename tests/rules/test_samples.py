"""Rules against torch's own operator samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from oracle import Checking, Tally, fresh, rules_by_function
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = (
    torch.float32, torch.int64, torch.bool, torch.uint8, torch.float16, torch.bfloat16,
    torch.float64, torch.complex64,
)  # fmt: skip


def functions(op: Any) -> list[Any]:
    """Every function by which the operator can be called."""
    forms = [op.op, op.method_variant, op.inplace_variant, op.operator_variant]
    forms += [op.inplace_operator_variant]
    for alias in op.aliases:
        forms += [alias.op, alias.method_variant, alias.inplace_variant]
    return [form for form in forms if form is not None]


def samples(op: Any, dtype: torch.dtype, most: int | None) -> Iterator[Any]:
    """Sample inputs; converted from float32 where the dtype is not supported."""
    torch.manual_seed(0)
    if dtype in op.supported_dtypes("cpu"):
        yield from islice(op.sample_inputs_func(op, "cpu", dtype, False), most)
        return
    for sample in islice(op.sample_inputs_func(op, "cpu", torch.float32, False), 3):
        yield sample.transform(lambda x: _converted(x, dtype))


def _converted(value: Any, dtype: torch.dtype) -> Any:
    convert = isinstance(value, torch.Tensor) and value.dtype == torch.float32
    return value.to(dtype) if convert else value


def given(op: Any, dtypes: Any, most: int | None) -> Iterator[Any]:
    """Samples in these dtypes, then the inputs that the operator must refuse."""
    for dtype in dtypes:
        try:
            yield from list(samples(op, dtype, most))
        except Exception:  # the sample maker itself cannot do this dtype
            continue
    if op.error_inputs_func is not None:
        yield from [error.sample_input for error in op.error_inputs_func(op, "cpu")]


def sweep(op: Any, tally: Tally, most: int | None, dtypes: Any = DTYPES) -> None:
    """Run every form of the operator on its samples and error inputs, checked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in given(op, dtypes, most):
            for form in functions(op):
                call(form, sample, tally)


def call(form: Any, sample: Any, tally: Tally) -> None:
    """One sample, on copies that keep strides, since forms may write their input."""
    sample = sample.transform(
        lambda x: fresh(x.detach()) if isinstance(x, torch.Tensor) else x
    )
    with torch.no_grad(), Checking(tally):
        try:
            form(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # judged by the mode
            pass


def ruled(op: Any) -> bool:
    """Whether some form of the operator is itself a function with a rule."""
    return any(_hashable(form) in rules_by_function() for form in functions(op))


def _hashable(form: Any) -> Any:
    try:
        hash(form)
    except TypeError:
        return None
    return form


def label(op: Any) -> str:
    """The operator's name for pytest."""
    return f"{op.name}-{op.variant_test_name}".strip("-")


@pytest.mark.parametrize("op", list(filter(ruled, op_db)), ids=label)
def test_rule_agrees_on_few_samples(op: Any) -> None:
    tally = Tally()
    sweep(op, tally, 4, (torch.float32, torch.int64, torch.bool))
    assert not tally.wrong, "\n".join(tally.wrong[:20])


@pytest.mark.zoo
@pytest.mark.parametrize("op", op_db, ids=label)
def test_rule_agrees_on_all_samples(op: Any) -> None:
    tally = Tally()
    sweep(op, tally, None)
    assert not tally.wrong, "\n".join(tally.wrong[:20])
