"""Index maps of functions that keep a dim: softmax, running sums, sort, topk."""

from __future__ import annotations

from typing import Any

from shapewright.index_maps.index_expressions import MOST
from shapewright.index_maps.index_map import (
    LOOPS,
    IndexMap,
    Loop,
    NotDrawn,
    Options,
    Read,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.reduction.index_map import converts
from shapewright.sizes.expressions import Expression, Letter


def _lane(
    input: Meta, dim: Any, combine: str, said: str, options: Options = (),
    size: int | None = None, **more: Any,
) -> Any:  # fmt: skip
    """Return the map of a function along a dim, which keeps its size or gets `size`.

    The position of an output element along the dim selects its value of the function.
    """
    shape = list(input.shape)
    given: dict[str, Any] = {"combine": combine, "options": options, **more}
    if not shape:
        read = Read("input", ())
        loops = (Loop(LOOPS[0], 1),)
        words = f"{said} the one element that there is."
        return IndexMap((), (read,), loops, at=_ZERO, sentence=words, **given)
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
    words = f"{said} the {shape[dim]} elements along dim {dim}"
    if size is not None:
        shape[dim] = size
    return IndexMap(
        tuple(shape),
        (Read("input", tuple(at)),),
        loops,
        at=place,
        sentence=f"{words}, at the output's place.",
        **given,
    )


_ZERO = Letter("i") * 0


def _softened(function: str, said: str) -> Any:
    """Return softmax's map makers; the functional form has `_stacklevel` second."""

    def make(
        input: Meta, dim: int | None = None, dtype: str | None = None, *,
        out: Any = None,
    ) -> Any:  # fmt: skip
        return converts(input, dtype) or _lane(input, dim, function, said)

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


def _running(function: str, said: str) -> Any:
    """Return the map maker of cumsum and similar functions."""

    def make(
        input: Meta, dim: int, *, dtype: str | None = None, out: Any = None
    ) -> Any:
        return converts(input, dtype) or _lane(input, dim, function, said)

    return make


for _name, _said in (
    ("cumsum", "The running sum of"),
    ("cumprod", "The running product of"),
    ("logcumsumexp", "log of the running sum of exp of"),
):
    _names = (f"torch.{_name}", f"torch.Tensor.{_name}", f"torch.Tensor.{_name}_")
    index_map(*_names)(_running(_name, _said))


def _running_extreme(function: str, said: str) -> Any:
    """Return the map maker of `cummax` or `cummin`."""

    def make(input: Meta, dim: int, *, out: Any = None) -> Any:
        return (
            _lane(input, dim, f"{function}.values", f"The {said} so far of"),
            _lane(input, dim, f"{function}.indices", f"Where the {said} so far is of"),
        )

    return make


for _name, _said in (("cummax", "largest"), ("cummin", "smallest")):
    index_map(f"torch.{_name}", f"torch.Tensor.{_name}")(_running_extreme(_name, _said))


# -- order -----------------------------------------------------------------------------


def _ordered(input: Meta, dim: int, descending: bool, stable: bool | None) -> Any:
    """Return the maps of `sort`: values and indices."""
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
