"""What linear layers need."""

from __future__ import annotations

from math import prod

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import (
    dtype_unmet,
    product,
    resized,
    same_dtype,
    swapped,
    text,
)
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import FLOATING, KIND
from shapewright.rules.strides import is_contiguous


@needs("torch.nn.functional.linear")
def linear(input: Meta, weight: Meta, bias: Meta | None = None) -> Unmet | None:
    """As many features in the last dim as the weight has columns, and one dtype."""
    if not input.shape or len(weight.shape) != 2:
        return None
    wanted = weight.shape[1]
    if input.shape[-1] != wanted:
        return _features(input, wanted)
    if bias is not None and bias.shape != weight.shape[:1]:
        return None
    if input.dtype != weight.dtype and weight.dtype in FLOATING:
        why = f"{{op}} computes in {weight.dtype}"
        return dtype_unmet("input", input, weight.dtype, why, "weight")
    fused = len(input.shape) == 2 or is_contiguous(input.shape, input.stride)
    if not fused and bias is not None and KIND[bias.dtype] <= KIND[weight.dtype]:
        bias = None  # added after the product, promoted
    return same_dtype(("input", input), ("bias", bias), ("weight", weight))


def _features(input: Meta, wanted: int) -> Unmet:
    """The last dim has another size: not flattened, another dim, or another size."""
    shape = input.shape
    last = len(shape) - 1
    code, more = "inner-dim-mismatch", ""
    grant = resized(input, last, wanted)
    if len(shape) > 2:
        from_dim = next((d for d in range(last) if prod(shape[d:]) == wanted), None)
        other = next((d for d in range(1, last) if shape[d] == wanted), None)
        if from_dim is not None:
            code = "not-flattened"
            more = (
                f": {product(shape[from_dim:])} lie in its last {last + 1 - from_dim}"
            )
            grant = Made((*shape[:from_dim], wanted), input.dtype)
        elif other is not None:
            more = f": its dim {other} is {wanted}"
            grant = swapped(input, other, last)
    said = f"{{op}} needs {wanted} input features, got {shape[-1]}"
    return Unmet(
        code,
        f"{said} in the last dim of {{input}} {text(shape)}{more}"
        if more or len(shape) > 2
        else said,
        Place("input", last),
        Place("weight", 1),
        shape[-1],
        wanted,
        (Grant("input", grant),),
    )


@needs("torch.nn.functional.bilinear")
def bilinear(
    input1: Meta, input2: Meta, weight: Meta, bias: Meta | None = None
) -> Unmet | None:
    """The weight's last two dims are the features of the two inputs."""
    if len(weight.shape) != 3 or not input1.shape or not input2.shape:
        return None
    if len(input1.shape) != len(input2.shape):
        made = Made((*input1.shape[:-1], input2.shape[-1]), input2.dtype)
        return Unmet(
            "wrong-rank",
            f"{{op}} takes inputs with as many dims: {{input1}} is"
            f" {text(input1.shape)}, {{input2}} is {text(input2.shape)}",
            Place("input2"),
            Place("input1"),
            len(input2.shape),
            len(input1.shape),
            (Grant("input2", made),),
            guessed=True,
        )
    for name, meta, dim in (("input1", input1, 1), ("input2", input2, 2)):
        wanted, last = weight.shape[dim], len(meta.shape) - 1
        if meta.shape[-1] != wanted:
            return Unmet(
                "inner-dim-mismatch",
                f"{{op}} needs {wanted} features in {{{name}}}, got {meta.shape[-1]}",
                Place(name, last),
                Place("weight", dim),
                meta.shape[-1],
                wanted,
                (Grant(name, resized(meta, last, wanted)),),
            )
    for d, (one, two) in enumerate(zip(input1.shape, input2.shape, strict=True)):
        if d < len(input1.shape) - 1 and one != two:
            return Unmet(
                "batch-dim-mismatch",
                f"{{op}} needs the same size in dim {d} of both inputs: {{input1}} has"
                f" {one}, {{input2}} has {two}",
                Place("input2", d),
                Place("input1", d),
                two,
                one,
                (Grant("input2", resized(input2, d, one)),),
                guessed=True,
            )
    return same_dtype(
        ("input1", input1), ("input2", input2), ("bias", bias), ("weight", weight)
    )
