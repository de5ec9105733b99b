"""What to feed a target: `f32[B=8, 3, H=32, W=32]` as data, and as the arguments of a
call.

The grammar is in `spec_parser.py`. Nothing is evaluated, and torch is imported only
when tensors are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from shapewright.inputs import spec_syntax as sizes
from shapewright.inputs.errors import InputError, suggest_name
from shapewright.inputs.spec_parser import Reader, Written
from shapewright.inputs.spec_syntax import IntegerRange, TensorSpec
from shapewright.record.ops import ITEMSIZE, SHORT

if TYPE_CHECKING:
    import torch


REPRESENTATIVE = {"H": 64, "W": 64, "C": 3, "B": 2, "N": 2}
"""What a letter without a size stands for until it is varied; others are 16."""

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Spec:
    """The inputs of a target.

    Example: ``parse_spec("f32[B=8, T], mask=bool[B, T]")`` has
    ``args == (TensorSpec((8, 16), "float32", ...),)``, `kwargs` with the one key
    ``mask``, ``letters == {"B": 8, "T": 16}`` and ``letters_free == ("T",)``.

    `args` and `kwargs` are nests of lists, tuples and dicts; leaves are `TensorSpec`
    and plain values. `letters_free` are the letters without a stated size: they have a
    representative one. `positions` says where in `text` each input begins.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    letters: dict[str, int]
    letters_free: tuple[str, ...]
    text: str = field(compare=False)
    positions: dict[int | str, int] = field(compare=False, repr=False)
    written: tuple[tuple[Any, ...], dict[str, Any]] = field(repr=False)

    @property
    def leaves(self) -> tuple[TensorSpec, ...]:
        """Return the tensors of the spec in the order in which they are written."""
        return tuple(_iter_leaves([*self.args, *self.kwargs.values()]))

    def with_sizes(self, **letters: int) -> Spec:
        """Return the same spec with other sizes for some of its letters.

        Example: ``parse_spec("f32[B, 2*B]").with_sizes(B=3)`` has the sizes (3, 6).
        """
        for name, size in letters.items():
            if name not in self.letters:
                known = ", ".join(f"`{letter}`" for letter in self.letters) or "none"
                hint = suggest_name(name, self.letters)
                raise InputError(
                    f"the spec has no letter `{name}`{hint} (it has {known})"
                )
            if size < 0:
                raise InputError(f"the size {size} of `{name}` is negative")
        free = tuple(name for name in self.letters_free if name not in letters)
        stated = self.letters | letters
        return _compute_sizes(self.written, stated, free, self.text, self.positions)

    def __str__(self) -> str:
        stated = {
            name: size
            for name, size in self.letters.items()
            if name not in self.letters_free
        }
        args, kwargs = self.written
        items = [_format_value(value, stated) for value in args]
        items += [
            f"{name}={_format_value(value, stated)}" for name, value in kwargs.items()
        ]
        return ", ".join(items)


def parse_spec(text: str) -> Spec:
    """Parse the text of a spec.

    Example: ``parse_spec("f32[B=8, 3, H=32]").leaves[0].shape == (8, 3, 32)``.

    Raises `InputError`, which points at the character, for anything that is no spec.
    """
    reader = Reader(text)
    try:
        written = reader.read()
    except RecursionError:
        raise InputError("this spec is too deeply nested", text, 0) from None
    letters = {name: size for name, (size, _) in reader.stated.items()}
    free = tuple(name for name in reader.met if name not in letters)
    letters |= {name: REPRESENTATIVE.get(name, 16) for name in free}
    ordered = {name: letters[name] for name in reader.met}
    return _compute_sizes(written, ordered, free, text, reader.positions)


def _compute_sizes(
    written: tuple[tuple[Any, ...], dict[str, Any]],
    letters: dict[str, int],
    free: tuple[str, ...],
    text: str,
    positions: dict[int | str, int],
) -> Spec:
    def leaf(value: Any, name: str) -> Any:
        if isinstance(value, Written):
            return _make_tensor(value, name, letters, text)
        if isinstance(value, sizes.NamedSize | sizes.Arithmetic):
            return _make_size(value, letters, text)
        return value

    args = tuple(map_leaves(value, leaf, str(i)) for i, value in enumerate(written[0]))
    kwargs = {name: map_leaves(value, leaf, name) for name, value in written[1].items()}
    return Spec(args, kwargs, letters, free, text, positions, written)


def map_leaves(nest: Any, leaf: Callable[[Any, str], Any], name: str = "") -> Any:
    """Return a nested structure with `leaf(value, path)` in place of every value.

    Paths join keys and positions by dots: `0.image`, `batch.1`.
    """
    if isinstance(nest, dict):
        return {
            key: map_leaves(value, leaf, f"{name}.{key}") for key, value in nest.items()
        }
    if isinstance(nest, list | tuple):
        items = [map_leaves(value, leaf, f"{name}.{i}") for i, value in enumerate(nest)]
        return items if isinstance(nest, list) else tuple(items)
    return leaf(nest, name)


def _iter_leaves(nest: Any) -> Iterator[TensorSpec]:
    if isinstance(nest, TensorSpec):
        yield nest
    elif isinstance(nest, dict):
        yield from _iter_leaves(list(nest.values()))
    elif isinstance(nest, list | tuple):
        for value in nest:
            yield from _iter_leaves(value)


def _make_tensor(
    written: Written, name: str, letters: dict[str, int], text: str
) -> TensorSpec:
    shape = tuple(_make_size(size, letters, text) for size in written.sizes)
    if prod(shape) * ITEMSIZE[written.dtype] > _LARGEST:
        bytes_ = prod(shape) * ITEMSIZE[written.dtype]
        raise InputError(
            f"this tensor has {bytes_:.1e} bytes, more than a tensor can have",
            text,
            written.position,
        )
    if isinstance(written.fill, tuple) and _find_shape(written.fill) != shape:
        value_shape = _find_shape(written.fill)
        raise InputError(
            f"the values have shape {value_shape}, the tensor {shape}"
            if value_shape
            else "these rows of values differ in length",
            text,
            written.position,
        )
    return TensorSpec(
        shape,
        written.dtype,
        written.device,
        name,
        tuple(
            None if isinstance(size, sizes.StatedSize) else sizes.format_size(size)
            for size in written.sizes
        ),
        written.fill,
        written.requires_grad,
    )


def _make_size(size: sizes.Size, letters: dict[str, int], text: str) -> int:
    try:
        number = sizes.compute_size(size, letters)
    except sizes.DividedByZero as error:
        raise InputError("this size divides by zero", text, error.position) from None
    if number < 0:
        used = {
            letter.name: letters[letter.name] for letter in sizes.find_letters(size)
        }
        where = ", ".join(f"{name}={value}" for name, value in used.items())
        raise InputError(
            f"the size `{sizes.format_size(size)}` is {number}"
            + (f" at {where}" if where else ""),
            text,
            size.position,
        )
    return number


def _find_shape(values: Any) -> tuple[int, ...] | None:
    """Return the shape of nested tuples of numbers, or None if they are ragged."""
    if not isinstance(values, tuple):
        return ()
    inner = {_find_shape(value) for value in values}
    if len(inner) > 1 or None in inner:
        return None
    return (len(values), *(inner.pop() or () if inner else ()))


def _format_value(value: Any, stated: dict[str, int]) -> str:
    if isinstance(value, Written):
        return _format_tensor(value, stated)
    if isinstance(value, sizes.NamedSize | sizes.Arithmetic):
        return sizes.format_size(value)
    if isinstance(value, dict):
        items = [
            f"{key!r}: {_format_value(item, stated)}" for key, item in value.items()
        ]
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        kind = "list" if _is_like_sizes(value) else ""
        return (
            kind + "[" + ", ".join(_format_value(item, stated) for item in value) + "]"
        )
    if isinstance(value, tuple):
        items = [_format_value(item, stated) for item in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return repr(value)


def _is_like_sizes(items: list[Any]) -> bool:
    plain = (int, sizes.NamedSize, sizes.Arithmetic)
    return bool(items) and all(
        isinstance(item, plain) and not isinstance(item, bool) for item in items
    )


def _format_tensor(written: Written, stated: dict[str, int]) -> str:
    inside = ", ".join(sizes.format_size(size, stated) for size in written.sizes)
    device = "" if written.device == "cpu" else f"@{written.device}"
    grad = "!grad" if written.requires_grad else ""
    fill = "" if written.fill is None else f"={_format_fill(written.fill)}"
    return f"{SHORT.get(written.dtype, written.dtype)}[{inside}]{device}{grad}{fill}"


def _format_fill(fill: Any) -> str:
    if isinstance(fill, tuple):
        return f"[{', '.join(_format_fill(value) for value in fill)}]"
    return fill if isinstance(fill, str) else str(fill)


__all__ = ["IntegerRange", "Spec", "TensorSpec", "map_leaves", "parse_spec"]


Make = Callable[[TensorSpec], Any]

MOST_VALUES = 1 << 20
"""A tensor with more elements than this is made without values, whatever its fill."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Inputs that a target may accept, and a description of where they come from.

    `inputs` is a spec, or a function that makes what the model's author declared:
    a tensor, a tuple or list of positional inputs, a dict of keyword inputs, a pair of
    both, or a spec as text. `chosen`: nobody gave or declared them, they were looked
    for until the target ran.
    """

    reason: str
    inputs: Spec | Callable[[], Any]
    chosen: bool = False

    def arguments(
        self, make: Make | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return `(args, kwargs)`; a declared example runs the user's code."""
        if isinstance(self.inputs, Spec):
            return materialize_spec(self.inputs, make)
        return make_declared(self.inputs(), make)


def make_declared(
    value: Any, make: Make | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert an example that an author declared to `(args, kwargs)`.

    Example: a tensor ``x`` is ``((x,), {})``, ``(x, y)`` is ``((x, y), {})``,
    ``{"x": x}`` is ``((), {"x": x})``, ``((x,), {"y": y})`` is itself.
    """
    if isinstance(value, str):
        return materialize_spec(parse_spec(value), make)
    if isinstance(value, Spec):
        return materialize_spec(value, make)
    if isinstance(value, Mapping):
        return (), {str(name): item for name, item in value.items()}
    if not isinstance(value, list | tuple) or hasattr(value, "_fields"):
        return (value,), {}
    if len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict):
        return value[0], dict(value[1])
    return tuple(value), {}


def materialize_spec(
    spec: Spec, make: Make | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments that a spec describes; `make` creates each tensor.

    Example: ``materialize_spec(parse_spec("f32[2, 3], mask=None"))`` is
    ``((<meta tensor of shape (2, 3)>,), {"mask": None})``.
    """
    making = make or _make_meta

    def leaf(value: Any, name: str) -> Any:
        return making(value) if isinstance(value, TensorSpec) else value

    args = tuple(map_leaves(value, leaf) for value in spec.args)
    return args, {name: map_leaves(value, leaf) for name, value in spec.kwargs.items()}


def _make_meta(leaf: TensorSpec) -> torch.Tensor:
    """Return a meta tensor, which has no data; the default of `materialize_spec`."""
    import torch

    return torch.empty(
        leaf.shape,
        dtype=getattr(torch, leaf.dtype),
        device="meta",
        requires_grad=leaf.requires_grad,
    )


def make_filled(leaf: TensorSpec) -> torch.Tensor | None:
    """Return a CPU tensor with the values that a spec states, or None without any.

    Example: for ``i64[3]=[3, 2, 1]`` a tensor of 3, 2, 1. Random integers come from a
    generator of their own, the same in every run. A tensor of more than `MOST_VALUES`
    elements gets no values.
    """
    import torch

    dtype = getattr(torch, leaf.dtype)
    fill, count = leaf.fill, 1
    for size in leaf.shape:
        count *= size
    if fill is None or count > MOST_VALUES:
        return None
    if fill == "arange":
        return torch.arange(count, device="cpu").to(dtype).reshape(leaf.shape)
    if isinstance(fill, IntegerRange):
        generator = torch.Generator(device="cpu").manual_seed(0)
        drawn = torch.randint(
            fill.low, fill.high, leaf.shape, generator=generator, device="cpu"
        )
        return drawn.to(dtype)
    if isinstance(fill, tuple):
        return torch.tensor(fill, dtype=dtype, device="cpu")
    number = {"zeros": 0, "ones": 1}[fill] if isinstance(fill, str) else fill
    return torch.full(leaf.shape, number, dtype=dtype, device="cpu")


def make_tensor(leaf: TensorSpec) -> Any:
    """Return the input tensor that a spec describes, as passed to a run."""
    from shapewright.runtime.input_tensors import make_input_tensor

    device = f"{leaf.device}:0" if leaf.device == "cuda" else leaf.device
    return make_input_tensor(
        leaf.shape, leaf.dtype, device, leaf.name, make_filled(leaf), leaf.requires_grad
    )
