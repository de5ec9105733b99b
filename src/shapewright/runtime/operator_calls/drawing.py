"""Run an operator call on small real tensors, and check its index map.

The values are made up: floats count up, or are small integers if they are
multiplied, so that sums are exact; indices are drawn within range.
"""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose, isfinite, isnan, prod
from typing import Any

import torch
from torch.overrides import get_testing_overrides

from shapewright.engine.identity import DTYPE_NAMES, DTYPES
from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.index_maps.evaluation import PLAIN_TERMS, add_stages, compute_element
from shapewright.index_maps.index_expressions import describe_geometry
from shapewright.index_maps.index_map import MAPS, IndexMap, NotDrawn
from shapewright.operators import import_families
from shapewright.operators.metadata_rules import RULES
from shapewright.runtime.operator_calls import map_functions
from shapewright.runtime.operator_calls.map_functions import stored
from shapewright.runtime.operator_calls.refused_calls import explain_refusal

import_families("index_map")

Tensor = torch.Tensor

RUNNABLE = 1 << 22
"""Elements, over all tensors, up to which a call is run for real."""
TOO_LARGE = "too large to run and to check against torch; smaller sizes are drawn"
SHOWN = 4096
"""Elements up to which a tensor's values are lists; others are looked up singly."""
FEW = 512
"""Elements up to which a stage's values are computed for showing."""
DECIDING = 4096
"""Elements up to which the function that makes a map gets an index tensor's values."""
MOST_STEPS = 100_000
"""Steps of one output element up to which it is checked."""


class Wrong(Exception):
    """Raised if an index map disagrees with torch, which is our bug and never drawn."""


@dataclass(frozen=True, slots=True)
class MetaOf:
    """A tensor's metadata, as passed to functions that make index maps."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    device: str = "cpu"
    requires_grad: bool = False
    offset: int = 0
    finite: bool = True
    """False if an element is known to be NaN or infinite."""
    values: Any = None
    """Nested lists: of small tensors of whole numbers, of masks and of single numbers
    only, because these can decide which elements are read."""

    @classmethod
    def of(cls, tensor: Tensor) -> MetaOf:
        """Return the metadata of a tensor, without values if it is on `meta`."""
        stride = tuple(tensor.stride())
        dtype = DTYPE_NAMES[tensor.dtype]
        offset = int(tensor.storage_offset())
        known = dtype in ("bool", "int32", "int64") and tensor.numel() <= DECIDING
        known = (known or not tensor.ndim) and not tensor.is_meta
        values = tensor.tolist() if known else None
        finite = tensor.is_meta or bool(tensor.isfinite().all())
        shape = tuple(tensor.shape)
        return cls(shape, stride, dtype, offset=offset, finite=finite, values=values)


def draw_call(
    func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], text: str = ""
) -> Drawn:
    """Run a call on real tensors, and describe it with its index map, if it has one.

    Raises `Wrong` if map and torch disagree on one of the elements compared.
    """
    named = name_arguments(name, args, kwargs)
    # What is written in place is described as it was.
    before = {key: value.detach().clone() for key, value in iter_named_tensors(named)}
    metas = {key: MetaOf.of(value) for key, value in iter_named_tensors(named)}
    inputs = tuple(
        draw_side(key, value, shown=before[key])
        for key, value in iter_named_tensors(named)
    )
    plain = {
        key: value for key, value in named.items() if not list(iter_tensors(value))
    }
    try:
        with torch.no_grad():
            output = func(*args, **kwargs)
    except Exception as error:  # what torch refuses is drawn
        text_of = str(error).strip().splitlines()
        message = text_of[0] if text_of else type(error).__name__
        refused = Drawn(text, name, inputs, error=message, arguments=plain)
        tensors = dict(iter_named_tensors(named))
        return explain_refusal(refused, tensors, args, kwargs)
    outs = [out for out in iter_tensors(output) if isinstance(out, Tensor)]
    if not outs:
        message = f"it returns {output!r:.60}, not a tensor"
        return Drawn(text, name, inputs, reason=message, arguments=plain)
    sides = _draw_outputs(outs, named)
    if any(out.is_meta for out in outs):
        message = "a meta tensor has no values"
        return Drawn(text, name, inputs, sides, reason=message, arguments=plain)
    maps, reason = _find_maps(name, named, metas)
    checked = 0
    steps = max(map(_count_steps, maps), default=0)
    if steps > MOST_STEPS:
        maps, reason = (), f"each element is {steps:,} steps, too many to check here"
    if maps and len(maps) != len(outs):
        raise Wrong(f"{name}: {len(maps)} maps for {len(outs)} outputs")
    for drawn, out in zip(maps, outs, strict=False):
        checked += check_map(name, drawn, out, before)
    sizes = describe_geometry(maps[0]) if maps else ()
    on_the_way = _make_stages(maps[0], before, inputs) if maps else ()
    return Drawn(
        text, name, inputs, sides, maps, reason, checked, "", plain, sizes, on_the_way
    )


def _make_stages(
    drawn: IndexMap, before: dict[str, Tensor], inputs: tuple[Side, ...]
) -> tuple[Side, ...]:
    """Return the intermediate tensors of a call, with values if they are small."""
    tensors = add_stages(
        drawn,
        {key: _make_reader(value) for key, value in before.items()},
        map_functions,
    )

    def values(name: str, shape: tuple[int, ...], at: tuple[int, ...] = ()) -> Any:
        if len(at) == len(shape):
            return tensors[name](at)
        rows = range(shape[len(at)])
        return [values(name, shape, (*at, place)) for place in rows]

    sides = []
    for name, stage_map in ((stage.name, stage.map) for stage in drawn.stages):
        few = prod(stage_map.shape) <= FEW
        shown = values(name, stage_map.shape) if few else None
        sides.append(Side(name, stage_map.shape, inputs[0].dtype, values=shown))
    return tuple(sides)


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x2": "other"}
"""Names that torch accepts beside its own."""


def name_arguments(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return arguments by their parameter names in the index map or in torch."""
    signature = _find_signature(name)
    if signature is not None:
        known = signature.parameters
        kwargs = {
            key if key in known else NUMPY_NAMES.get(key, key): value
            for key, value in kwargs.items()
        }
        try:
            return _spread_arguments(signature.bind(*args, **kwargs))
        except TypeError:
            pass
    first = "0" if name in MAPS else "input"  # the map does not know the call
    names = [first, *map(str, range(1, len(args)))]
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _find_signature(name: str) -> inspect.Signature | None:
    """Return the signature of an operator, or None if it is not known."""
    make = MAPS.get(name)
    if make is None and name in RULES:
        make = RULES[name].metadata
    if make is None:
        function: Any = torch
        for part in name.split(".")[1:]:
            function = getattr(function, part, None)
        make = get_testing_overrides().get(function)
    return None if make is None else inspect.signature(make)


def _spread_arguments(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return arguments by name; `view((2, 3))` is passed on as `view(2, 3)`."""
    named = dict(bound.arguments)
    for key, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL and len(named.get(key, ())) == 1:
            (only,) = named[key]
            if isinstance(only, tuple | list):
                named[key] = tuple(only)
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(key, {})
    return named


def iter_tensors(nest: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested tuples and lists, in order."""
    if isinstance(nest, Tensor):
        yield nest
    elif isinstance(nest, tuple | list):
        for item in nest:
            yield from iter_tensors(item)


def iter_named_tensors(named: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Yield tensors with their names in an index map, like `input` or `tensors.0`."""
    for name, value in named.items():
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, tuple | list):
            items = {f"{name}.{place}": item for place, item in enumerate(value)}
            yield from iter_named_tensors(items)


class _Large:
    """The values of a tensor too large for lists, indexed like nested lists."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __getitem__(self, place: int) -> Any:
        inner = self.tensor[place]
        return _Large(inner) if inner.dim() else inner.item()


def _get_values(tensor: Tensor) -> Any:
    """Return the values of a tensor as nested lists, or an object indexed like them."""
    if not tensor.numel() or tensor.is_meta:
        return None
    return tensor.tolist() if tensor.numel() <= SHOWN else _Large(tensor)


def draw_side(
    name: str, tensor: Tensor, shares: str | None = None, shown: Tensor | None = None
) -> Side:
    """Return a tensor as a side of a drawing, with the values of `shown` if given."""
    values = _get_values(tensor if shown is None else shown)
    meta = MetaOf.of(tensor)
    offset = int(tensor.storage_offset())
    return Side(name, meta.shape, meta.dtype, meta.stride, offset, values, shares)


def _draw_outputs(outs: list[Tensor], named: dict[str, Any]) -> tuple[Side, ...]:
    """Return the outputs, each with the name of the input whose storage it shares."""
    owners = {
        t.untyped_storage().data_ptr(): key for key, t in iter_named_tensors(named)
    }
    sides = []
    for place, out in enumerate(outs):
        shares = owners.get(out.untyped_storage().data_ptr()) if out.numel() else None
        name = "out" if len(outs) == 1 else f"out.{place}"
        sides.append(draw_side(name, out, shares))
    return tuple(sides)


def _find_maps(
    name: str, named: dict[str, Any], metas: dict[str, MetaOf]
) -> tuple[tuple[IndexMap, ...], str]:
    """Return the index maps of a call that torch accepts, or the reason for none."""
    make = MAPS.get(name)
    if make is None:
        return (), f"no formula is known for `{name}`"

    def plain(key: str, value: Any) -> Any:
        if isinstance(value, Tensor):
            return metas[key]
        if isinstance(value, tuple | list):
            items = [plain(f"{key}.{n}", item) for n, item in enumerate(value)]
            return type(value)(items)
        if isinstance(value, torch.dtype):
            return DTYPE_NAMES[value]
        return value

    arguments: dict[str, Any] = {}
    many, places = "", ()
    parameters = inspect.signature(make).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    known = inspect.Parameter.VAR_KEYWORD in kinds or named.keys() <= parameters.keys()
    if not known or any(key.isdigit() for key in named):
        return (), "it is called with arguments that its drawing does not support"
    for key, value in named.items():
        kind = parameters[key].kind if key in parameters else None
        if kind is inspect.Parameter.VAR_POSITIONAL:
            many, places = key, tuple(plain(key, tuple(value)))
        else:
            arguments[key] = plain(key, value)
    if places:
        before_places = list(parameters)[: list(parameters).index(many)]
        first = [arguments.pop(key) for key in before_places]
        drawn_maps = make(*first, *places, **arguments)
    else:
        drawn_maps = make(**arguments)
    if isinstance(drawn_maps, NotDrawn):
        return (), drawn_maps.reason
    return (drawn_maps if isinstance(drawn_maps, tuple) else (drawn_maps,)), ""


# -- checking --------------------------------------------------------------------------


def check_map(
    name: str, drawn: IndexMap, out: Tensor, before: dict[str, Tensor], most: int = 64
) -> int:
    """Compare an index map with torch's output; return how many elements it tested."""
    if tuple(out.shape) != drawn.shape:
        raise Wrong(f"{name}: the map says {drawn.shape}, torch {tuple(out.shape)}")
    count = out.numel()
    if not count:
        return 0
    draw = random.Random(0)
    cost = _count_steps(drawn)
    few = max(1, min(most, 20_000 // cost))
    places = draw.sample(range(count), min(few, count))
    kept = drawn.term not in PLAIN_TERMS
    readers = {key: _make_reader(value, kept) for key, value in before.items()}
    tensors = add_stages(drawn, readers, map_functions)
    near, apart = _find_rounding(drawn, out)
    compared = 0
    for place in places:
        index = _unravel_place(place, drawn.shape)
        real = out[index].item() if index else out.item()
        if drawn.combine == "prod" and isinstance(real, float) and not isfinite(real):
            continue  # too large on the way, or in the end: no formula has that
        compared += 1
        # Torch has warned of the call itself; it need not warn of each element.
        with warnings.catch_warnings(action="ignore"):
            element = compute_element(drawn, index, tensors, map_functions)
        stored_element = stored(element, out.dtype)
        if not _is_close(stored_element, real, near, apart):
            raise Wrong(
                f"{name} at {index}: the map says {stored_element}, torch {real}"
            )
    return compared


def _count_steps(drawn: IndexMap) -> int:
    """Return how many loop steps compute one element, summed over all stages."""
    every = (drawn, *(stage.map for stage in drawn.stages))
    return sum(prod(loop.size for loop in index_map.loops) or 1 for index_map in every)


def _make_reader(tensor: Tensor, kept: bool = False) -> Any:
    """Return a function that reads a tensor's element at an index.

    With `kept` the element is a tensor, so that a function of several promotes dtypes
    as torch does, which distinguishes tensors without dims from others.
    """
    if kept:
        return lambda at: tensor[at].reshape(1) if at else tensor
    return lambda at: tensor[at].item() if at else tensor.item()


def _unravel_place(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of the element at a position in row-major order."""
    index: list[int] = []
    for size in reversed(shape):
        place, here = divmod(place, size)
        index.append(here)
    return tuple(reversed(index))


def _find_rounding(drawn: IndexMap, out: Tensor) -> tuple[float, float]:
    """Return the relative and absolute tolerance for torch's rounding of a result.

    Copies are exact. Sums of large numbers that cancel are off by a part of the largest
    ones, and half precision is off by more than the usual.
    """
    exact = drawn.term == "copy" and drawn.combine in ("last", "amax", "amin")
    exact = exact and not drawn.then
    if exact or not (out.is_floating_point() or out.is_complex()):
        return USUAL, USUAL
    part = 8 * torch.finfo(out.dtype).eps
    sizes = out.abs()
    largest = sizes[sizes.isfinite()].amax().item() if sizes.isfinite().any() else 0
    return max(USUAL, part), max(USUAL, part * float(largest))


USUAL = 1e-4


def _is_close(left: Any, right: Any, near: float = USUAL, apart: float = USUAL) -> bool:
    """Return whether two numbers are equal up to rounding."""
    if isinstance(left, complex) or isinstance(right, complex):
        return bool(abs(complex(left) - complex(right)) <= apart + near * abs(right))
    if left is None or isnan(right):
        return left is not None and isnan(left)
    return isclose(left, right, rel_tol=near, abs_tol=apart)


# -- values for tensors that are only typed --------------------------------------------


def make_typed_tensor(
    shape: tuple[int, ...], dtype: str, seed: int, high: int, soft: bool = False
) -> Tensor:
    """Return a tensor with made-up values: floats count up, integers lie below `high`.

    With `soft` floats are halves from -2 to 2, so that a softmax of their products does
    not put all its weight on a single element.
    """
    torch_dtype = DTYPES[dtype]
    count = prod(shape)
    generator = torch.Generator().manual_seed(seed)
    if torch_dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if soft and torch_dtype.is_floating_point:
        halves = torch.randint(-4, 5, shape, generator=generator)
        return (halves / 2).to(torch_dtype)
    if torch_dtype.is_floating_point or torch_dtype.is_complex:
        period = 1 << (24 if torch_dtype.itemsize >= 4 else 7)
        return (torch.arange(count) % period).reshape(shape).to(torch_dtype)
    return torch.randint(0, max(high, 1), shape, generator=generator).to(torch_dtype)
