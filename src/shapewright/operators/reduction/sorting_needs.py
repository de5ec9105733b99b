"""Checks of functions that count, sort into bins, or draw samples.

Mirrors the checks of `multinomial_out` in `aten/src/ATen/native/Distributions.cpp`;
those of the probabilities themselves need values.
"""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import (
    BOUNDARIES_SHAPE,
    INDEX_OUT_OF_RANGE,
    K_TOO_LARGE,
    SOURCE_SHAPE,
)
from shapewright.operators.dtype_needs import no_complex, real_floats
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dtype_unmet,
    is_tensor,
    of_positive,
    of_rank,
    text,
)
from shapewright.operators.needs_registry import both, named, needs


@needs("torch.bucketize")
def bucketize(input: Any, boundaries: Meta, **options: Any) -> Unmet | None:
    """Check that the boundaries are 1-d and that no dtype is complex."""
    wrong = of_rank("boundaries", boundaries, 1, 1)
    return wrong or no_complex(("input", input), ("boundaries", boundaries))


@needs("torch.searchsorted")
def searchsorted(
    sorted_sequence: Meta, input: Any, *, sorter: Any = None, **options: Any
) -> Unmet | None:
    """Check for 1-d boundaries, or a row of them for each row of the input."""
    rows = sorted_sequence.shape
    if not rows:
        return of_rank("sorted_sequence", sorted_sequence, 1, 1)
    if is_tensor(sorter) and sorter.shape != rows:
        return Unmet(
            BOUNDARIES_SHAPE,
            f"{{op}} expects an order of the boundaries: {{sorted_sequence}} is"
            f" {text(rows)}, {{sorter}} is {text(sorter.shape)}",
            Place("sorter"),
            Place("sorted_sequence"),
            text(sorter.shape),
            text(rows),
            (Grant("sorter", Made(rows, "int64")),),
        )
    shape = input.shape if is_tensor(input) else ()
    if len(rows) > 1 and (not shape or shape[:-1] != rows[:-1]):
        wanted = (*rows[:-1], shape[-1] if shape else 1)
        made = Made(wanted, input.dtype) if is_tensor(input) else None
        return Unmet(
            BOUNDARIES_SHAPE,
            f"{{op}} expects one row of boundaries, or as many as it searches for:"
            f" {{sorted_sequence}} is {text(rows)}, {{input}} is {text(shape)}",
            Place("input") if is_tensor(input) else None,
            Place("sorted_sequence"),
            text(shape),
            text(wanted),
            () if made is None else (Grant("input", made),),
        )
    return no_complex(("sorted_sequence", sorted_sequence), ("input", input))


@needs(*named(*both("multinomial")))
def multinomial(
    input: Meta, num_samples: Any, replacement: bool = False, **options: Any
) -> Unmet | None:
    """Check for rows of weights, and for no more samples than weights."""
    wrong = of_rank("input", input, 1, 2) or real_floats(("input", input))
    wrong = wrong or of_positive("num_samples", num_samples)
    if wrong is not None or replacement or type(num_samples) is not int:
        return wrong
    size, last = input.shape[-1], len(input.shape) - 1
    if num_samples <= size:
        return None
    return Unmet(
        K_TOO_LARGE,
        f"{{op}} draws {num_samples} without replacement from dim {last} of {{input}}"
        f" {text(input.shape)}, which has {size}",
        Place("input", last),
        has=size,
        needs=num_samples,
        grants=(Grant("num_samples", size),),
        guessed=True,
    )


@needs(*named(*both("bincount")))
def bincount(
    input: Meta, weights: Any = None, minlength: Any = 0, **options: Any
) -> Unmet | None:
    """Check for a 1-d tensor of integers >= 0, and a weight for each element."""
    wrong = of_rank("input", input, 1, 1) or of_positive("minlength", minlength, 0)
    if wrong is not None:
        return wrong
    if not input.dtype.startswith(("int", "uint")):
        return dtype_unmet("input", input, "int64", "{op} counts integers")
    values: tuple[int, ...] = getattr(input, "values", None) or ()
    if min(values, default=0) < 0:
        return Unmet(
            INDEX_OUT_OF_RANGE,
            f"{{op}} counts numbers from 0 on, but {{input}} has {min(values)}",
            Place("input"),
            has=min(values),
            needs=0,
            grants=(Grant("input", Made(input.shape, input.dtype)),),
        )
    if is_tensor(weights) and weights.shape != input.shape:
        return Unmet(
            SOURCE_SHAPE,
            f"{{op}} expects a weight for each number: {{input}} is "
            f"{text(input.shape)},"
            f" {{weights}} is {text(weights.shape)}",
            Place("weights"),
            Place("input"),
            text(weights.shape),
            text(input.shape),
            (Grant("weights", Made(input.shape, weights.dtype)),),
        )
    return None
