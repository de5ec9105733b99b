"""Checks of `dim` arguments, and of functions that count, sort into bins or sample.

Mirrors the checks of `multinomial_out` in `aten/src/ATen/native/Distributions.cpp`;
those of the probabilities themselves need values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shapewright.findings.codes import (
    BOUNDARIES_SHAPE,
    DIM_OUT_OF_RANGE,
    INDEX_OUT_OF_RANGE,
    K_TOO_LARGE,
    NOT_POSITIVE,
    REPEATED_DIM,
    SOURCE_SHAPE,
    WRONG_RANK,
)
from shapewright.operators.dtype_needs import (
    no_bools,
    no_complex,
    of_dtype,
    real_floats,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import RULES, Made, Meta, Rule
from shapewright.operators.need_checks import (
    dims,
    dtype_unmet,
    is_tensor,
    of_positive,
    of_rank,
    text,
)
from shapewright.operators.needs_registry import both, named, needs
from shapewright.operators.promotion_and_broadcasting import KIND


def of_dim(
    name: str, input: Any, dim: Any, argument: str = "dim", extra: int = 0,
    sure: bool = False,
) -> Unmet | None:  # fmt: skip
    """Check that the given dims exist; `extra` counts the dims that the call adds."""
    if not is_tensor(input):
        return None
    rank = len(input.shape) + extra
    least = max(rank, 1)
    several = isinstance(dim, tuple | list)
    listed = list(dim) if several else [dim]
    if not all(type(entry) is int for entry in listed):
        return None
    for n, entry in enumerate(listed):
        if -least <= entry < least:
            continue
        fits = least - 1 if entry > 0 else -least
        value: Any = fits
        if several:
            taken = {d % least for d in listed if -least <= d < least}
            free = next((d for d in range(least) if d not in taken), None)
            kept = [d for m, d in enumerate(listed) if m != n]
            value = tuple(
                kept if free is None else [*listed[:n], free, *listed[n + 1 :]]
            )
        where = f"dims 0 to {least - 1}" if rank > 1 else "1 dim" if rank else "none"
        return Unmet(
            DIM_OUT_OF_RANGE,
            f"{{op}} has no dim {entry}: {{{name}}} {text(input.shape)} has {where}"
            if not extra
            else f"{{op}} makes {dims(rank)} of {{{name}}} {text(input.shape)}, no dim"
            f" {entry}",
            Place(name),
            None,
            entry,
            fits,
            (Grant(argument, value),),
            guessed=not sure,
        )
    if several and len({entry % least for entry in listed}) < len(listed):
        fits_ = tuple(dict.fromkeys(entry % least for entry in listed))
        return Unmet(
            REPEATED_DIM,
            f"{{op}} names a dim of {{{name}}} {text(input.shape)} twice:"
            f" {tuple(listed)}",
            Place(name),
            has=len(listed),
            needs=len(fits_),
            grants=(Grant(argument, fits_),),
            guessed=True,
        )
    return None


def _reductions() -> None:
    """Register the checks of `sum`, `softmax` and others that accept a dim."""

    def reduce(
        input: Meta, dim: Any = None, *rest: Any, **options: Any
    ) -> Unmet | None:
        dim = options.get("axis", dim)
        return of_dim("input", input, dim) if dim is not None else None

    def keep(input: Meta, dim: Any = None, *rest: Any, **options: Any) -> Unmet | None:
        return of_dim("input", input, dim, sure=True) if dim is not None else None

    def floating(
        input: Meta, dim: Any = None, *rest: Any, **options: Any
    ) -> Unmet | None:
        dim = options.get("axis", dim)
        wrong = of_dim("input", input, dim) if dim is not None else None
        dtype = options.get("dtype") or input.dtype
        if wrong is None and KIND.get(dtype, 2) < 2:
            why = "{op} expects floats"
            return dtype_unmet("input", input, "float32", why)
        return wrong

    def logits(
        input: Meta, dim: Any = None, *rest: Any, **options: Any
    ) -> Unmet | None:
        wrong = of_dim("input", input, dim, sure=True) if dim is not None else None
        dtype = options.get("dtype") or input.dtype
        if wrong is None and KIND.get(dtype, 2) < 2:
            return dtype_unmet("input", input, "float32", "{op} expects floats")
        return wrong

    words = "sum prod nansum any all amax amin argmax argmin median nanmedian logsumexp"
    words += " max min mode count_nonzero"
    families: list[tuple[Callable[..., Any], str]] = [
        (reduce, words),
        (floating, "mean std var std_mean var_mean nanmean"),
        (keep, "cumsum cumprod logcumsumexp cummax cummin sort argsort"),
        (logits, "softmax log_softmax"),
    ]
    for function, family in families:
        for word in family.split():
            left = named(*both(word))
            if left:
                needs(*left)(_with_dtypes(function, RULES.get(left[0])))
    names = [f"torch.nn.functional.{w}" for w in ("softmax", "log_softmax", "softmin")]
    needs(*named(*names))(logits)


def _with_dtypes(function: Any, rule: Rule | None) -> Any:
    """Return a check followed by a check of the dtypes that the rule accepts."""
    if rule is None:
        return function

    def asked(input: Meta, dim: Any = None, *rest: Any, **options: Any) -> Unmet | None:
        wrong: Unmet | None = function(input, dim, *rest, **options)
        arguments = () if dim is None and not rest else (dim, *rest)
        return wrong or of_dtype(rule, input, arguments, options)

    return asked


_reductions()


@needs(*named(*both("squeeze")))
def squeeze(input: Meta, dim: Any = None) -> Unmet | None:
    """Check that the dim exists."""
    return of_dim("input", input, dim) if dim is not None else None


@needs(*named(*both("unsqueeze")))
def unsqueeze(input: Meta, dim: Any) -> Unmet | None:
    """Check that the new dim is among the dims of the input or at their end."""
    return of_dim("input", input, dim, extra=1)


@needs("torch.nn.functional.normalize")
def normalize(
    input: Meta, p: float = 2.0, dim: Any = 1, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the dim exists and that the dtype is float or complex."""
    wrong = of_dim("input", input, dim, sure=True)
    if wrong is None and KIND.get(input.dtype, 2) < 2:
        return dtype_unmet("input", input, "float32", "{op} expects floats")
    return wrong


@needs(*named(*both("aminmax")))
def aminmax(input: Meta, *, dim: Any = None, **options: Any) -> Unmet | None:
    """Check that the dim exists."""
    return of_dim("input", input, dim) if dim is not None else None


@needs(*named(*both("diff")))
def diff(
    input: Meta, n: Any = 1, dim: Any = -1, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the dim exists and that `n` is not negative."""
    wrong = of_dim("input", input, dim, sure=True) if input.shape else None
    if wrong is not None or type(n) is not int or n >= 0:
        return wrong
    return Unmet(
        NOT_POSITIVE,
        f"{{op}} applies differences n times, at least 0, got {n}",
        has=n,
        needs=0,
        grants=(Grant("n", 0),),
        guessed=True,
    )


@needs("torch.trapezoid", "torch.trapz", "torch.cumulative_trapezoid")
def trapezoid(y: Meta, x: Any = None, *, dim: Any = -1, **options: Any) -> Unmet | None:
    """Check that the dim exists and that `y` is not bool."""
    return of_dim("y", y, dim) or no_bools(("y", y))


@needs(*named(*both("quantile", "nanquantile")))
def quantile(
    input: Meta, q: Any, dim: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the dim exists and that the input and `q` are float32 or float64."""
    wrong = of_dim("input", input, dim) if dim is not None else None
    if wrong is None and input.dtype not in ("float32", "float64"):
        why = "{op} expects float32 or float64"
        return dtype_unmet("input", input, "float32", why)
    if wrong is None and is_tensor(q) and q.dtype != input.dtype:
        why = f"{{op}} expects shares of {input.dtype}, as {{input}} is"
        return dtype_unmet("q", q, input.dtype, why, "input")
    return wrong


@needs(*named(*both("renorm")))
def renorm(input: Meta, p: Any, dim: Any, maxnorm: Any) -> Unmet | None:
    """Check that there are at least two dims, that the dim exists, and the dtype."""
    if len(input.shape) < 2:
        fitting = (*(1,) * (2 - len(input.shape)), *input.shape)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects at least 2 dims, got {len(input.shape)}: {{input}} is"
            f" {text(input.shape)}",
            Place("input"),
            has=len(input.shape),
            needs=2,
            grants=(Grant("input", Made(fitting, input.dtype)),),
            guessed=True,
        )
    wrong = of_dim("input", input, dim, sure=True)
    if wrong is None and KIND.get(input.dtype, 2) < 2:
        return dtype_unmet("input", input, "float32", "{op} expects floats")
    return wrong


@needs("torch.Tensor.size", "torch.Tensor.stride")
def size(self: Meta, dim: Any = None) -> Unmet | None:
    """Check that the dim exists."""
    return of_dim("self", self, dim) if dim is not None else None


# -- counting, sorting into bins, sampling ---------------------------------------------


@needs("torch.bucketize")
def bucketize(input: Any, boundaries: Meta, **options: Any) -> Unmet | None:
    """Check that the boundaries are 1-D and that no dtype is complex."""
    wrong = of_rank("boundaries", boundaries, 1, 1)
    return wrong or no_complex(("input", input), ("boundaries", boundaries))


@needs("torch.searchsorted")
def searchsorted(
    sorted_sequence: Meta, input: Any, *, sorter: Any = None, **options: Any
) -> Unmet | None:
    """Check that boundaries are 1-D, or have a row for each row of the input."""
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
        fitting = Made(wanted, input.dtype) if is_tensor(input) else None
        return Unmet(
            BOUNDARIES_SHAPE,
            f"{{op}} expects one row of boundaries, or as many as it searches for:"
            f" {{sorted_sequence}} is {text(rows)}, {{input}} is {text(shape)}",
            Place("input") if is_tensor(input) else None,
            Place("sorted_sequence"),
            text(shape),
            text(wanted),
            () if fitting is None else (Grant("input", fitting),),
        )
    return no_complex(("sorted_sequence", sorted_sequence), ("input", input))


@needs(*named(*both("multinomial")))
def multinomial(
    input: Meta, num_samples: Any, replacement: bool = False, **options: Any
) -> Unmet | None:
    """Check that there are rows of at least as many weights as samples."""
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
    """Check that the input is a 1-D tensor of integers >= 0, with a weight for each."""
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
