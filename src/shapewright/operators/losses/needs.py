"""Needs of losses: predictions and targets that fit each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    CLASS_WEIGHTS,
    CLASSES_IN_LAST_DIM,
    ONE_HOT_TARGET,
    TARGET_SHAPE,
)
from shapewright.operators.dtype_needs import (
    no_bools,
    no_complex,
    real_floats,
    some_float,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    cast,
    differs,
    dtype_unmet,
    is_tensor,
    out_of_range,
    text,
    turned,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.pointwise.needs import broadcast, into
from shapewright.operators.promotion_and_broadcasting import FLOATING, KIND

COLOURS = (3, 4)
"""Channels of a label picture in RGB and RGBA."""


@needs("torch.nn.functional.cross_entropy")
def cross_entropy(
    input: Meta,
    target: Meta,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Unmet | None:
    """Check that dim 1 is the classes; targets are class indices or probabilities."""
    if input.shape == target.shape and target.dtype in FLOATING and input.shape:
        at = 0 if len(input.shape) == 1 else 1
        return of_weights(input, weight, at) or floats(input)
    return _of_classes(input, target, weight, ignore_index, True)


@needs("torch.nn.functional.nll_loss")
def nll_loss(
    input: Meta,
    target: Meta,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Unmet | None:
    """Check that dim 1 holds the classes, with a class index per other position."""
    return _of_classes(input, target, weight, ignore_index, False)


def floats(input: Meta) -> Unmet | None:
    """Check that the predictions are floats."""
    if input.dtype in FLOATING:
        return None
    return dtype_unmet("input", input, "float32", "{op} expects float predictions")


def _of_classes(
    input: Meta, target: Meta, weight: Any, ignore_index: int, shares: bool
) -> Unmet | None:
    """Check the shape, dtype and range of the class indices."""
    shape, indices = input.shape, target.shape
    if not shape:
        return None
    at = 0 if len(shape) == 1 else 1
    wanted = shape[:at] + shape[at + 1 :]
    if indices != wanted:
        return _of_layout(input, target, wanted, at, shares)
    if target.dtype not in ("int64", "uint8"):
        why = "{op} expects class indices (int64)"
        return dtype_unmet("target", target, "int64", why)
    wrong = of_weights(input, weight, at) or floats(input)
    return wrong or out_of_range(
        "target", target, shape[at], "input", at, "classes", {ignore_index}, 0
    )


def of_weights(input: Meta, weight: Any, at: int) -> Unmet | None:
    """Check that there is a weight per class, with the dtype of the predictions."""
    shape = input.shape
    if is_tensor(weight) and weight.shape != (shape[at],):
        return Unmet(
            CLASS_WEIGHTS,
            f"{{op}} needs a weight for each of {shape[at]} classes, got"
            f" {text(weight.shape)}",
            Place("weight", 0 if weight.shape else None),
            Place("input", at),
            weight.shape[0] if weight.shape else 0,
            shape[at],
            (Grant("weight", Made((shape[at],), weight.dtype)),),
        )
    if is_tensor(weight) and weight.dtype != input.dtype:
        why = f"{{op}} computes in {input.dtype}"
        return dtype_unmet("weight", weight, input.dtype, why, "input")
    return None


def _find_colours(have: tuple[int, ...], wanted: tuple[int, ...]) -> int | None:
    """Return the dim of a target that counts the colours of label pictures, or None."""
    if len(wanted) < 3 or len(have) != len(wanted) + 1:
        return None
    for dim in (len(have) - 1, 1):
        if have[dim] in COLOURS and have[:dim] + have[dim + 1 :] == wanted:
            return dim
    return None


def _of_layout(
    input: Meta, target: Meta, wanted: tuple[int, ...], at: int, shares: bool
) -> Unmet:
    """Report a target whose shape is not that of the input without its class dim."""
    shape, have = input.shape, target.shape
    last = len(shape) - 1
    if have == shape:
        fitting = cast(target, "float32" if shares else "int64")
        if not shares:
            fitting = Made(wanted, "int64")
        return Unmet(
            ONE_HOT_TARGET,
            f"{{op}} expects class indices {text(wanted)}, got {{target}} {text(have)}"
            f" of {target.dtype}, as many as {{input}}",
            Place("target"),
            Place("input"),
            text(have),
            text(wanted),
            (Grant("target", fitting),),
        )
    turned_rows = (shape[0], *shape[2:], shape[1]) if last > 1 else ()
    if turned_rows and have == turned_rows and target.dtype.startswith(("int", "bool")):
        return Unmet(
            ONE_HOT_TARGET,
            f"{{op}} expects class indices {text(wanted)}, got {{target}} {text(have)}"
            f" of {target.dtype}: dim {last} has as many numbers as {{input}}"
            f" {text(shape)} has classes, one-hot",
            Place("target"),
            Place("input"),
            text(have),
            text(wanted),
            (Grant("target", Made(wanted, "int64")),),
        )
    if last > 1 and have == shape[:last]:
        order = (0, last, *range(1, last))
        return Unmet(
            CLASSES_IN_LAST_DIM,
            f"{{op}} reads classes from dim 1, {{input}} {text(shape)} with {{target}}"
            f" {text(have)} has {shape[last]} of them in its last dim",
            Place("input", 1),
            Place("target", 1),
            shape[1],
            shape[last],
            (Grant("input", turned(input, order)),),
        )
    if len(have) == len(wanted) + 1 and 1 in have:
        d = next(
            (
                n
                for n in range(len(have))
                if have[n] == 1 and have[:n] + have[n + 1 :] == wanted
            ),
            None,
        )
        if d is not None:
            return Unmet(
                TARGET_SHAPE,
                f"{{op}} expects class indices {text(wanted)}, got {{target}}"
                f" {text(have)} with a dim of size 1 too many",
                Place("target", d),
                Place("input"),
                text(have),
                text(wanted),
                (Grant("target", Made(wanted, target.dtype)),),
            )
    dim = next(
        (n for n, (a, b) in enumerate(zip(have, wanted, strict=False)) if a != b), None
    )
    same = len(have) == len(wanted) and dim is not None
    message = f"{{op}} expects class indices {text(wanted)} for {{input}} {text(shape)}"
    message += f", got {{target}} {text(have)}"
    colours = _find_colours(have, wanted)
    if colours is not None:
        message += f": dim {colours} holds the {have[colours]} colours of a picture"
    return Unmet(
        TARGET_SHAPE,
        message,
        Place("target", dim if same else None),
        Place("input", dim if not same or dim is None or dim < at else dim + 1),
        have[dim] if same and dim is not None else text(have),
        wanted[dim] if same and dim is not None else text(wanted),
        (Grant("target", Made(wanted, target.dtype)),),
    )


@needs("torch.nn.functional.binary_cross_entropy")
def binary_cross_entropy(
    input: Meta, target: Meta, weight: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that both tensors have the same shape and float dtype."""
    return _same_shape(input, target) or _one_float(input, target)


@needs("torch.nn.functional.binary_cross_entropy_with_logits")
def with_logits(
    input: Meta,
    target: Meta,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Unmet | None:
    """Check that both tensors have the same shape, to which the weights broadcast."""
    wrong = _same_shape(input, target)
    if wrong is not None:
        return wrong
    for name, tensor in (("pos_weight", pos_weight), ("weight", weight)):
        wrong = _of_overlay(input, name, tensor) if is_tensor(tensor) else None
        if wrong is not None:
            return wrong
    if KIND.get(target.dtype, 2) < 2:
        return dtype_unmet("target", target, "float32", "{op} expects float targets")
    weights = ("weight", weight), ("pos_weight", pos_weight)
    return real_floats(("input", input)) or no_bools(*weights)


def _of_overlay(input: Meta, name: str, weight: Meta) -> Unmet | None:
    """Check that the weights broadcast to the predictions without enlarging them."""
    wrong = broadcast([("input", input), (name, weight)])
    if wrong is not None:
        return wrong
    wrong = into(input, weight, "input", name)
    if wrong is None:
        return None
    message = f"{{op}} lays {{{name}}} {text(weight.shape)} over {{input}}"
    return replace(
        wrong, code=BROADCAST_MISMATCH, message=f"{message} {text(input.shape)}"
    )


def _same_shape(input: Meta, target: Meta) -> Unmet | None:
    """Check that there is a target for each prediction."""
    shape, have = input.shape, target.shape
    if shape == have:
        return None
    dim = next(
        (n for n, (a, b) in enumerate(zip(have, shape, strict=False)) if a != b), None
    )
    if len(shape) != len(have):
        dim = None
    more = ""
    if [s for s in shape if s != 1] == [s for s in have if s != 1]:
        more = ": they differ by a dim of size 1"
    return Unmet(
        TARGET_SHAPE,
        f"{{op}} needs a target for each prediction: {{input}} is {text(shape)},"
        f" {{target}} is {text(have)}{more}",
        Place("target", dim),
        Place("input", dim),
        text(have),
        text(shape),
        (Grant("target", Made(shape, target.dtype)),),
    )


def _one_float(input: Meta, target: Meta) -> Unmet | None:
    """Check that predictions and targets have the same float dtype."""
    wrong = floats(input)
    if wrong is not None or target.dtype == input.dtype:
        return wrong
    why = f"{{op}} expects targets of {input.dtype}, as {{input}} is"
    return dtype_unmet("target", target, input.dtype, why, "input")


PAIRS: dict[str, Callable[[Meta, Meta], Unmet | None]] = {
    "mse_loss": lambda i, t: _some_real(i, t),
    "smooth_l1_loss": lambda i, t: _some_real(i, t),
    "l1_loss": lambda i, t: (
        no_bools(("input", i), ("target", t)) or some_float(("input", i), ("target", t))
    ),
    "huber_loss": lambda i, t: real_floats(("input", i)) or no_complex(("target", t)),
    "kl_div": lambda i, t: real_floats(("input", i), ("target", t)),
    "poisson_nll_loss": lambda i, t: (
        no_bools(("input", i)) if t.dtype == "bool" else None
    ),
    "soft_margin_loss": lambda i, t: _some_real(i, t) or real_floats(("input", i)),
    "hinge_embedding_loss": lambda i, t: real_floats(("input", i)),
}
"""Losses of two tensors that broadcast, and the check of their dtypes."""


def _some_real(input: Meta, target: Meta) -> Unmet | None:
    """Check that the tensors are real and that one of them is a float."""
    named = ("input", input), ("target", target)
    return no_complex(*named) or some_float(*named)


def _pointwise(word: str) -> None:
    """Register the need of a loss of two tensors that broadcast."""

    def loss(input: Meta, target: Meta, *rest: Any, **options: Any) -> Unmet | None:
        wrong = broadcast([("input", input), ("target", target)])
        if wrong is None and word == "soft_margin_loss":
            wrong = into(input, target, "input", "target")
        if wrong is None:
            return PAIRS[word](input, target)
        return replace(_of_pairs(input, target), lines=wrong.lines)

    needs(f"torch.nn.functional.{word}")(loss)


def _of_pairs(input: Meta, target: Meta) -> Unmet:
    """Report that two shapes differ, as the loss is intended for equal shapes."""
    shape, have = input.shape, target.shape
    dim = differs(have, shape)
    return Unmet(
        TARGET_SHAPE,
        f"{{op}} needs a target for each prediction: {{input}} is {text(shape)},"
        f" {{target}} is {text(have)}",
        Place("target", dim),
        Place("input", dim),
        text(have),
        text(shape),
        (Grant("target", Made(shape, target.dtype)),),
    )


for _word in PAIRS:
    _pointwise(_word)
