"""Index maps of matrix products: matmul, mm, bmm, linear, outer, tensordot, einsum."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    build_broadcast_index,
    list_letters,
    operand,
)
from shapewright.index_maps.index_map import (
    LETTERS,
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Then,
    constant,
    index_map,
)
from shapewright.operators.matmul import einsum_shapes as einsum_equation
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.pointwise.index_map import spread
from shapewright.operators.promotion_and_broadcasting import broadcast
from shapewright.sizes.expressions import Expression, Letter, number

BATCH = "bcdefgh"
Shape = tuple[int, ...]


def _multiplied(names: tuple[str, str], left: Shape, right: Shape) -> Any:
    """Return the map of `left @ right` for any numbers of dims, as a sum over k."""
    batch = broadcast(left[:-2], right[:-2])
    if len(batch) > len(BATCH):
        return NotDrawn("it has more dims than there are letters")
    names_of_batch = BATCH[: len(batch)]
    rows = "i" if len(left) > 1 else ""
    columns = "j" if len(right) > 1 else ""
    text = names_of_batch + rows + columns
    shape = (*batch, *left[-2:-1], *(right[-1:] if columns else ()))
    free = list_letters(names_of_batch)
    left_index = (
        *build_broadcast_index(left[:-2], batch, free),
        *list_letters(rows + "k"),
    )
    other = (
        *build_broadcast_index(right[:-2], batch, free),
        *list_letters("k" + columns),
    )
    words = (
        f"Row `i` of `{names[0]}` times column `j` of `{names[1]}`"
        if rows and columns
        else f"`{names[0]}` times `{names[1]}`"
    )
    size = left[-1]
    return IndexMap(
        shape,
        (Read(names[0], left_index), Read(names[1], other)),
        (Loop("k", size),),
        term="product",
        combine="sum",
        letters=tuple(text),
        sentence=f"{words}: the sum of {size} products, along `k`.",
    )


@index_map(
    "torch.matmul", "torch.Tensor.matmul", "torch.Tensor.__matmul__",
    "torch.Tensor.__imatmul__", "torch.linalg.matmul",
)  # fmt: skip
def matmul(input: Meta, other: Meta, *, out: Any = None) -> Any:
    return _multiplied(("input", "other"), tuple(input.shape), tuple(other.shape))


@index_map("torch.Tensor.__rmatmul__")
def rmatmul(input: Meta, other: Meta) -> Any:
    return _multiplied(("other", "input"), tuple(other.shape), tuple(input.shape))


@index_map("torch.mm", "torch.Tensor.mm", "torch.bmm", "torch.Tensor.bmm")
def mm(input: Meta, mat2: Meta, *, out: Any = None) -> Any:
    return _multiplied(("input", "mat2"), tuple(input.shape), tuple(mat2.shape))


@index_map("torch.mv", "torch.Tensor.mv")
def mv(input: Meta, vec: Meta, *, out: Any = None) -> Any:
    return _multiplied(("input", "vec"), tuple(input.shape), tuple(vec.shape))


@index_map("torch.dot", "torch.Tensor.dot")
def dot(input: Meta, tensor: Meta, *, out: Any = None) -> Any:
    return _multiplied(("input", "tensor"), tuple(input.shape), tuple(tensor.shape))


@index_map("torch.vdot", "torch.Tensor.vdot")
def vdot(input: Meta, other: Meta, *, out: Any = None) -> Any:
    if input.dtype.startswith("complex"):
        return NotDrawn("it conjugates its first operand")
    return _multiplied(("input", "other"), tuple(input.shape), tuple(other.shape))


# -- with something added --------------------------------------------------------------


def _added(
    name: str, input: Meta, names: tuple[str, str], left: Meta, right: Meta,
    beta: Any, alpha: Any,
) -> Any:  # fmt: skip
    """Return the map of `beta * input + alpha * (one @ other)`."""
    product = _multiplied(names, tuple(left.shape), tuple(right.shape))
    free = list_letters("".join(product.letters))
    seed = operand(name, input, product.shape, free)
    return _with_added(product, seed, input.dtype, beta, alpha)


def _with_added(
    product: IndexMap, seed: Read, dtype: str, beta: Any, alpha: Any
) -> Any:
    """Return the map multiplied by alpha, with beta times a read added to it.

    For integer tensors torch truncates the factors to integers: 0.6 is 0.
    """
    if dtype.startswith(("int", "uint")):
        beta, alpha = int(beta), int(alpha)
    scaled = () if alpha == 1 else (Then("mul", (constant(alpha),)),)
    words = (
        product.sentence if alpha == 1 else f"{product.sentence} It is times {alpha}."
    )
    if not beta:
        start, more = None, scaled
    elif beta == 1 and alpha == 1:
        start, more = seed, ()
        words = f"{words} It starts from `{seed.tensor}`."
    else:
        start = None
        more = (*scaled, Then("add", (seed,), (("alpha", beta),) if beta != 1 else ()))
        times = "" if beta == 1 else f"{beta} times "
        words = f"{words} Then {times}`{seed.tensor}` is added."
    return replace(product, start=start, then=more, sentence=words)


@index_map("torch.addmm", "torch.Tensor.addmm", "torch.Tensor.addmm_", "torch.sspaddmm")
def addmm(
    input: Meta, mat1: Meta, mat2: Meta, *, beta: Any = 1, alpha: Any = 1,
    out: Any = None,
) -> Any:  # fmt: skip
    return _added("input", input, ("mat1", "mat2"), mat1, mat2, beta, alpha)


@index_map("torch.baddbmm", "torch.Tensor.baddbmm", "torch.Tensor.baddbmm_")
def baddbmm(
    input: Meta, batch1: Meta, batch2: Meta, *, beta: Any = 1, alpha: Any = 1,
    out: Any = None,
) -> Any:  # fmt: skip
    return _added("input", input, ("batch1", "batch2"), batch1, batch2, beta, alpha)


@index_map("torch.addmv", "torch.Tensor.addmv", "torch.Tensor.addmv_")
def addmv(
    input: Meta, mat: Meta, vec: Meta, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    return _added("input", input, ("mat", "vec"), mat, vec, beta, alpha)


@index_map("torch.addbmm", "torch.Tensor.addbmm", "torch.Tensor.addbmm_")
def addbmm(
    input: Meta, batch1: Meta, batch2: Meta, *, beta: Any = 1, alpha: Any = 1,
    out: Any = None,
) -> Any:  # fmt: skip
    (count, rows, size), columns = batch1.shape, batch2.shape[-1]
    product = IndexMap(
        (rows, columns),
        (Read("batch1", list_letters("bik")), Read("batch2", list_letters("bkj"))),
        (Loop("b", count), Loop("k", size)),
        term="product",
        combine="sum",
        sentence=f"The {count} matrix products of the batch, summed.",
    )
    seed = operand("input", input, product.shape)
    return _with_added(product, seed, input.dtype, beta, alpha)


@index_map("torch.addr", "torch.Tensor.addr", "torch.Tensor.addr_")
def addr(
    input: Meta, vec1: Meta, vec2: Meta, *, beta: Any = 1, alpha: Any = 1,
    out: Any = None,
) -> Any:  # fmt: skip
    product = replace(_outer_of("vec1", vec1, "vec2", vec2), combine="sum")
    return _with_added(
        product, operand("input", input, product.shape), input.dtype, beta, alpha
    )


@index_map("torch.nn.functional.linear", "torch._C._nn.linear")
def linear(input: Meta, weight: Meta, bias: Meta | None = None) -> Any:
    rows = tuple(input.shape[:-1])
    if len(weight.shape) != 2:
        return NotDrawn("its weight is a vector")
    if len(rows) > len(BATCH):
        return NotDrawn("it has more dims than there are letters")
    text = "n" if len(rows) == 1 else BATCH[: len(rows)]
    outputs, inputs = weight.shape
    start = None
    if bias is not None:
        start = operand("bias", bias, (*rows, outputs), list_letters(text + "o"))
    words = f"Each of {outputs} outputs is a sum of {inputs} inputs times its weights"
    return IndexMap(
        (*rows, outputs),
        (Read("input", list_letters(text + "i")), Read("weight", list_letters("oi"))),
        (Loop("i", inputs),),
        term="product",
        combine="sum",
        start=start,
        letters=tuple(text + "o"),
        sentence=f"{words}{'.' if bias is None else ', plus its bias.'}",
    )


# -- without a matrix ------------------------------------------------------------------


def _outer_of(first: str, left: Meta, second: str, right: Meta) -> IndexMap:
    """Return the map of the products of all pairs of elements of two vectors."""
    return IndexMap(
        (*left.shape, *right.shape),
        (Read(first, list_letters("i")), Read(second, list_letters("j"))),
        term="product",
        sentence=f"Every element of `{first}` times every element of `{second}`.",
    )


@index_map("torch.outer", "torch.Tensor.outer", "torch.ger", "torch.Tensor.ger")
def outer(input: Meta, vec2: Meta, *, out: Any = None) -> Any:
    return _outer_of("input", input, "vec2", vec2)


@index_map("torch.inner", "torch.Tensor.inner")
def inner(input: Meta, other: Meta, *, out: Any = None) -> Any:
    if not input.shape or not other.shape:
        return spread("mul", {"input": input, "other": other}, {}, "`*`")
    last = len(input.shape) - 1
    return _contracted("input", input, [last], "other", other, [len(other.shape) - 1])


@index_map("torch.tensordot")
def tensordot(a: Meta, b: Meta, dims: Any = 2, out: Any = None) -> Any:
    if isinstance(dims, int):
        count = len(a.shape)
        pairs = [list(range(count - dims, count)), list(range(dims))]
    elif isinstance(dims, list | tuple) and len(dims) == 2:
        pairs = [[side] if isinstance(side, int) else list(side) for side in dims]
    else:
        return NotDrawn("its dims are a tensor")
    return _contracted("a", a, pairs[0], "b", b, pairs[1])


def _contracted(
    first: str,
    first_operand: Meta,
    gone: list[int],
    second: str,
    second_operand: Meta,
    also: list[int],
) -> Any:
    """Return the map of the sum over pairs of dims; the first's own dims stay first."""
    sizes = tuple(first_operand.shape), tuple(second_operand.shape)
    count = sum(map(len, sizes)) - 2 * len(gone)
    if count + len(gone) > len(LETTERS):
        return NotDrawn("it has more dims than there are letters")
    free = iter(LETTERS)
    looped: list[Loop] = []
    at: list[list[Expression]] = [[number(0)] * len(shape) for shape in sizes]
    places = list(zip(gone, also, strict=True))
    out: list[tuple[str, int]] = []
    for own, shape, dims in zip(at, sizes, (gone, also), strict=True):
        taken = {dim % len(shape) for dim in dims}
        for dim, size in enumerate(shape):
            if dim not in taken:
                own[dim] = Letter(next(free))
                out.append((str(own[dim]), size))
    for left, right in places:
        letter = Letter(next(free))
        # A size of 1 is stretched to the other's, and read at 0.
        size = broadcast((sizes[0][left],), (sizes[1][right],))[0]
        for own, shape, dim in ((at[0], sizes[0], left), (at[1], sizes[1], right)):
            if shape[dim] == size:
                own[dim] = letter
        looped.append(Loop(letter.name, size))
    steps = prod(loop.size for loop in looped)
    return IndexMap(
        tuple(size for _, size in out),
        (
            Read(first, tuple(at[0])),
            Read(second, tuple(at[1])),
        ),
        tuple(looped),
        term="product",
        combine="sum",
        letters=tuple(letter for letter, _ in out),
        sentence=f"The sum of {steps} products, over {len(looped)} dims of both.",
    )


@index_map("torch.einsum")
def einsum(equation: Any, *operands: Any) -> Any:
    text, named = _call(equation, operands)
    shapes = [tuple(tensor.shape) for _, tensor in named]
    axes = einsum_equation.read(text, shapes)
    used = {name for name in axes.sizes if len(name) == 1}
    spare = (x for x in "bcdefghijklmnopqrstuvwxyzaABCDEFGHIJKL" if x not in used)
    letters = {name: name if name in used else next(spare) for name in axes.sizes}

    def place(name: str, size: int) -> Expression:
        return Letter(letters[name]) if size == axes.sizes[name] else number(0)

    reads = tuple(
        Read(key, tuple(map(place, names, tensor.shape)))
        for (key, tensor), names in zip(named, axes.operands, strict=True)
    )
    summed = [axes.sizes[name] for name in axes.summed]
    over = " and ".join(letters[name] for name in axes.summed)
    words = f"For every {', '.join(letters[name] for name in axes.output)}: "
    term = f"the product of {len(reads)} elements" if len(reads) > 1 else "the element"
    if summed:
        words += f"the sum over {over} of {term}, {prod(summed)} of them."
    return IndexMap(
        tuple(axes.sizes[name] for name in axes.output),
        reads,
        tuple(Loop(letters[name], axes.sizes[name]) for name in axes.summed),
        term="product",
        combine="sum",
        letters=tuple(letters[name] for name in axes.output),
        sentence=words if summed else f"{words}{term}.",
    )


def _call(equation: Any, operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the equation as text, and the operands by their names in the call."""
    if isinstance(equation, str):
        if len(operands) == 1 and isinstance(operands[0], tuple | list):
            items = operands[0]
            return equation, [(f"operands.0.{n}", item) for n, item in enumerate(items)]
        return equation, [(f"operands.{n}", item) for n, item in enumerate(operands)]
    named = [("equation", equation)]
    named += [
        (f"operands.{n}", operands[n]) for n in range(1, len(operands), 2)
        if hasattr(operands[n], "shape")
    ]  # fmt: skip
    lists = [operands[n] for n in range(0, len(operands), 2)][: len(named)]
    output = operands[-1] if len(operands) == 2 * len(named) else None
    return einsum_equation.written(lists, output), named
