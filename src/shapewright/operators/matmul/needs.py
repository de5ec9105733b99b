"""Needs of products of matrices and vectors, and of linear layers."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    INNER_DIM_MISMATCH,
    MISSING_TRANSPOSE,
    NOT_FLATTENED,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import RULES, Made, Meta, Misfit
from shapewright.operators.need_checks import (
    dims,
    dtype_unmet,
    lined_up,
    product,
    resized,
    same_dtype,
    swapped,
    text,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.promotion_and_broadcasting import FLOATING, KIND
from shapewright.sizes.strides import is_contiguous

Named = tuple[str, Meta]


@needs("torch.matmul")
def matmul(input: Meta, other: Meta, **options: Any) -> Unmet | None:
    """Check that the inner dims of `input @ other` are equal; the rest broadcasts."""
    return _of_product(("input", input), ("other", other))


@needs("torch.Tensor.__rmatmul__")
def rmatmul(self: Meta, other: Meta) -> Unmet | None:
    """Check the product `other @ self`."""
    return _of_product(("other", other), ("self", self))


@needs("torch.mm")
def mm(input: Meta, mat2: Meta, **options: Any) -> Unmet | None:
    """Check that two matrices can be multiplied."""
    one, two = ("input", input), ("mat2", mat2)
    return of_ranks(one, 2, two, 2) or _of_product(one, two)


@needs("torch.bmm")
def bmm(input: Meta, mat2: Meta, **options: Any) -> Unmet | None:
    """Check that two batches of matrices can be multiplied."""
    one, two = ("input", input), ("mat2", mat2)
    return of_ranks(one, 3, two, 3) or _of_batches(one, two) or _of_product(one, two)


@needs("torch.mv")
def mv(input: Meta, vec: Meta) -> Unmet | None:
    """Check that a matrix can be multiplied by a vector."""
    one, two = ("input", input), ("vec", vec)
    return of_ranks(one, 2, two, 1) or _of_product(one, two)


@needs("torch.dot", "torch.vdot")
def dot(input: Meta, tensor: Meta, **options: Any) -> Unmet | None:
    """Check that there are two vectors of the same size."""
    one, two = ("input", input), ("tensor", tensor)
    return of_ranks(one, 1, two, 1) or _of_product(one, two)


@needs("torch.outer")
def outer(input: Meta, vec2: Meta) -> Unmet | None:
    """Check that there are two vectors, of any sizes."""
    return of_ranks(("input", input), 1, ("vec2", vec2), 1)


@needs("torch.addmm")
def addmm(input: Meta, mat1: Meta, mat2: Meta, **options: Any) -> Unmet | None:
    """Check the product of two matrices, and that the input broadcasts to it."""
    one, two = ("mat1", mat1), ("mat2", mat2)
    wrong = of_ranks(one, 2, two, 2) or _of_product(one, two)
    return wrong or _of_added(input, (mat1.shape[0], mat2.shape[1]), one, two)


@needs("torch.baddbmm")
def baddbmm(input: Meta, batch1: Meta, batch2: Meta, **options: Any) -> Unmet | None:
    """Check a product of batched matrices, and that the input broadcasts to it."""
    one, two = ("batch1", batch1), ("batch2", batch2)
    wrong = of_ranks(one, 3, two, 3) or _of_batches(one, two) or _of_product(one, two)
    return wrong or _of_added(input, (*batch1.shape[:2], batch2.shape[2]), one, two)


@needs("torch.addbmm")
def addbmm(input: Meta, batch1: Meta, batch2: Meta, **options: Any) -> Unmet | None:
    """Check the sum of the products of a batch, and that the input broadcasts to it."""
    one, two = ("batch1", batch1), ("batch2", batch2)
    wrong = of_ranks(one, 3, two, 3) or _of_batches(one, two) or _of_product(one, two)
    return wrong or _of_added(input, (batch1.shape[1], batch2.shape[2]), one, two)


@needs("torch.addmv")
def addmv(input: Meta, mat: Meta, vec: Meta, **options: Any) -> Unmet | None:
    """Check the product of matrix and vector, and that the input broadcasts to it."""
    one, two = ("mat", mat), ("vec", vec)
    wrong = of_ranks(one, 2, two, 1) or _of_product(one, two)
    return wrong or _of_added(input, (mat.shape[0],), one, two)


def of_ranks(one: Named, first: int, two: Named, second: int) -> Unmet | None:
    """Check both numbers of dims; if `@` would accept them, suggest its output."""
    for (name, meta), wanted in ((one, first), (two, second)):
        have = len(meta.shape)
        if have == wanted:
            continue
        said = f"{{op}} expects {dims(wanted)} of {{{name}}}, got {have}: "
        made: tuple[Made, ...] = ()
        if max(first, second) > 1 and len(one[1].shape) + len(two[1].shape) > 2:
            made = _multiplied(one[1], two[1])
        grants: tuple[Grant, ...] = ()
        if have + 1 == wanted:
            grants = (Grant(name, Made((1, *meta.shape), meta.dtype)),)
        elif have == wanted + 1 and 1 in meta.shape:
            at = meta.shape.index(1)
            shape = meta.shape[:at] + meta.shape[at + 1 :]
            grants = (Grant(name, Made(shape, meta.dtype)),)
        return Unmet(
            WRONG_RANK,
            said + text(meta.shape) + ("; `@` takes any number" if made else ""),
            Place(name),
            None,
            have,
            wanted,
            () if made else grants,
            made,
        )
    return None


def _multiplied(one: Meta, two: Meta) -> tuple[Made, ...]:
    """Return the output of `one @ two`, or () if there is none."""
    try:
        made = RULES["torch.matmul"].metadata(one, two)
    except Misfit:
        return ()
    return (made,) if isinstance(made, Made) else ()


def _of_batches(one: Named, two: Named) -> Unmet | None:
    """Check that both batches contain the same number of matrices."""
    (name, meta), (other, second) = one, two
    have, wanted = second.shape[0], meta.shape[0]
    if have == wanted:
        return None
    return Unmet(
        BATCH_DIM_MISMATCH,
        f"{{op}} needs as many matrices in {{{other}}} as in {{{name}}}: {have} against"
        f" {wanted}",
        Place(other, 0),
        Place(name, 0),
        have,
        wanted,
        (Grant(other, resized(second, 0, wanted)),),
        guessed=True,
    )


def _of_product(one: Named, two: Named) -> Unmet | None:
    """Check that the inner dims are equal and that the dims before them broadcast."""
    (name, a), (other, b) = one, two
    if not a.shape or not b.shape:
        at, meta = (name, a) if not a.shape else (other, b)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects at least 1 dim of {{{at}}}, got a scalar: `*` takes those",
            Place(at),
            has=0,
            needs=1,
            makes=(Made((b if not a.shape else a).shape, meta.dtype),),
        )
    columns, rows = a.shape[-1], b.shape[-2 if len(b.shape) > 1 else -1]
    if columns != rows:
        return _inner(one, two, columns, rows)
    return of_batch(one, two) or same_dtype(one, two)


def of_batch(one: Named, two: Named) -> Unmet | None:
    """Check that the dims before the matrices broadcast."""
    (name, a), (other, b) = one, two
    for back in range(3, min(len(a.shape), len(b.shape)) + 1):
        x, y = a.shape[-back], b.shape[-back]
        if x != y and 1 not in (x, y):
            return Unmet(
                BATCH_DIM_MISMATCH,
                f"{{op}} cannot line up the dims before the matrices: {{{name}}} has"
                f" {x}, {{{other}}} has {y}",
                Place(other, len(b.shape) - back),
                Place(name, len(a.shape) - back),
                y,
                x,
                (Grant(other, resized(b, -back, x)),),
                guessed=True,
                lines=lined_up([(name, a.shape), (other, b.shape)])[:2],
            )
    return None


def _inner(one: Named, two: Named, columns: int, rows: int) -> Unmet:
    """Report that columns and rows differ: a missing transpose, or a wrong size."""
    (name, a), (other, b) = one, two
    row = len(b.shape) - (2 if len(b.shape) > 1 else 1)
    said = (
        f"{{op}} needs as many columns in {{{name}}} {text(a.shape)} as rows in"
        f" {{{other}}} {text(b.shape)}: {columns} against {rows}"
    )
    code = INNER_DIM_MISMATCH
    at, last = name, len(a.shape) - 1
    grant = resized(a, last, rows)
    if len(b.shape) > 1 and b.shape[-1] == columns:
        code, at = MISSING_TRANSPOSE, other
        said += f"; transposed, {{{other}}} would fit"
        grant = swapped(b, row, row + 1)
    elif len(a.shape) > 1 and a.shape[-2] == rows:
        code = MISSING_TRANSPOSE
        said += f"; transposed, {{{name}}} would fit"
        grant = swapped(a, last - 1, last)
    if code == MISSING_TRANSPOSE and at == other:
        got, wanted, has, needed = Place(other, row), Place(name, last), rows, columns
    else:
        got, wanted, has, needed = Place(name, last), Place(other, row), columns, rows
    turned = code == MISSING_TRANSPOSE
    return Unmet(
        code, said, got, wanted, has, needed, (Grant(at, grant),), guessed=turned
    )


def _of_added(
    input: Meta, shape: tuple[int, ...], one: Named, two: Named
) -> Unmet | None:
    """Check that the added input broadcasts to the product and has its dtype."""
    return of_summand(input, shape) or same_dtype(("input", input), one, two)


def of_summand(input: Meta, shape: tuple[int, ...]) -> Unmet | None:
    """Check that the added input broadcasts to the product."""
    given = input.shape
    for back in range(1, len(given) + 1):
        size = given[-back]
        wanted = shape[-back] if back <= len(shape) else 0
        if size not in (1, wanted) or not wanted:
            return Unmet(
                BROADCAST_MISMATCH,
                f"{{op}} adds {{input}} {text(given)} to a product {text(shape)}: dim"
                f" {len(given) - back} does not fit",
                Place("input", len(given) - back),
                has=size,
                needs=wanted,
                grants=(Grant("input", Made(shape, input.dtype)),),
            )
    return None


@needs("torch.nn.functional.linear")
def linear(input: Meta, weight: Meta, bias: Meta | None = None) -> Unmet | None:
    """Check that the last dim has the size that the weight expects, and the dtypes."""
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
    """Report a wrong last dim: not flattened, another dim, or another size."""
    shape = input.shape
    last = len(shape) - 1
    code, more = INNER_DIM_MISMATCH, ""
    grant = resized(input, last, wanted)
    if len(shape) > 2:
        from_dim = next((d for d in range(last) if prod(shape[d:]) == wanted), None)
        other = next((d for d in range(1, last) if shape[d] == wanted), None)
        if from_dim is not None:
            code = NOT_FLATTENED
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
    """Check that the last dims of both inputs have the sizes of the weight."""
    if len(weight.shape) != 3 or not input1.shape or not input2.shape:
        return None
    if len(input1.shape) != len(input2.shape):
        made = Made((*input1.shape[:-1], input2.shape[-1]), input2.dtype)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects inputs with as many dims: {{input1}} is"
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
                INNER_DIM_MISMATCH,
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
                BATCH_DIM_MISMATCH,
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
