"""Index maps of reductions, softmax, running sums, `sort` and `topk`."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import MOST
from shapewright.index_maps.index_map import (
    LOOPS,
    IndexMap,
    Loop,
    NotDrawn,
    Options,
    Read,
    Then,
    constant,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta, axes, reduced
from shapewright.operators.pointwise.index_map import spread
from shapewright.sizes.expressions import Expression, Letter


def _over(
    input: Meta, dim: Any, keepdim: bool, combine: str, description: str,
    options: Options = (), name: str = "input", **more: Any,
) -> Any:  # fmt: skip
    """Return the map of a function of all elements along dims; None or () means all.

    `description` is of the reduction: "the largest". A loop never has the letter that
    names the tensor.
    """
    shape = tuple(input.shape)
    gone = axes(dim, len(shape))
    out = reduced(shape, gone, bool(keepdim)) if shape else ()
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    places = iter(range(len(out)))
    letters = out_letters(len(out))
    free = LOOPS.replace(name, "")
    loops: list[Loop] = []
    at: list[Expression] = []
    for place, size in enumerate(shape):
        if place in gone:
            letter = free[len(loops)]
            loops.append(Loop(letter, size))
            at.append(Letter(letter))
            if keepdim:
                next(places)
        else:
            at.append(letters[next(places)])
    if not shape:  # One step, so that what is done with it is seen.
        loops.append(Loop(free[0], 1))
    count = prod(loop.size for loop in loops)
    noun = "element" if count == 1 else f"{count} elements"
    of = f"the {noun}" if count == 1 else noun
    words = f"Each output element is {description} of {of} {_along(sorted(gone))}."
    if not shape:
        words = f"It is {description} of the one element that there is."
    fields: dict[str, Any] = {"combine": combine, "options": options, **more}
    return IndexMap(
        out,
        (Read(name, tuple(at)),),
        tuple(loops),
        sentence=words,
        **fields,
    )


def _along(dims: list[int]) -> str:
    """Return `along dims 0, 1 and 2` as text."""
    *first, last = map(str, dims or [0])
    numbers = f"{', '.join(first)} and {last}" if first else last
    return f"along dim{'s' if len(dims) > 1 else ''} {numbers}"


def _converts(input: Meta, dtype: str | None) -> NotDrawn | None:
    """Return why a call with a dtype is not drawn; None if only precision changes."""
    if dtype is None or dtype == input.dtype or dtype.startswith(("float", "complex")):
        return None
    if dtype == "int64" and input.dtype.startswith(("int", "uint", "bool")):
        return None
    return NotDrawn(f"it converts to {dtype} first")


def _summing(combine: str, description: str) -> Any:
    """Return the map maker of `sum` or `prod`."""

    def make(
        input: Meta, dim: Any = None, keepdim: bool = False, *,
        dtype: str | None = None, out: Any = None,
    ) -> Any:  # fmt: skip
        return _converts(input, dtype) or _over(
            input, dim, keepdim, combine, description
        )

    return make


for _name, _said in (("sum", "the sum"), ("prod", "the product"),
                     ("nansum", "the sum without NaN")):  # fmt: skip
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}")(_summing(_name, _said))


@index_map("torch.mean", "torch.Tensor.mean")
def mean(
    input: Meta, dim: Any = None, keepdim: bool = False, *, dtype: str | None = None,
    out: Any = None,
) -> Any:  # fmt: skip
    count = prod(input.shape[dim] for dim in axes(dim, len(input.shape)) if input.shape)
    if not count:
        return NotDrawn("it is the mean of no elements")
    description = "the mean"
    return _converts(input, dtype) or _over(
        input, dim, keepdim, "sum", description, scale=count
    )  # fmt: skip


SIMPLE = {
    "amax": "the largest", "amin": "the smallest", "any": "whether any is true",
    "all": "whether all are true", "count_nonzero": "the count of those not 0",
    "logsumexp": "log(sum(exp(x)))", "nanmean": "the mean without NaN",
    "argmax": "the place of the largest", "argmin": "the place of the smallest",
}  # fmt: skip


def _simple(combine: str, description: str) -> Any:
    """Return the map maker of a reduction that accepts only `dim` and `keepdim`."""

    def make(
        input: Meta, dim: Any = None, keepdim: bool = False, *,
        dtype: str | None = None, out: Any = None,
    ) -> Any:  # fmt: skip
        if combine in ("any", "all") and isinstance(dim, tuple | list) and not dim:
            return NotDrawn("it goes along no dim")
        return _converts(input, dtype) or _over(
            input, dim, keepdim, combine, description
        )

    return make


for _name, _said in SIMPLE.items():
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}")(_simple(_name, _said))
index_map("torch.special.logsumexp")(_simple("logsumexp", SIMPLE["logsumexp"]))


@index_map("torch.aminmax", "torch.Tensor.aminmax")
def aminmax(
    input: Meta, *, dim: int | None = None, keepdim: bool = False, out: Any = None
) -> Any:
    return tuple(_over(input, dim, keepdim, f, SIMPLE[f]) for f in ("amin", "amax"))


PLACED = {
    "max": ("amax", "argmax", "the largest"),
    "min": ("amin", "argmin", "the smallest"),
    "median": ("median.values", "median.indices", "the lower median"),
    "nanmedian": ("nanmedian.values", "nanmedian.indices", "the median without NaN"),
    "mode": ("mode.values", "mode.indices", "the most frequent"),
}
"""Functions that return values, and for a single dim the indices too."""


def _placed(name: str) -> Any:
    """Return the map maker of a function that returns values and indices."""
    values, indices, description = PLACED[name]

    def make(
        input: Meta, dim: Any = None, keepdim: bool = False, *, other: Any = None,
        out: Any = None,
    ) -> Any:  # fmt: skip
        if hasattr(dim, "shape"):
            other = dim
        if other is not None:
            key = "dim" if hasattr(dim, "shape") else "other"
            return spread(f"{name}imum", {"input": input, key: other}, {})
        if dim is None and name == "mode":
            dim = -1
        if dim is None:
            return _over(input, None, False, values, description)
        return (
            _over(input, dim, keepdim, values, description),
            _over(input, dim, keepdim, indices, f"the place of {description}"),
        )

    return make


for _name in PLACED:
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}")(_placed(_name))


@index_map("torch.kthvalue", "torch.Tensor.kthvalue")
def kthvalue(
    input: Meta, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    description, options = f"number {k} in rising order", (("k", k),)
    return (
        _over(input, dim, keepdim, "kthvalue.values", description, options),
        _over(
            input, dim, keepdim, "kthvalue.indices", f"the place of {description}",
            options,
        ),
    )  # fmt: skip


# -- spread and size -------------------------------------------------------------------


def _deviation(name: str) -> Any:
    """Return the map maker of `var` or `std`."""
    word = "the variance" if name == "var" else "the standard deviation"

    def make(
        input: Meta, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *,
        correction: Any = 1, out: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        taken = correction if unbiased else 0
        if correction is None:
            taken = 1
        return _over(input, dim, keepdim, name, word, (("correction", taken),))

    return make


def _with_mean(name: str) -> Any:
    """Return the map maker of `var_mean` or `std_mean`."""
    first = _deviation(name)

    def make(
        input: Meta, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *,
        correction: Any = 1, out: Any = None,
    ) -> Any:  # fmt: skip
        dims = None if isinstance(dim, bool) else dim
        spread_map = first(input, dim, unbiased, keepdim, correction=correction)
        return spread_map, _over(input, dims, keepdim, "mean", "the mean")

    return make


for _name in ("var", "std"):
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}")(_deviation(_name))
    index_map(f"torch.{_name}_mean")(_with_mean(_name))


def _sized(
    input: Meta, order: Any, dim: Any, keepdim: bool, name: str = "input"
) -> Any:
    """Return the map of the vector norm of the elements along the dims."""
    if input.dtype.startswith("complex"):
        return NotDrawn("its elements are complex")
    description = f"the {order:g}-norm"
    return _over(
        input, dim, keepdim, "vector_norm", description, (("ord", order),), name
    )


@index_map("torch.norm", "torch.Tensor.norm")
def norm(
    input: Meta, p: Any = "fro", dim: Any = None, keepdim: bool = False,
    out: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    if p == "nuc":
        return NotDrawn("the nuclear norm is of singular values")
    order = 2 if p in ("fro", None) else p
    keep = keepdim and (dim is not None or p == "fro")
    return _converts(input, dtype) or _sized(input, order, dim, keep)


@index_map("torch.linalg.vector_norm")
def vector_norm(
    x: Meta, ord: Any = 2, dim: Any = None, keepdim: bool = False, *,
    dtype: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    return _converts(x, dtype) or _sized(x, ord, dim, keepdim, "x")


@index_map("torch.nn.functional.normalize")
def normalize(
    input: Meta, p: Any = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    normed = _sized(input, p, dim, True)
    if isinstance(normed, NotDrawn):
        return normed
    return replace(
        normed,
        shape=tuple(input.shape),
        then=(
            Then("clamp_min", (constant(eps),)),
            Then("reciprocal"),
            Then("mul", (Read("input", out_letters(len(input.shape))),)),
        ),
        sentence=f"Each element divided by the {p:g}-norm of those along dim {dim}.",
    )


# -- softmax, running sums, sort, topk: the dim is kept --------------------------------


def _lane(
    input: Meta, dim: Any, combine: str, description: str, options: Options = (),
    size: int | None = None, **more: Any,
) -> Any:  # fmt: skip
    """Return the map of a function along a dim, which keeps its size or gets `size`.

    The position of an output element along the dim selects its value of the function.
    """
    shape = list(input.shape)
    fields: dict[str, Any] = {"combine": combine, "options": options, **more}
    if not shape:
        read = Read("input", ())
        loops = (Loop(LOOPS[0], 1),)
        words = f"{description} the one element that there is."
        return IndexMap((), (read,), loops, at=_ZERO, sentence=words, **fields)
    if len(shape) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    if not isinstance(dim, int):
        return NotDrawn("its dim is not given")
    dim %= len(shape)
    letters = out_letters(len(shape))
    at: list[Expression] = list(letters)
    at[dim] = Letter(LOOPS[0])
    loops = (Loop(LOOPS[0], shape[dim]),)
    place = letters[dim]
    words = f"{description} the {shape[dim]} elements along dim {dim}"
    if size is not None:
        shape[dim] = size
    return IndexMap(
        tuple(shape),
        (Read("input", tuple(at)),),
        loops,
        at=place,
        sentence=f"{words}, at the output's place.",
        **fields,
    )


_ZERO = Letter("i") * 0


def _softened(function: str, description: str) -> Any:
    """Return softmax's map makers; the functional form has `_stacklevel` second."""

    def make(
        input: Meta, dim: int | None = None, dtype: str | None = None, *,
        out: Any = None,
    ) -> Any:  # fmt: skip
        return _converts(input, dtype) or _lane(input, dim, function, description)

    def functional(
        input: Meta, dim: int | None = None, _stacklevel: int = 3,
        dtype: str | None = None,
    ) -> Any:  # fmt: skip
        return make(input, dim, dtype)

    return make, functional


for _name, _said in (
    ("softmax", "exp(x) / sum(exp(x)) over"),
    ("log_softmax", "x - log(sum(exp(x))) over"),
    ("softmin", "exp(-x) / sum(exp(-x)) over"),
):
    _plain, _functional = _softened(_name, _said)
    index_map(f"torch.nn.functional.{_name}")(_functional)
    if _name != "softmin":
        _names = (f"torch.{_name}", f"torch.Tensor.{_name}", f"torch.special.{_name}")
        index_map(*_names)(_plain)


def _running(function: str, description: str) -> Any:
    """Return the map maker of cumsum and similar functions."""

    def make(
        input: Meta, dim: int, *, dtype: str | None = None, out: Any = None
    ) -> Any:
        return _converts(input, dtype) or _lane(input, dim, function, description)

    return make


for _name, _said in (
    ("cumsum", "The running sum of"),
    ("cumprod", "The running product of"),
    ("logcumsumexp", "log of the running sum of exp of"),
):
    _names = (f"torch.{_name}", f"torch.Tensor.{_name}", f"torch.Tensor.{_name}_")
    index_map(*_names)(_running(_name, _said))


def _running_extreme(function: str, description: str) -> Any:
    """Return the map maker of `cummax` or `cummin`."""

    def make(input: Meta, dim: int, *, out: Any = None) -> Any:
        return (
            _lane(input, dim, f"{function}.values", f"The {description} so far of"),
            _lane(
                input,
                dim,
                f"{function}.indices",
                f"Where the {description} so far is of",
            ),
        )

    return make


for _name, _said in (("cummax", "largest"), ("cummin", "smallest")):
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}")(_running_extreme(_name, _said))


# -- order -----------------------------------------------------------------------------


def _ordered(input: Meta, dim: int, descending: bool, stable: bool | None) -> Any:
    """Return the maps of the values and the indices of `sort`."""
    options = (("descending", bool(descending)), ("stable", True))
    way = "falling" if descending else "rising"
    return (
        _lane(input, dim, "sort.values", f"In {way} order,", options),
        _lane(input, dim, "sort.indices", f"The places, in {way} order, of", options),
    )


@index_map("torch.sort", "torch.Tensor.sort")
def sort(
    input: Meta, dim: int = -1, descending: bool = False, *,
    stable: bool | None = None, out: Any = None,
) -> Any:  # fmt: skip
    return _ordered(input, dim, descending, stable)


@index_map("torch.argsort", "torch.Tensor.argsort")
def argsort(
    input: Meta, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Any:
    return _ordered(input, dim, descending, stable)[1]


@index_map("torch.msort", "torch.Tensor.msort")
def msort(input: Meta, *, out: Any = None) -> Any:
    return _ordered(input, 0, False, True)[0]


@index_map("torch.topk", "torch.Tensor.topk")
def topk(
    input: Meta, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *,
    out: Any = None,
) -> Any:  # fmt: skip
    options = (("k", k), ("largest", largest), ("sorted", sorted))
    which = f"{k} {'largest' if largest else 'smallest'}"
    return (
        _lane(input, dim, "topk.values", f"The {which} of", options, k),
        _lane(input, dim, "topk.indices", f"Where the {which} are of", options, k),
    )
