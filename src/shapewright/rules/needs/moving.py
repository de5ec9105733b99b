"""What functions need that put dims in another order, or turn them round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.dims import both, named, of_dim
from shapewright.rules.needs.linear_algebra import of_matrices
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dims, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet


@needs(*named(*both("transpose", "swapaxes", "swapdims")))
def transpose(
    input: Meta, dim0: Any = None, dim1: Any = None, **more: Any
) -> Unmet | None:
    """Two dims that are there."""
    return of_dim("input", input, dim0, "dim0") or of_dim("input", input, dim1, "dim1")


@needs(*named("torch.Tensor.permute"))
def tensor_permute(self: Meta, *dims: Any) -> Unmet | None:
    """Every dim once."""
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    return of_order("self", self, tuple(given))


@needs(*named("torch.permute"))
def permute(input: Meta, dims: Any) -> Unmet | None:
    """Every dim once."""
    return of_order("input", input, tuple(dims))


def of_order(name: str, input: Meta, order: tuple[Any, ...]) -> Unmet | None:
    """As many places as dims, each of them once."""
    rank = len(input.shape)
    if not order:
        return None
    if len(order) == rank:
        return of_dim(name, input, order, "dims")
    if len(order) > rank:
        shape = (*(1,) * (len(order) - rank), *input.shape)
    else:
        count = 1
        for size in input.shape[len(order) - 1 :]:
            count *= size
        shape = (*input.shape[: len(order) - 1], count) if order else ()
    return Unmet(
        "permuted-dims",
        f"{{op}} needs a place for each of the {dims(rank)} of {{{name}}}"
        f" {text(input.shape)}, got {len(order)}: {order}",
        Place(name),
        has=len(order),
        needs=rank,
        grants=(Grant(name, Made(tuple(shape), input.dtype)),),
        guessed=True,
    )


@needs(*named(*both("movedim", "moveaxis")))
def movedim(input: Meta, source: Any, destination: Any) -> Unmet | None:
    """As many places as dims that move."""
    wrong = of_dim("input", input, source, "source")
    wrong = wrong or of_dim("input", input, destination, "destination")
    if wrong is not None:
        return replace(wrong, grants=()) if wrong.code == "repeated-dim" else wrong
    one, two = ([d] if type(d) is int else list(d) for d in (source, destination))
    if len(one) == len(two):
        return None
    fits = min(len(one), len(two))
    return Unmet(
        "moved-dims",
        f"{{op}} needs a place for each dim that moves, got {len(one)} dims of"
        f" {{input}} {text(input.shape)} and {len(two)} places",
        Place("input"),
        has=len(two),
        needs=len(one),
        grants=(Grant("source", one[:fits]), Grant("destination", two[:fits])),
        guessed=True,
    )


@needs("torch.flip")
def flip(input: Meta, *named: Any, dims: Any = None) -> Unmet | None:
    """Dims that are there, each once."""
    given = named if dims is None else dims
    listed = len(given) == 1 and isinstance(given[0], tuple | list)
    wrong = of_dim("input", input, tuple(given[0] if listed else given), "named")
    if wrong is None or not wrong.grants:
        return wrong
    value = wrong.grants[0].value
    if dims is not None:
        return replace(wrong, grants=(Grant("dims", value),))
    return replace(wrong, grants=(Grant("named", (value,)),)) if listed else wrong


@needs(*named(*both("fliplr")))
def fliplr(input: Meta) -> Unmet | None:
    """A dim 1 to turn round."""
    return of_matrices("input", input)


@needs(*named(*both("flipud")))
def flipud(input: Meta) -> Unmet | None:
    """A dim 0 to turn round."""
    if input.shape:
        return None
    return Unmet(
        "wrong-rank",
        "{op} takes at least 1 dim of {input}, got a scalar",
        Place("input"),
        has=0,
        needs=1,
        grants=(Grant("input", Made((1,), input.dtype)),),
    )


@needs(*named(*both("roll")))
def roll(input: Meta, shifts: Any, dims: Any = ()) -> Unmet | None:
    """A shift for each dim."""
    wrong = of_dim("input", input, dims, "dims")
    if wrong is not None and wrong.code == "dim-out-of-range":
        return wrong
    one, two = (1 if type(each) is int else len(each) for each in (shifts, dims))
    if one == two or (one == 1 and not two):
        return None
    fits = min(one, two) or 1
    kept = shifts if type(shifts) is int else tuple(shifts)[:fits]
    left = dims if type(dims) is int else tuple(dims)[:fits]
    return Unmet(
        "moved-dims",
        f"{{op}} needs a shift for each dim, got {one} for {two} dims of {{input}}"
        f" {text(input.shape)}",
        Place("input"),
        has=one,
        needs=two,
        grants=(Grant("shifts", kept), Grant("dims", left)),
        guessed=True,
    )


@needs(*named(*both("rot90")))
def rot90(input: Meta, k: int = 1, dims: Any = (0, 1)) -> Unmet | None:
    """Two dims that are there."""
    wrong = of_matrices("input", input)
    if wrong is not None:
        return wrong
    given = tuple(dims)
    if len(given) != 2:
        return Unmet(
            "moved-dims",
            f"{{op}} turns 2 dims of {{input}} {text(input.shape)}, got {len(given)}",
            Place("input"),
            has=len(given),
            needs=2,
            grants=(Grant("dims", (*given, 0, 1)[:2]),),
            guessed=True,
        )
    wrong = of_dim("input", input, given, "dims")
    if wrong is None or wrong.code != "repeated-dim":
        return wrong
    rank = len(input.shape)
    other = next(d for d in range(rank) if d != given[0] % rank)
    return replace(wrong, grants=(Grant("dims", (given[0], other)),))
