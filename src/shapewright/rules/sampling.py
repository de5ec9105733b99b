"""Draws from given probabilities.

Mirrors the checks of `multinomial_out` in `aten/src/ATen/native/Distributions.cpp`;
those of the probabilities themselves need values.
"""

from __future__ import annotations

from typing import Any

from shapewright.rules.elementwise import KERNEL_DTYPE
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule

MOST_CATEGORIES = 1 << 24
"""The largest whole number up to which float32 has every one."""


@rule("torch.multinomial", "torch.Tensor.multinomial", random=True)
def multinomial(
    input: Meta,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Any:
    """3 samples from each row of (8, 10): (8, 3) places, int64."""
    if out is not None or type(num_samples) is not int:
        return NotImplemented
    if len(input.shape) not in (1, 2):
        raise Misfit("prob_dist must be 1 or 2 dim")
    if input.dtype not in FLOATING:
        if input.dtype not in KERNEL_DTYPE:
            return NotImplemented
        raise Misfit(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{KERNEL_DTYPE[input.dtype]}"
        )
    categories = input.shape[-1]
    if num_samples <= 0:
        raise Misfit("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > categories:
        raise Misfit(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if categories > MOST_CATEGORIES:
        raise Misfit("number of categories cannot exceed 2^24")
    if not categories:
        return NotImplemented
    return Made((*input.shape[:-1], num_samples), "int64", None, "")
