"""The candidate value of each argument, as data that can be changed in steps, and how
the chosen inputs are reported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shapewright.inputs.callables import Loaded, find_parameters
from shapewright.inputs.spec import Spec, parse_spec
from shapewright.inputs.spec_syntax import TensorSpec
from shapewright.record.ops import SHORT
from shapewright.record.report import ChosenInputs

Dim = int | str
"""A size, or the letter that stands for a size."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor whose dims are sizes or letters: ``("B", 3, "H", "W")``.

    `fill` is its values as a spec writes them; a letter there stands for its size.
    """

    dims: tuple[Dim, ...]
    dtype: str = "float32"
    fill: str = ""

    def text(self, sizes: Mapping[str, int], stated: set[str], shared: set[str]) -> str:
        """Format as in a spec; a letter that occurs once is written as its size."""
        parts = []
        for dim in self.dims:
            if isinstance(dim, int):
                parts.append(str(dim))
            elif dim not in shared:
                parts.append(str(sizes[dim]))
            else:
                parts.append(dim if dim in stated else f"{dim}={sizes[dim]}")
                stated.add(dim)
        fill = f"={sizes.get(self.fill, self.fill)}" if self.fill else ""
        return f"{SHORT.get(self.dtype, self.dtype)}[{', '.join(parts)}]{fill}"

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the sizes of the dims."""
        return tuple(dim if isinstance(dim, int) else sizes[dim] for dim in self.dims)


Path = tuple[str | int, ...]
"""A path into the arguments: ``("batch", "image")``, ``("parts", 0)``."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A candidate set of arguments.

    `arguments` are nests of `Tensor` and plain values, `by_name` those that are passed
    by keyword; a lower `cost` is likelier.
    """

    arguments: Mapping[str, Any]
    sizes: Mapping[str, int]
    by_name: frozenset[str] = frozenset()
    why: tuple[str, ...] = ()
    cost: float = 0.0
    tried: tuple[str, ...] = field(default=(), compare=False)

    def text(self) -> str:
        """Return the text of the spec."""
        counts = Counter(
            dim
            for _, tensor in self.tensors()
            for dim in tensor.dims
            if isinstance(dim, str)
        )
        shared = {letter for letter, count in counts.items() if count > 1}
        stated: set[str] = set()
        items = []
        for name, value in self.arguments.items():
            written = _format_value(value, self.sizes, stated, shared)
            items.append(f"{name}={written}" if name in self.by_name else written)
        return ", ".join(items)

    def spec(self) -> Spec:
        """Return the spec, parsed from its text."""
        return parse_spec(self.text())

    def tensors(self) -> Iterator[tuple[Path, Tensor]]:
        """Yield each tensor with its path, in the order of the spec."""
        for name, value in self.arguments.items():
            yield from _iter_tensors((name,), value)

    def at(self, path: Path) -> Any:
        """Return the value at a path, or None if there is none."""
        value: Any = self.arguments
        for key in path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def with_value(
        self, path: Path, value: Any, why: str = "", cost: float = 0.0
    ) -> Hypothesis:
        """Return a copy with another value at a path."""
        arguments = _place_value(self.arguments, path, value)
        reasons = self.why if not why or why in self.why else (*self.why, why)
        return replace(self, arguments=arguments, why=reasons, cost=self.cost + cost)

    def with_sizes(
        self, sizes: Mapping[str, int], why: str = "", cost: float = 0.0
    ) -> Hypothesis:
        """Return a copy with other sizes for letters."""
        reasons = self.why if not why or why in self.why else (*self.why, why)
        new_sizes = {**self.sizes, **sizes}
        return replace(self, sizes=new_sizes, why=reasons, cost=self.cost + cost)


def map_tensors(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return a nested value with `change` applied to each tensor."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [map_tensors(item, change) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _iter_tensors(path: Path, value: Any) -> Iterator[tuple[Path, Tensor]]:
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _iter_tensors((*path, key), item)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _iter_tensors((*path, place), item)


def _place_value(nest: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(nest, list | tuple):
        items = list(nest)
        assert isinstance(key, int)
        items[key] = _place_value(items[key], rest, value)
        return items if isinstance(nest, list) else tuple(items)
    mapping = dict(nest) if isinstance(nest, Mapping) else {}
    mapping[key] = _place_value(mapping.get(key), rest, value)
    return mapping


def _format_value(
    value: Any, sizes: Mapping[str, int], stated: set[str], shared: set[str]
) -> str:
    if isinstance(value, Tensor):
        return value.text(sizes, stated, shared)
    if isinstance(value, dict):
        items = [
            f"{key!r}: {_format_value(item, sizes, stated, shared)}"
            for key, item in value.items()
        ]
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        parts = [_format_value(item, sizes, stated, shared) for item in value]
        inside = ", ".join(parts)
        if isinstance(value, list):
            plain = bool(value) and all(type(item) is int for item in value)
            return f"list[{inside}]" if plain else f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)


MOST = 4
"""Maximum number of inputs to list."""

_PLAIN = re.compile(r"[\w./:=-]+")


def describe_chosen_inputs(
    loaded: Loaded, spec: Spec, target: str | None
) -> ChosenInputs:
    """Return a list of the inputs that were found, and a command to set them.

    `target` is the command line's; None for a live model.

    Example: ``x is f32[2, 3, 40, 40]``, ``shapewright check -i "f32[...]" net.py:Net``.
    """
    named = {**dict(zip(_name_inputs(loaded), spec.args, strict=False)), **spec.kwargs}
    descriptions = [
        f"{name} is {_format_input(value)}" for name, value in named.items()
    ]
    if len(descriptions) > MOST:
        descriptions[MOST - 1 :] = [f"and {len(descriptions) - MOST + 1} more"]
    items = [_format_pattern(value) for value in spec.args]
    items += [f"{name}={_format_pattern(value)}" for name, value in spec.kwargs.items()]
    pattern = ", ".join(items)
    if target is None:
        return ChosenInputs(", ".join(descriptions), f'sw.check(model, "{pattern}")')
    shown = target if _PLAIN.fullmatch(target) else f'"{target}"'
    return ChosenInputs(
        ", ".join(descriptions), f'shapewright check -i "{pattern}" {shown}'
    )


def _name_inputs(loaded: Loaded) -> list[str]:
    """Return names for the positional inputs; those of `*args` are numbered."""
    names: list[str] = []
    for name, parameter in (find_parameters(loaded) or {}).items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return [*names, *(f"{name}[{n}]" for n in range(64))]
        if parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(name)
    return names or [f"input {n}" for n in range(1, 64)]


def _format_input(value: Any) -> str:
    """Format an input with its sizes."""
    return _format_nest(value, str)


def _format_pattern(value: Any) -> str:
    """Format an input with its sizes left open."""
    return _format_nest(value, lambda leaf: f"{SHORT.get(leaf.dtype, leaf.dtype)}[...]")


def _format_nest(value: Any, leaf: Any) -> str:
    if isinstance(value, TensorSpec):
        text: str = leaf(value)
        return text
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{k}: {_format_nest(v, leaf)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, list | tuple):
        items = ", ".join(_format_nest(item, leaf) for item in value)
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    return "''" if value == "" else str(value)
