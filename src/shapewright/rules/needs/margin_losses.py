"""What losses of margins and distances need."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.broadcasting import broadcast
from shapewright.rules.needs.kinds import (
    no_bools,
    no_complex,
    real_floats,
    some_float,
    wide_floats,
)
from shapewright.rules.needs.known import out_of_range
from shapewright.rules.needs.losses import floats, of_weights
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dims, dtype_unmet, is_tensor, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet


def of_samples(
    input: Meta, name: str = "input", what: str = "batch, classes"
) -> Unmet | None:
    """Scores of classes, with or without a batch."""
    shape = input.shape
    if len(shape) in (1, 2):
        return None
    count = 1
    for size in shape[:-1]:
        count *= size
    return Unmet(
        "wrong-rank",
        f"{{op}} takes 2 dims ({what}), or 1, got {len(shape)}: {{{name}}} is"
        f" {text(shape)}",
        Place(name),
        has=len(shape),
        needs=2,
        grants=(Grant(name, Made((count, shape[-1]), input.dtype)),) if shape else (),
        guessed=True,
    )


def of_labels(input: Meta, target: Meta, wanted: tuple[int, ...], each: str) -> Any:
    """A target of one shape, of class numbers."""
    if target.shape != wanted:
        return Unmet(
            "target-shape",
            f"{{op}} takes {each}, {text(wanted)}, for {{input}} {text(input.shape)},"
            f" got {{target}} {text(target.shape)}",
            Place("target"),
            Place("input"),
            text(target.shape),
            text(wanted),
            (Grant("target", Made(wanted, target.dtype)),),
        )
    if target.dtype != "int64":
        why = "{op} takes class numbers, int64"
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
    """A class number for each sample."""
    wrong: Unmet | None = of_samples(input)
    if wrong is not None:
        return wrong
    at = len(input.shape) - 1
    wanted = input.shape[:-1]
    single = not at and target.shape in ((), (1,))
    kept = target.shape if single else wanted
    wrong = of_labels(input, target, kept, "a class number for each sample")
    wrong = wrong or of_weights(input, weight, at) or wide_floats(("input", input))
    return wrong or out_of_range(
        "target", target, input.shape[at], "input", at, "classes"
    )


@needs("torch.nn.functional.multilabel_margin_loss")
def multilabel_margin(
    input: Meta, target: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """A row of class numbers for each sample, as long as the scores."""
    wrong: Unmet | None = of_samples(input)
    each = "a row of class numbers for each sample"
    wrong = wrong or of_labels(input, target, input.shape, each)
    return wrong or wide_floats(("input", input))


@needs("torch.nn.functional.multilabel_soft_margin_loss")
def multilabel_soft_margin(
    input: Meta, target: Meta, weight: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """A share for each class of each sample."""
    wrong = broadcast([("input", input), ("target", target)])
    wrong = wrong or broadcast([("input", input), ("weight", weight)])
    return wrong or floats(input) or no_bools(("target", target))


@needs("torch.nn.functional.gaussian_nll_loss")
def gaussian_nll(
    input: Meta, target: Meta, var: Any, *rest: Any, **options: Any
) -> Unmet | None:
    """A variance for each number, or one for the last dim."""
    if is_tensor(var):
        given, shape = var.shape, input.shape
        one_each = (*shape[:-1], 1)
        same = len(given) == len(shape) and all(
            a in (1, b) for a, b in zip(given, shape, strict=True)
        )
        if not (given in (shape, shape[:-1]) or (same and given.count(1) == 1)):
            return Unmet(
                "target-shape",
                f"{{op}} takes a variance for each number of {{input}} {text(shape)},"
                f" or {text(one_each)}, got {{var}} {text(given)}",
                Place("var"),
                Place("input"),
                text(given),
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
    """Three with as many dims, that broadcast together."""
    named = [("anchor", anchor), ("positive", positive), ("negative", negative)]
    for name, each in named[1:]:
        if len(each.shape) != len(anchor.shape):
            return Unmet(
                "wrong-rank",
                f"{{op}} compares tensors with as many dims: {{anchor}} has"
                f" {dims(len(anchor.shape))}, {{{name}}} has {dims(len(each.shape))}",
                Place(name),
                Place("anchor"),
                len(each.shape),
                len(anchor.shape),
                (Grant(name, Made(anchor.shape, each.dtype)),),
            )
    return broadcast(named) or no_bools(*named)


@needs("torch.nn.functional.cosine_embedding_loss")
def cosine_embedding(
    input1: Meta, input2: Meta, target: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """Pairs of vectors, and one target for each pair."""
    for name, each in (("input1", input1), ("input2", input2)):
        wrong = of_samples(each, name, "pairs, numbers")
        if wrong is not None:
            return wrong
    rank, other = len(input1.shape), len(input2.shape)
    if rank != other:
        made = (1, *input2.shape) if other < rank else input2.shape[1:]
        return Unmet(
            "wrong-rank",
            f"{{op}} compares tensors with as many dims: {{input1}} is"
            f" {text(input1.shape)}, {{input2}} is {text(input2.shape)}",
            Place("input2"),
            Place("input1"),
            other,
            rank,
            (Grant("input2", Made(made, input2.dtype)),),
            guessed=True,
        )
    wrong = broadcast([("input1", input1), ("input2", input2)])
    if wrong is not None:
        return wrong
    wanted = (max(input1.shape[0], input2.shape[0]),) if rank == 2 else ()
    fits = target.shape == wanted or (rank == 2 and 1 in (*target.shape, *wanted))
    if not fits or len(target.shape) != len(wanted):
        return Unmet(
            "target-shape",
            f"{{op}} takes one target for each pair, {text(wanted)}, got {{target}}"
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
    """Three with as many dims, that broadcast together."""
    for name, each in (("input2", input2), ("target", target)):
        if len(each.shape) != len(input1.shape):
            return Unmet(
                "wrong-rank",
                f"{{op}} compares tensors with as many dims: {{input1}} is"
                f" {text(input1.shape)}, {{{name}}} is {text(each.shape)}",
                Place(name),
                Place("input1"),
                len(each.shape),
                len(input1.shape),
                (Grant(name, Made(input1.shape, each.dtype)),),
            )
    named = ("input1", input1), ("input2", input2), ("target", target)
    wrong = broadcast(named) or no_bools(*named[:2])
    return wrong or no_complex(*named) or some_float(*named)
