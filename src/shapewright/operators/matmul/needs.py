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


@needs("torch.mm", "torch.sparse.mm", "torch.hspmm", "torch.smm")
def mm(input: Meta, mat2: Meta, **options: Any) -> Unmet | None:
    """Check that two matrices can be multiplied."""
    left, right = ("input", input), ("mat2", mat2)
    return of_ranks(left, 2, right, 2) or _of_product(left, right)


@needs("torch.bmm")
def bmm(input: Meta, mat2: Meta, **options: Any) -> Unmet | None:
    """Check that two batches of matrices can be multiplied."""
    left, right = ("input", input), ("mat2", mat2)
    return (
        of_ranks(left, 3, right, 3)
        or _of_batches(left, right)
        or _of_product(left, right)
    )


@needs("torch.mv")
def mv(input: Meta, vec: Meta) -> Unmet | None:
    """Check that a matrix can be multiplied by a vector."""
    left, right = ("input", input), ("vec", vec)
    return of_ranks(left, 2, right, 1) or _of_product(left, right)


@needs("torch.dot", "torch.vdot")
def dot(input: Meta, tensor: Meta, **options: Any) -> Unmet | None:
    """Check that there are two vectors of the same size."""
    left, right = ("input", input), ("tensor", tensor)
    return of_ranks(left, 1, right, 1) or _of_product(left, right)


@needs("torch.outer")
def outer(input: Meta, vec2: Meta) -> Unmet | None:
    """Check that there are two vectors, of any sizes."""
    return of_ranks(("input", input), 1, ("vec2", vec2), 1)


@needs("torch.addmm")
def addmm(input: Meta, mat1: Meta, mat2: Meta, **options: Any) -> Unmet | None:
    """Check the product of two matrices, and that the input broadcasts to it."""
    left, right = ("mat1", mat1), ("mat2", mat2)
    wrong = of_ranks(left, 2, right, 2) or _of_product(left, right)
    return wrong or _of_added(input, (mat1.shape[0], mat2.shape[1]), left, right)


@needs("torch.baddbmm")
def baddbmm(input: Meta, batch1: Meta, batch2: Meta, **options: Any) -> Unmet | None:
    """Check a product of batched matrices, and that the input broadcasts to it."""
    left, right = ("batch1", batch1), ("batch2", batch2)
    wrong = (
        of_ranks(left, 3, right, 3)
        or _of_batches(left, right)
        or _of_product(left, right)
    )
    return wrong or _of_added(input, (*batch1.shape[:2], batch2.shape[2]), left, right)


@needs("torch.addbmm")
def addbmm(input: Meta, batch1: Meta, batch2: Meta, **options: Any) -> Unmet | None:
    """Check the sum of the products of a batch, and that the input broadcasts to it."""
    left, right = ("batch1", batch1), ("batch2", batch2)
    wrong = (
        of_ranks(left, 3, right, 3)
        or _of_batches(left, right)
        or _of_product(left, right)
    )
    return wrong or _of_added(input, (batch1.shape[1], batch2.shape[2]), left, right)


@needs("torch.addmv")
def addmv(input: Meta, mat: Meta, vec: Meta, **options: Any) -> Unmet | None:
    """Check the product of matrix and vector, and that the input broadcasts to it."""
    left, right = ("mat", mat), ("vec", vec)
    wrong = of_ranks(left, 2, right, 1) or _of_product(left, right)
    return wrong or _of_added(input, (mat.shape[0],), left, right)


def of_ranks(left: Named, first: int, right: Named, second: int) -> Unmet | None:
    """Check both numbers of dims; if `@` would accept them, suggest its output."""
    for (name, meta), wanted in ((left, first), (right, second)):
        have = len(meta.shape)
        if have == wanted:
            continue
        message = f"{{op}} expects {dims(wanted)} of {{{name}}}, got {have}: "
        outputs: tuple[Made, ...] = ()
        if max(first, second) > 1 and len(left[1].shape) + len(right[1].shape) > 2:
            outputs = _multiplied(left[1], right[1])
        grants: tuple[Grant, ...] = ()
        if have + 1 == wanted:
            grants = (Grant(name, Made((1, *meta.shape), meta.dtype)),)
        elif have == wanted + 1 and 1 in meta.shape:
            at = meta.shape.index(1)
            shape = meta.shape[:at] + meta.shape[at + 1 :]
            grants = (Grant(name, Made(shape, meta.dtype)),)
        return Unmet(
            WRONG_RANK,
            message + text(meta.shape) + ("; `@` takes any number" if outputs else ""),
            Place(name),
            None,
            have,
            wanted,
            () if outputs else grants,
            outputs,
        )
    return None


def _multiplied(left: Meta, right: Meta) -> tuple[Made, ...]:
    """Return the output of `one @ two`, or () if there is none."""
    try:
        output = RULES["torch.matmul"].metadata(left, right)
    except Misfit:
        return ()
    return (output,) if isinstance(output, Made) else ()


def _of_batches(left: Named, right: Named) -> Unmet | None:
    """Check that both batches contain the same number of matrices."""
    (name, meta), (other, second) = left, right
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


def _of_product(left: Named, right: Named) -> Unmet | None:
    """Check that the inner dims are equal and that the dims before them broadcast."""
    (name, a), (other, b) = left, right
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
        return _inner(left, right, columns, rows)
    return of_batch(left, right) or same_dtype(left, right)


def of_batch(left: Named, right: Named) -> Unmet | None:
    """Check that the dims before the matrices broadcast."""
    (name, a), (other, b) = left, right
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


def _inner(left: Named, right: Named, columns: int, rows: int) -> Unmet:
    """Report that columns and rows differ: a missing transpose, or a wrong size."""
    (name, a), (other, b) = left, right
    row = len(b.shape) - (2 if len(b.shape) > 1 else 1)
    message = (
        f"{{op}} needs as many columns in {{{name}}} {text(a.shape)} as rows in"
        f" {{{other}}} {text(b.shape)}: {columns} against {rows}"
    )
    if len(a.shape) == len(b.shape) == 1:
        message = (
            f"{{op}} needs as many numbers in {{{name}}} as in {{{other}}}: {columns}"
            f" against {rows}"
        )
    code = INNER_DIM_MISMATCH
    at, last = name, len(a.shape) - 1
    grant = resized(a, last, rows)
    if len(b.shape) > 1 and b.shape[-1] == columns:
        code, at = MISSING_TRANSPOSE, other
        message += f"; transposed, {{{other}}} would fit"
        grant = swapped(b, row, row + 1)
    elif len(a.shape) > 1 and a.shape[-2] == rows:
        code = MISSING_TRANSPOSE
        message += f"; transposed, {{{name}}} would fit"
        grant = swapped(a, last - 1, last)
    if code == MISSING_TRANSPOSE and at == other:
        got, wanted, has, needed = Place(other, row), Place(name, last), rows, columns
    else:
        got, wanted, has, needed = Place(name, last), Place(other, row), columns, rows
    turned = code == MISSING_TRANSPOSE
    return Unmet(
        code, message, got, wanted, has, needed, (Grant(at, grant),), guessed=turned
    )


def _of_added(
    input: Meta, shape: tuple[int, ...], left: Named, right: Named
) -> Unmet | None:
    """Check that the added input broadcasts to the product and has its dtype."""
    return of_summand(input, shape) or same_dtype(("input", input), left, right)


def of_summand(input: Meta, shape: tuple[int, ...]) -> Unmet | None:
    """Check that the added input broadcasts to the product."""
    sizes = input.shape
    for back in range(1, len(sizes) + 1):
        size = sizes[-back]
        wanted = shape[-back] if back <= len(shape) else 0
        if size not in (1, wanted) or not wanted:
            return Unmet(
                BROADCAST_MISMATCH,
                f"{{op}} adds {{input}} {text(sizes)} to a product {text(shape)}: dim"
                f" {len(sizes) - back} does not fit",
                Place("input", len(sizes) - back),
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
    message = f"{{op}} needs {wanted} input features, got {shape[-1]}"
    return Unmet(
        code,
        f"{message} in the last dim of {{input}} {text(shape)}{more}"
        if more or len(shape) > 2
        else message,
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
        fitting = Made((*input1.shape[:-1], input2.shape[-1]), input2.dtype)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects inputs with as many dims: {{input1}} is"
            f" {text(input1.shape)}, {{input2}} is {text(input2.shape)}",
            Place("input2"),
            Place("input1"),
            len(input2.shape),
            len(input1.shape),
            (Grant("input2", fitting),),
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
    for d, (size, other) in enumerate(zip(input1.shape, input2.shape, strict=True)):
        if d < len(input1.shape) - 1 and size != other:
            return Unmet(
                BATCH_DIM_MISMATCH,
                f"{{op}} needs the same size in dim {d} of both inputs: {{input1}} has"
                f" {size}, {{input2}} has {other}",
                Place("input2", d),
                Place("input1", d),
                other,
                size,
                (Grant("input2", resized(input2, d, size)),),
                guessed=True,
            )
    return same_dtype(
        ("input1", input1), ("input2", input2), ("bias", bias), ("weight", weight)
    )
