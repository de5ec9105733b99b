"""Needs of margin and distance losses, and of `ctc_loss`."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.findings.codes import CTC_LENGTHS, TARGET_SHAPE, WRONG_RANK
from shapewright.operators.dtype_needs import (
    no_bools,
    no_complex,
    real_floats,
    some_float,
    wide_floats,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.losses.needs import floats, of_weights
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dims,
    dtype_unmet,
    is_tensor,
    out_of_range,
    text,
    turned,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.pointwise.needs import broadcast
from shapewright.operators.promotion_and_broadcasting import FLOATING


def _of_samples(
    input: Meta, name: str = "input", what: str = "batch, classes"
) -> Unmet | None:
    """Check that the input holds scores of classes, with or without a batch dim."""
    shape = input.shape
    if len(shape) in (1, 2):
        return None
    count = 1
    for size in shape[:-1]:
        count *= size
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects 2 dims ({what}), or 1, got {len(shape)}: {{{name}}} is"
        f" {text(shape)}",
        Place(name),
        has=len(shape),
        needs=2,
        grants=(Grant(name, Made((count, shape[-1]), input.dtype)),) if shape else (),
        guessed=True,
    )


def _of_labels(
    input: Meta, target: Meta, wanted: tuple[int, ...], expected: str
) -> Any:
    """Check that the target has the expected shape and contains class indices."""
    if target.shape != wanted:
        return Unmet(
            TARGET_SHAPE,
            f"{{op}} expects {expected}, {text(wanted)}, for {{input}}"
            f" {text(input.shape)}, got {{target}} {text(target.shape)}",
            Place("target"),
            Place("input"),
            text(target.shape),
            text(wanted),
            (Grant("target", Made(wanted, target.dtype)),),
        )
    if target.dtype != "int64":
        why = "{op} expects class indices (int64)"
        return dtype_unmet("target", target, "int64", why)
    return None


@needs("torch.nn.functional.multi_margin_loss")
def multi_margin(
    input: Meta,
    target: Meta,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check that the target has a class index for each sample."""
    wrong: Unmet | None = _of_samples(input)
    if wrong is not None:
        return wrong
    at = len(input.shape) - 1
    wanted = input.shape[:-1]
    single = not at and target.shape in ((), (1,))
    kept = target.shape if single else wanted
    wrong = _of_labels(input, target, kept, "a class index for each sample")
    wrong = wrong or of_weights(input, weight, at) or wide_floats(("input", input))
    return wrong or out_of_range(
        "target", target, input.shape[at], "input", at, "classes"
    )


@needs("torch.nn.functional.multilabel_margin_loss")
def multilabel_margin(
    input: Meta, target: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the target has a row of class indices for each sample."""
    wrong: Unmet | None = _of_samples(input)
    expected = "a row of class indices for each sample"
    wrong = wrong or _of_labels(input, target, input.shape, expected)
    return wrong or wide_floats(("input", input))


@needs("torch.nn.functional.multilabel_soft_margin_loss")
def multilabel_soft_margin(
    input: Meta, target: Meta, weight: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the target has a value for each class of each sample."""
    wrong = broadcast([("input", input), ("target", target)])
    wrong = wrong or broadcast([("input", input), ("weight", weight)])
    return wrong or floats(input) or no_bools(("target", target))


@needs("torch.nn.functional.gaussian_nll_loss")
def gaussian_nll(
    input: Meta, target: Meta, var: Any, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that there is a variance for each number, or one for the whole last dim."""
    if is_tensor(var):
        var_shape, shape = var.shape, input.shape
        one_each = (*shape[:-1], 1)
        same = len(var_shape) == len(shape) and all(
            a in (1, b) for a, b in zip(var_shape, shape, strict=True)
        )
        if not (var_shape in (shape, shape[:-1]) or (same and var_shape.count(1) == 1)):
            return Unmet(
                TARGET_SHAPE,
                f"{{op}} expects a variance for each number of {{input}} {text(shape)},"
                f" or {text(one_each)}, got {{var}} {text(var_shape)}",
                Place("var"),
                Place("input"),
                text(var_shape),
                text(shape),
                (Grant("var", Made(shape, var.dtype)),),
            )
    named = ("input", input), ("target", target)
    return broadcast(named) or no_bools(*named) or real_floats(("var", var))


@needs(
    "torch.nn.functional.triplet_margin_loss",
    "torch.nn.functional.triplet_margin_with_distance_loss",
)
def triplet(
    anchor: Meta, positive: Meta, negative: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the three tensors have the same number of dims and broadcast."""
    named = [("anchor", anchor), ("positive", positive), ("negative", negative)]
    for name, tensor in named[1:]:
        if len(tensor.shape) != len(anchor.shape):
            return Unmet(
                WRONG_RANK,
                f"{{op}} compares tensors with as many dims: {{anchor}} has"
                f" {dims(len(anchor.shape))}, {{{name}}} has {dims(len(tensor.shape))}",
                Place(name),
                Place("anchor"),
                len(tensor.shape),
                len(anchor.shape),
                (Grant(name, Made(anchor.shape, tensor.dtype)),),
            )
    return broadcast(named) or no_bools(*named)


@needs("torch.nn.functional.cosine_embedding_loss")
def cosine_embedding(
    input1: Meta, input2: Meta, target: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that there are pairs of vectors and a target for each pair."""
    for name, tensor in (("input1", input1), ("input2", input2)):
        wrong = _of_samples(tensor, name, "pairs, numbers")
        if wrong is not None:
            return wrong
    rank, other = len(input1.shape), len(input2.shape)
    if rank != other:
        fitting = (1, *input2.shape) if other < rank else input2.shape[1:]
        return Unmet(
            WRONG_RANK,
            f"{{op}} compares tensors with as many dims: {{input1}} is"
            f" {text(input1.shape)}, {{input2}} is {text(input2.shape)}",
            Place("input2"),
            Place("input1"),
            other,
            rank,
            (Grant("input2", Made(fitting, input2.dtype)),),
            guessed=True,
        )
    wrong = broadcast([("input1", input1), ("input2", input2)])
    if wrong is not None:
        return wrong
    wanted = (max(input1.shape[0], input2.shape[0]),) if rank == 2 else ()
    fits = target.shape == wanted or (rank == 2 and 1 in (*target.shape, *wanted))
    if not fits or len(target.shape) != len(wanted):
        return Unmet(
            TARGET_SHAPE,
            f"{{op}} expects one target for each pair, {text(wanted)}, got {{target}}"
            f" {text(target.shape)}",
            Place("target"),
            Place("input1", 0),
            text(target.shape),
            text(wanted),
            (Grant("target", Made(wanted, target.dtype)),),
        )
    named = ("input1", input1), ("input2", input2)
    return no_complex(*named)


@needs("torch.nn.functional.margin_ranking_loss")
def margin_ranking(
    input1: Meta, input2: Meta, target: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the three tensors have the same number of dims and broadcast."""
    for name, tensor in (("input2", input2), ("target", target)):
        if len(tensor.shape) != len(input1.shape):
            return Unmet(
                WRONG_RANK,
                f"{{op}} compares tensors with as many dims: {{input1}} is"
                f" {text(input1.shape)}, {{{name}}} is {text(tensor.shape)}",
                Place(name),
                Place("input1"),
                len(tensor.shape),
                len(input1.shape),
                (Grant(name, Made(input1.shape, tensor.dtype)),),
            )
    named = ("input1", input1), ("input2", input2), ("target", target)
    wrong = broadcast(named) or no_bools(*named[:2])
    return wrong or no_complex(*named) or some_float(*named)


@needs("torch.nn.functional.ctc_loss")
def ctc(
    log_probs: Meta,
    targets: Meta,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check that the dims are time, batch, classes, and that samples have lengths."""
    shape = log_probs.shape
    if len(shape) not in (2, 3):
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 3 dims (time, batch, classes), or 2, got {len(shape)}:"
            f" {{log_probs}} is {text(shape)}",
            Place("log_probs"),
            has=len(shape),
            needs=3,
        )
    lengths = (("input_lengths", input_lengths), ("target_lengths", target_lengths))
    for name, length in lengths:
        if is_tensor(length) and length.dtype in FLOATING:
            return dtype_unmet(
                name, length, "int64", "{op} expects lengths of dtype int64"
            )
    if log_probs.dtype not in ("float32", "float64"):
        why = "{op} expects float32 or float64"
        return dtype_unmet("log_probs", log_probs, "float32", why)
    wrong = _of_batch(log_probs, *lengths)
    for name, length in lengths:
        most = shape[0] if name == "input_lengths" else None
        wrong = wrong or _of_values(name, length, most, "steps of {log_probs}")
    return wrong or _of_targets(log_probs, targets, target_lengths)


def _numbers(lengths: Any) -> tuple[int, ...] | None:
    """Return the lengths as ints, or None if they are not known."""
    if isinstance(lengths, tuple | list) and all(
        type(length) is int for length in lengths
    ):
        return tuple(lengths)
    values: tuple[int, ...] | None = getattr(lengths, "values", None)
    return None if callable(values) else values


def _count_of(lengths: Any) -> int | None:
    """Return the number of lengths, or None if it is not known."""
    if is_tensor(lengths):
        return int(prod(lengths.shape))
    listed = isinstance(lengths, tuple | list)
    return len(lengths) if listed else None


def _of_batch(log_probs: Meta, *lengths: tuple[str, Any]) -> Unmet | None:
    """Check that there is a length for each sample."""
    shape = log_probs.shape
    batch = shape[1] if len(shape) == 3 else 1
    counts = [_count_of(length) for _, length in lengths]
    wrong = [n for n, count in enumerate(counts) if count not in (None, batch)]
    if not wrong:
        return None
    name, length = lengths[wrong[0]]
    count = counts[wrong[0]]
    assert count is not None
    both = counts[0] == counts[1]
    swapped = both and len(shape) == 3 and shape[0] == count
    more = ": it takes (time, batch, classes)" if swapped else ""
    dim = " in dim 1" if len(shape) == 3 else ""
    fits: Any = (shape[0] if name == "input_lengths" else 1,) * batch
    if both:
        grown = (shape[0], count, shape[-1])
        fitting = (
            turned(log_probs, (1, 0, 2)) if swapped else Made(grown, log_probs.dtype)
        )
        grant = Grant("log_probs", fitting)
    else:
        fits = Made((batch,), length.dtype) if is_tensor(length) else fits
        grant = Grant(name, fits)
    is_vector = is_tensor(length) and len(length.shape) == 1
    plural = "samples" if batch != 1 else "sample"
    return Unmet(
        CTC_LENGTHS,
        f"{{op}} needs a length for each of {batch} {plural}{dim} of {{log_probs}}"
        f" {text(shape)}, got {count} as `{name}`{more}",
        Place("log_probs", 1 if len(shape) == 3 else None),
        Place(name, 0) if is_vector else None,
        batch,
        count,
        (grant,),
    )


def _of_values(name: str, lengths: Any, most: int | None, what: str) -> Unmet | None:
    """Check that the lengths are at least 0 and at most `most`."""
    for n, value in enumerate(_numbers(lengths) or ()):
        if value >= 0 and (most is None or value <= most):
            continue
        fits: Any = tuple(max(min(v, most or v), 0) for v in _numbers(lengths) or ())
        if is_tensor(lengths):
            fits = Made(lengths.shape, lengths.dtype)
        bounds = f"0 to {most}, the {what}" if most is not None else "at least 0"
        return Unmet(
            CTC_LENGTHS,
            f"{{op}} expects `{name}` of {bounds}, got {value} at [{n}]",
            Place(name) if is_tensor(lengths) else None,
            has=value,
            needs=most if most is not None else 0,
            grants=(Grant(name, fits),),
        )
    return None


def _of_targets(log_probs: Meta, targets: Meta, lengths: Any) -> Unmet | None:
    """Check that each sample has a padded row of labels, or all share one vector."""
    labels, shape = targets.shape, log_probs.shape
    batch = shape[1] if len(shape) == 3 else 1
    known = _numbers(lengths)
    if len(shape) == 2 and len(labels) == 1:
        labels = (1, *labels)
    if len(labels) == 1 and known is not None and labels[0] != sum(known):
        expected = f"{sum(known)} labels, the sum of `target_lengths`"
        wanted: tuple[int, ...] = (sum(known),)
    elif len(labels) == 2 and labels[0] != batch:
        expected, wanted = (
            f"a row of labels for each of {batch} samples",
            (batch, labels[1]),
        )
    elif len(labels) not in (1, 2):
        expected, wanted = "1 or 2 dims of labels", (batch, *labels[-1:])
    elif len(labels) == 2:
        return _of_values("target_lengths", lengths, labels[1], "labels of a row")
    else:
        return None
    return Unmet(
        CTC_LENGTHS,
        f"{{op}} expects {expected}, got {{targets}} {text(targets.shape)}",
        Place("targets"),
        Place("log_probs"),
        text(targets.shape),
        text(wanted),
        (Grant("targets", Made(wanted, targets.dtype)),),
    )
