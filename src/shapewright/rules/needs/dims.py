"""Dims that a call names, for functions that read one dim or several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import NEEDS, alike, needs
from shapewright.rules.needs.shapes import dims, dtype_unmet, is_tensor, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import KIND


def named(*names: str) -> tuple[str, ...]:
    """Those that no other need answers for, each function with its aliases."""
    found = dict.fromkeys(each for name in names for each in alike(name))
    return tuple(each for each in found if each not in NEEDS)


def both(*words: str) -> tuple[str, ...]:
    """A function of torch and the method of that name."""
    return tuple(f"torch.{kind}{word}" for word in words for kind in ("", "Tensor."))


def of_dim(
    name: str, input: Any, dim: Any, argument: str = "dim", extra: int = 0,
    sure: bool = False,
) -> Unmet | None:  # fmt: skip
    """Each dim that is named is there; `extra` more where a new one is made."""
    if not is_tensor(input):
        return None
    rank = len(input.shape) + extra
    least = max(rank, 1)
    several = isinstance(dim, tuple | list)
    given = list(dim) if several else [dim]
    if not all(type(each) is int for each in given):
        return None
    for n, each in enumerate(given):
        if -least <= each < least:
            continue
        fits = least - 1 if each > 0 else -least
        value: Any = fits
        if several:
            taken = {d % least for d in given if -least <= d < least}
            free = next((d for d in range(least) if d not in taken), None)
            kept = [d for m, d in enumerate(given) if m != n]
            value = tuple(kept if free is None else [*given[:n], free, *given[n + 1 :]])
        where = f"dims 0 to {least - 1}" if rank > 1 else "1 dim" if rank else "none"
        return Unmet(
            "dim-out-of-range",
            f"{{op}} has no dim {each}: {{{name}}} {text(input.shape)} has {where}"
            if not extra
            else f"{{op}} makes {dims(rank)} of {{{name}}} {text(input.shape)}, no dim"
            f" {each}",
            Place(name),
            None,
            each,
            fits,
            (Grant(argument, value),),
            guessed=not sure,
        )
    if several and len({each % least for each in given}) < len(given):
        fits_ = tuple(dict.fromkeys(each % least for each in given))
        return Unmet(
            "repeated-dim",
            f"{{op}} names a dim of {{{name}}} {text(input.shape)} twice:"
            f" {tuple(given)}",
            Place(name),
            has=len(given),
            needs=len(fits_),
            grants=(Grant(argument, fits_),),
            guessed=True,
        )
    return None


def reductions() -> None:
    """`sum`, `mean`, `softmax`: the dim comes after the tensor."""

    def reduce(
        input: Meta, dim: Any = None, *rest: Any, **options: Any
    ) -> Unmet | None:
        dim = options.get("axis", dim)
        return of_dim("input", input, dim) if dim is not None else None

    def keep(input: Meta, dim: Any = None, *rest: Any, **options: Any) -> Unmet | None:
        return of_dim("input", input, dim, sure=True) if dim is not None else None

    def floating(
        input: Meta, dim: Any = None, *rest: Any, **options: Any
    ) -> Unmet | None:
        dim = options.get("axis", dim)
        wrong = of_dim("input", input, dim) if dim is not None else None
        dtype = options.get("dtype") or input.dtype
        if wrong is None and KIND.get(dtype, 2) < 2:
            why = "{op} takes floats"
            return dtype_unmet("input", input, "float32", why)
        return wrong

    def logits(
        input: Meta, dim: Any = None, *rest: Any, **options: Any
    ) -> Unmet | None:
        wrong = of_dim("input", input, dim, sure=True) if dim is not None else None
        dtype = options.get("dtype") or input.dtype
        if wrong is None and KIND.get(dtype, 2) < 2:
            return dtype_unmet("input", input, "float32", "{op} takes floats")
        return wrong

    words = "sum prod nansum any all amax amin argmax argmin median nanmedian logsumexp"
    words += " max min mode"
    families: list[tuple[Callable[..., Any], str]] = [
        (reduce, words),
        (floating, "mean std var std_mean var_mean"),
        (keep, "cumsum cumprod logcumsumexp cummax cummin sort argsort"),
        (logits, "softmax log_softmax"),
    ]
    for function, family in families:
        needs(*named(*both(*family.split())))(function)
    names = [f"torch.nn.functional.{w}" for w in ("softmax", "log_softmax", "softmin")]
    needs(*named(*names))(logits)


reductions()


@needs(*named(*both("squeeze")))
def squeeze(input: Meta, dim: Any = None) -> Unmet | None:
    """A dim that is there."""
    return of_dim("input", input, dim) if dim is not None else None


@needs(*named(*both("unsqueeze")))
def unsqueeze(input: Meta, dim: Any) -> Unmet | None:
    """A place among the dims, the end included."""
    return of_dim("input", input, dim, extra=1)


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
def movedim(input: Meta, source: Any = None, destination: Any = None) -> Unmet | None:
    """As many places as dims that move."""
    wrong = of_dim("input", input, source, "source")
    return wrong or of_dim("input", input, destination, "destination")


@needs(*named(*both("unbind")))
def unbind(input: Meta, dim: int = 0) -> Unmet | None:
    """A dim that is there."""
    return of_dim("input", input, dim) if input.shape else None


@needs(*named(*both("chunk")))
def chunk(input: Meta, chunks: int, dim: int = 0) -> Unmet | None:
    """A dim that is there."""
    return of_dim("input", input, dim, sure=True) if input.shape else None


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


@needs(*named(*both("select")))
def select(input: Meta, dim: Any, index: Any) -> Unmet | None:
    """A dim that is there, and an index within it."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or type(index) is not int or not input.shape:
        return wrong
    size = input.shape[dim]
    if -size <= index < size:
        return None
    return Unmet(
        "index-out-of-range",
        f"{{op}} reads index {index} of dim {dim % len(input.shape)} of {{input}}"
        f" {text(input.shape)}, which has 0 to {size - 1}",
        Place("input", dim % len(input.shape)),
        has=size,
        needs=index + 1 if index >= 0 else -index,
        grants=(Grant("index", 0),) if size else (),
    )


@needs(*named(*both("narrow")))
def narrow(input: Meta, dim: Any, start: Any, length: Any) -> Unmet | None:
    """A part that lies within the dim."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or type(start) is not int or not input.shape:
        return wrong
    size = input.shape[dim]
    begin = start + size if start < 0 else start
    if type(length) is not int or length < 0 or start < -size:
        return None
    if begin + length <= size:
        return None
    at = dim % len(input.shape)
    made = (*input.shape[:at], begin + length, *input.shape[at + 1 :])
    return Unmet(
        "index-out-of-range",
        f"{{op}} takes {begin} to {begin + length} of dim {at} of {{input}}"
        f" {text(input.shape)}, which ends at {size}",
        Place("input", at),
        has=size,
        needs=begin + length,
        grants=(Grant("input", Made(made, input.dtype)),) if start >= 0 else (),
    )


@needs(*named(*both("topk", "kthvalue")))
def topk(
    input: Meta, k: Any, dim: Any = -1, *rest: Any, **options: Any
) -> Unmet | None:
    """No more than the dim has."""
    wrong = of_dim("input", input, dim, sure=True)
    if wrong is not None or type(k) is not int:
        return wrong
    at = dim % max(len(input.shape), 1)
    size = input.shape[at] if input.shape else 1
    if k <= size:
        return None
    made = (*input.shape[:at], k, *input.shape[at + 1 :])
    return Unmet(
        "k-too-large",
        f"{{op}} takes the {k} largest of dim {at} of {{input}} {text(input.shape)},"
        f" which has {size}",
        Place("input", at if input.shape else None),
        has=size,
        needs=k,
        grants=(Grant("input", Made(made or (k,), input.dtype)),),
    )


@needs(*named("torch.nn.functional.glu"))
def glu(input: Meta, dim: int = -1) -> Unmet | None:
    """A dim of two halves."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or not input.shape or input.shape[dim] % 2 == 0:
        return wrong
    at = dim % len(input.shape)
    size = input.shape[at]
    made = (*input.shape[:at], size + 1, *input.shape[at + 1 :])
    return Unmet(
        "does-not-divide",
        f"{{op}} halves dim {at} of {{input}} {text(input.shape)}, which is {size}",
        Place("input", at),
        has=size,
        needs=2,
        grants=(Grant("input", Made(made, input.dtype)),),
        guessed=True,
    )
