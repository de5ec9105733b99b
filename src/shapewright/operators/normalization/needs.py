"""Checks of normalisations: feature counts must match the statistics and weights."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.findings.codes import (
    CHANNEL_MISMATCH,
    CHANNELS_LAST,
    GROUPS_DO_NOT_DIVIDE,
    NORMALIZED_SHAPE,
    ONE_VALUE_PER_CHANNEL,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dims,
    dtype_unmet,
    is_square_at_end,
    resized,
    text,
    turned,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.promotion_and_broadcasting import FLOATING, KIND

RANKS = {1: (2, 3), 2: (4,), 3: (5,)}


@needs("torch.nn.functional.batch_norm")
def batch_norm(
    input: Meta,
    running_mean: Meta | None,
    running_var: Meta | None,
    weight: Meta | None = None,
    bias: Meta | None = None,
    training: bool = False,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check the channels, the dtype and, in training, the values per channel."""
    shape = input.shape
    if len(shape) < 2:
        return None
    if training and prod(shape) == shape[1] and shape[1]:
        return Unmet(
            ONE_VALUE_PER_CHANNEL,
            f"{{op}} in training needs more than 1 value per channel, got {{input}}"
            f" {text(shape)}",
            Place("input", 0),
            has=1,
            needs=2,
            makes=(Made(shape, input.dtype),),
        )
    return _of_vectors(input, running_mean, running_var, weight, bias)


def _of_vectors(input: Meta, *vectors: Meta | None) -> Unmet | None:
    """Check the sizes, and then the dtypes, of the statistics, weight and bias."""
    names = "running_mean", "running_var", "weight", "bias"
    wrong = _of_channels(input, *zip(names, vectors, strict=True))
    return wrong or _of_dtype(input, *vectors)


def _of_dtype(input: Meta, *others: Meta | None) -> Unmet | None:
    """Check that the input has the weights' dtype; float32 weights accept halves."""
    known = [tensor.dtype for tensor in others if tensor is not None]
    dtype = next((dtype for dtype in known if dtype in FLOATING), "float32")
    half = input.dtype in ("float16", "bfloat16") and dtype == "float32"
    if input.dtype in FLOATING and (not known or input.dtype == dtype or half):
        return None
    why = f"{{op}} computes in {dtype}" if known else "{op} expects floats"
    return dtype_unmet("input", input, dtype, why)


def _of_channels(input: Meta, *named: tuple[str, Meta | None]) -> Unmet | None:
    """Check that dim 1 has as many channels as the named statistics and weights."""
    shape = input.shape
    for name, meta in named:
        if meta is None or len(meta.shape) != 1 or meta.shape[0] == shape[1]:
            continue
        wanted, last = meta.shape[0], len(shape) - 1
        message = (
            f"{{op}} normalises {wanted} channels, got {shape[1]} in dim 1 of {{input}}"
        )
        message += f" {text(shape)}"
        grant, code = resized(input, 1, wanted), CHANNEL_MISMATCH
        if last > 1 and shape[last] == wanted and not is_square_at_end(shape, 1):
            message += ", which looks like channels last"
            code = CHANNELS_LAST
            grant = turned(input, (0, last, *range(1, last)))
        return Unmet(
            code,
            message,
            Place("input", 1),
            Place(name, 0),
            shape[1],
            wanted,
            (Grant("input", grant),),
            (Made(shape, input.dtype),),  # a norm keeps the shape that came
        )
    return None


@needs("torch.nn.functional.instance_norm")
def instance_norm(
    input: Meta,
    running_mean: Meta | None = None,
    running_var: Meta | None = None,
    weight: Meta | None = None,
    bias: Meta | None = None,
    use_input_stats: bool = True,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check channels and dtype, and that each channel has more than one position."""
    shape = input.shape
    if len(shape) < 2:
        return None
    if use_input_stats and prod(shape[2:]) == 1:
        return Unmet(
            ONE_VALUE_PER_CHANNEL,
            f"{{op}} needs more than 1 place per channel, got {{input}} {text(shape)}",
            Place("input", 2 if len(shape) > 2 else None),
            has=1,
            needs=2,
            makes=(Made(shape, input.dtype),),
        )
    return _of_vectors(input, running_mean, running_var, weight, bias)


@needs("torch.nn.functional.group_norm")
def group_norm(
    input: Meta,
    num_groups: int,
    weight: Meta | None = None,
    bias: Meta | None = None,
    eps: float = 1e-5,
) -> Unmet | None:
    """Check that the groups divide the channels and that the weights match them."""
    shape = input.shape
    if len(shape) < 2 or num_groups < 1:
        return None
    wrong = _of_channels(input, ("weight", weight), ("bias", bias))
    if wrong is not None:
        return wrong
    if shape[1] % num_groups:
        return Unmet(
            GROUPS_DO_NOT_DIVIDE,
            f"{{op}} cannot divide {shape[1]} channels into {num_groups} groups",
            Place("input", 1),
            has=shape[1],
            needs=num_groups,
            makes=(Made(shape, input.dtype),),
        )
    if prod(shape) == num_groups and shape[0] * shape[1] == num_groups:
        return Unmet(
            ONE_VALUE_PER_CHANNEL,
            f"{{op}} needs more than 1 value per group, got {{input}} {text(shape)}",
            Place("input", 1),
            has=1,
            needs=2,
            makes=(Made(shape, input.dtype),),
        )
    return _of_dtype(input, weight, bias)


@needs("torch.nn.functional.layer_norm")
def layer_norm(
    input: Meta,
    normalized_shape: Any,
    weight: Meta | None = None,
    bias: Meta | None = None,
    eps: float = 1e-5,
) -> Unmet | None:
    """Check that the shape of the input ends with `normalized_shape`, and the dtype."""
    wrong = _of_last(input, normalized_shape, weight)
    return wrong or _of_dtype(input, weight, bias)


@needs("torch.nn.functional.rms_norm")
def rms_norm(
    input: Meta, normalized_shape: Any, weight: Meta | None = None, eps: Any = None
) -> Unmet | None:
    """Check that the shape of the input ends with `normalized_shape`, and the dtype."""
    wrong = _of_last(input, normalized_shape, weight)
    if wrong is None and KIND.get(input.dtype, 2) < 2:
        return dtype_unmet("input", input, "float32", "{op} expects floats")
    return wrong


def _of_last(input: Meta, normalized_shape: Any, weight: Meta | None) -> Unmet | None:
    """Check that the last dims have exactly the sizes `normalized_shape`."""
    if isinstance(normalized_shape, int):
        return None
    wanted, shape = tuple(normalized_shape), input.shape
    if not wanted:
        return None
    count, rank = len(wanted), len(shape)
    if rank < count:
        return Unmet(
            NORMALIZED_SHAPE,
            f"{{op}} normalises the last {dims(count)} {text(wanted)}, got"
            f" {dims(rank)}: {{input}} is {text(shape)}",
            Place("input"),
            Place("weight") if weight is not None else None,
            rank,
            count,
            (Grant("input", Made(wanted, input.dtype)),),
        )
    if shape[rank - count :] == wanted:
        return None
    dim = next(d for d in range(rank - count, rank) if shape[d] != wanted[d - rank])
    if count == 1:
        message = f"{{op}} normalises a last dim of {wanted[0]}, got {shape[-1]}:"
    else:
        message = f"{{op}} normalises the last {dims(count)} {text(wanted)}, got"
    message += f" {{input}} {text(shape)}"
    grant = Made((*shape[: rank - count], *wanted), input.dtype)
    if count == 1 and rank > 2 and wanted[0] in shape[1:-1]:
        other = shape.index(wanted[0], 1)
        message += f" has {wanted[0]} in dim {other}"
    return Unmet(
        NORMALIZED_SHAPE,
        message,
        Place("input", dim),
        Place("weight", dim - rank + count) if weight is not None else None,
        shape[dim],
        wanted[dim - rank],
        (Grant("input", grant),),
        (Made(shape, input.dtype),),  # a norm keeps the shape that came
    )


def _counted(spatial: int, unbatched: bool) -> Any:
    """Return the check of a layer that accepts only certain numbers of input dims."""
    ranks = RANKS[spatial]
    if unbatched:
        ranks = (spatial + 1, spatial + 2)

    def need(input: Meta, *, layer: Any = None) -> Unmet | None:
        rank = len(input.shape)
        features = (layer or {}).get("num_features")
        if rank in ranks:
            return None
        shown = " or ".join(map(str, ranks))
        spaces = ("length", "height, width", "depth, height, width")[spatial - 1]
        shape = input.shape
        grants: tuple[Grant, ...] = ()
        if rank < ranks[-1]:
            fitting = (*shape, *(2 if unbatched else 1,) * (ranks[-1] - rank))
            if rank == ranks[-1] - 1 and features in shape[:1] and len(shape) > 1:
                fitting = (1, *shape)
            grants = (Grant("input", Made(fitting, input.dtype)),)
        elif features is None or shape[1] == features:
            grants = (
                Grant(
                    "input",
                    Made(
                        (*shape[: ranks[-1] - 1], prod(shape[ranks[-1] - 1 :])),
                        input.dtype,
                    ),
                ),
            )
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects {shown} dims (batch, channels, {spaces}), got {rank}:"
            f" {{input}} is {text(shape)}",
            Place("input"),
            has=rank,
            needs=ranks[-1],
            grants=grants,
            makes=(Made(shape, input.dtype),),  # as a norm does
        )

    return need


for _spatial in (1, 2, 3):
    needs(f"torch.nn.BatchNorm{_spatial}d")(_counted(_spatial, False))
    needs(f"torch.nn.InstanceNorm{_spatial}d")(_counted(_spatial, True))
