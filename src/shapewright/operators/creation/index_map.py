"""Index maps of new tensors, whose elements depend on their index alone."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, gcd
from typing import Any

from shapewright.index_maps.index_map import (
    Equal,
    IndexMap,
    Linear,
    Listed,
    NotDrawn,
    Read,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.view_operators.index_map import known, shown

UNKNOWN = "its values follow from an argument that is a tensor or a complex number"


def _real(*values: Any) -> bool:
    """Return whether all values are Python ints or floats."""
    return all(isinstance(value, int | float) for value in values)


def _constant(shape: Any, value: Any, dtype: Any = None) -> Any:
    """Return the map of a tensor that holds the same number everywhere."""
    value = known(value)
    if not _real(value):
        return NotDrawn(UNKNOWN)
    if dtype == "bool":
        value = bool(value)
    elif isinstance(dtype, str) and "int" in dtype:
        value = int(value)
    shape = tuple(shape)
    words = f"A new tensor of shape {shown(shape)} with {value} everywhere."
    return IndexMap(shape, (), value=value, sentence=words)


@index_map("torch.full")
def full(size: Any, fill_value: Any, *, dtype: Any = None, **more: Any) -> Any:
    return _constant(size, fill_value, dtype)


@index_map("torch.full_like")
def full_like(input: Meta, fill_value: Any, *, dtype: Any = None, **more: Any) -> Any:
    return _constant(input.shape, fill_value, dtype or input.dtype)


@index_map("torch.Tensor.new_full")
def new_full(
    input: Meta, size: Any, fill_value: Any, *, dtype: Any = None, **more: Any
) -> Any:
    return _constant(size, fill_value, dtype or input.dtype)


@index_map("torch.Tensor.fill_", "torch.fill", "torch.fill_")
def fill(input: Meta, value: Any) -> Any:
    return _constant(input.shape, value, input.dtype)


@index_map("torch.Tensor.zero_", "torch.zero_")
def zero(input: Meta) -> Any:
    return _constant(input.shape, 0)


def _of_size(value: int) -> Callable[..., Any]:
    def make(*sizes: Any, size: Any = None, **more: Any) -> Any:
        return _constant(sizes if size is None else size, value)

    return make


def _filled_like(value: int) -> Callable[..., Any]:
    def make(input: Meta, **more: Any) -> Any:
        return _constant(input.shape, value)

    return make


def _of_new_size(value: int) -> Callable[..., Any]:
    def make(input: Meta, *sizes: Any, size: Any = None, **more: Any) -> Any:
        return _constant(sizes if size is None else size, value)

    return make


for _value, _name in enumerate(("zeros", "ones")):
    index_map(f"torch.{_name}")(_of_size(_value))
    index_map(f"torch.{_name}_like")(_filled_like(_value))
    index_map(f"torch.Tensor.new_{_name}")(_of_new_size(_value))


@index_map("torch.arange")
def arange(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, **more: Any
) -> Any:
    if end is None:
        start, end = 0, start
    start, end, step = known(start), known(end), known(step)
    if not _real(start, end, step):
        return NotDrawn(UNKNOWN)
    (i,) = out_letters(1)
    whole = isinstance(dtype, str) and "int" in dtype
    if whole:
        start, end, step = int(start), int(end), int(step)
    count = max(ceil((end - start) / step), 0)
    words = f"{count} numbers from {start} on, {step} apart, before {end}."
    if isinstance(start, int) and isinstance(step, int):
        return IndexMap((count,), (), value=i * step + start, sentence=words)
    return IndexMap((count,), (), value=Linear(start, step, i), sentence=words)


@index_map("torch.linspace")
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, **more: Any
) -> Any:
    start, end = known(start), known(end)
    if not _real(start, end) or dtype == "bool":
        return NotDrawn(UNKNOWN)
    gaps = max(steps - 1, 1)
    (i,) = out_letters(1)
    value = Linear(start, end - start, i, gaps)
    if isinstance(dtype, str) and "int" in dtype:
        start, end = int(start), int(end)
        shared = gcd(end - start, gaps)
        if shared > 1 and (gaps // shared).bit_count() > 1:
            return NotDrawn("some of its steps are whole or not by rounding alone")
        value = Linear(start, end - start, i, gaps, whole=True)
    words = f"{steps} numbers from {start} to {end}, both of them among these."
    return IndexMap((steps,), (), value=value, sentence=words)


@index_map("torch.eye")
def eye(n: int, m: int | None = None, **more: Any) -> Any:
    i, j = out_letters(2)
    shape = (n, n if m is None else m)
    words = "1 where row and column are the same number, 0 elsewhere."
    hit = (Equal(i, j),)
    return IndexMap(shape, (), conditions=hit, start=0, value=1, sentence=words)


@index_map("torch.meshgrid", "torch.functional.meshgrid")
def meshgrid(*tensors: Meta, indexing: str | None = None) -> Any:
    lengths = [tensor.shape[0] if tensor.shape else 1 for tensor in tensors]
    order = list(range(len(lengths)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = tuple(lengths[n] for n in order)
    letters = out_letters(len(shape))
    maps = []
    for n, tensor in enumerate(tensors):
        dim = order.index(n)
        at = (letters[dim],) if tensor.shape else ()
        words = f"Tensor {n} along dim {dim}, the same along all others."
        maps.append(IndexMap(shape, (Read(f"tensors.{n}", at),), sentence=words))
    return tuple(maps)


# -- what no formula says --------------------------------------------------------------


def _not_by_formula(reason: str) -> Callable[..., Any]:
    """Return a function that reports why the elements of a tensor follow no formula."""

    def make(*args: Any, **kwargs: Any) -> NotDrawn:
        return NotDrawn(reason)

    return make


HELD = "it holds whatever the memory held before: fill it before it is read"
RANDOM = {
    "rand": "each element is a random number from 0 up to, not including, 1",
    "randn": "each element is a random number of a normal distribution around 0",
    "randint": "each element is a random whole number from `low` up to, not including, "
    "`high`",
}
for _name in ("empty", "empty_like", "Tensor.new_empty", "empty_strided"):
    index_map(f"torch.{_name}")(_not_by_formula(HELD))
for _name, _reason in RANDOM.items():
    index_map(f"torch.{_name}", f"torch.{_name}_like")(_not_by_formula(_reason))
index_map("torch.randperm")(_not_by_formula("the order of its numbers is random"))
index_map("torch.bernoulli", "torch.Tensor.bernoulli", "torch.Tensor.bernoulli_")(
    _not_by_formula("each element is 1 or 0 by chance")
)


def _triangle_places(upper: bool) -> Callable[..., Any]:
    """Return the map maker for the indices of a triangle: rows, then columns."""

    def make(row: int, col: int, offset: int = 0, **more: Any) -> Any:
        places = [
            (i, j)
            for i in range(row)
            for j in range(col)
            if (j - i >= offset if upper else j - i <= offset)
        ]
        which = "on and above" if upper else "on and below"
        words = f"The {len(places)} places {which} diagonal {offset}: rows, columns."
        value = Listed(tuple(zip(*places, strict=True)) or ((), ()), out_letters(2))
        return IndexMap((2, len(places)), (), value=value, sentence=words)

    return make


index_map("torch.tril_indices")(_triangle_places(upper=False))
index_map("torch.triu_indices")(_triangle_places(upper=True))
