"""The options for a single argument, the likeliest first, with the reasons."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shapewright.inputs.search.argument_uses import Uses
from shapewright.inputs.search.docstrings import (
    ALSO,
    MASKS,
    PATCHED,
    PATCHED_BY,
    SOUND,
    DocumentedArguments,
    find_meaning,
)
from shapewright.inputs.search.hypotheses import Dim, Path, Tensor
from shapewright.inputs.search.layer_inputs import iter_tensors, iter_tensors_beside

MOST = 12
"""Options of one argument."""


@dataclass(frozen=True, slots=True)
class ArgumentOption:
    """A value with its cost; `why` is the reason, or empty if it is a mere trial."""

    value: Any
    cost: float
    why: str = ""


@dataclass(slots=True)
class ArgumentEvidence:
    """Everything known about the arguments before anything runs."""

    uses: Mapping[Path, Uses]
    reading: DocumentedArguments
    sizes: dict[str, int]
    parameters: Mapping[str, inspect.Parameter] = field(default_factory=dict)
    first_layer: tuple[tuple[Tensor, ...], str] = ((), "")
    is_function: bool = False
    main: str = ""
    patch: int = 0

    def options(self, path: Path, place: int = 0) -> list[ArgumentOption]:
        """Return the options for an argument or a part of one, the cheapest first."""
        cheapest: dict[Any, ArgumentOption] = {}
        for option in self._all(path, place):
            key = repr(option.value)
            if key not in cheapest or option.cost < cheapest[key].cost:
                cheapest[key] = option
        return sorted(cheapest.values(), key=lambda option: option.cost)[:MOST]

    def _all(self, path: Path, place: int) -> Iterator[ArgumentOption]:
        uses = self.uses.get(path, Uses())
        yield from self.nests(path, uses)
        for option in self.tensors(path, uses, place):
            yield self.weigh_option(option, uses)

    def weigh_option(self, option: ArgumentOption, uses: Uses) -> ArgumentOption:
        """Return an option adjusted to other evidence, such as rank and dtype."""
        value, cost = option.value, option.cost
        if not isinstance(value, Tensor):
            return option
        if uses.ranks and len(value.dims) not in uses.ranks:
            cost += 6
        if uses.whole and value.dtype == "float32":
            value = replace(value, dtype="int64", fill=_format_fill(uses))
        elif uses.boolean and value.dtype == "float32" and not uses.layers:
            value = replace(value, dtype="bool", fill="zeros")
        elif uses.complex and value.dtype == "float32":
            value = replace(value, dtype="complex64")
        if value.dtype == "int64" and uses.high is not None:
            value = replace(value, fill=_format_fill(uses))
        return ArgumentOption(value, cost, option.why)

    # -- what is no tensor --------------------------------------------------------

    def nests(self, path: Path, uses: Uses) -> Iterator[ArgumentOption]:
        """Yield the other options: dicts, lists, tuples, numbers and None."""
        annotation = (
            self.reading.annotations.get(str(path[0])) if len(path) == 1 else None
        )
        name = str(path[-1])
        if uses.keys:
            inner = {key: self.best((*path, key)) for key in uses.keys}
            keys = ", ".join(f"`{key}`" for key in list(uses.keys)[:3])
            yield ArgumentOption(inner, 0, f"{_format_path(path)} is asked for {keys}")
        if (
            uses.joined
            or annotation in ("list", "tuple")
            or (uses.iterated and not uses.tensor)
        ):
            item = self.best((*path, 0))
            count = uses.parts if uses.parts > 1 else 2
            cost = 0 if annotation or uses.joined else 4
            items: Any = [item] * count
            if annotation == "tuple" or (uses.parts > 1 and not uses.joined):
                items = tuple(self.best((*path, n)) for n in range(count))
            yield ArgumentOption(items, cost, f"{_format_path(path)} is taken apart")
        elif uses.parts > 1 and not uses.tensor:
            items = tuple(self.best((*path, n)) for n in range(uses.parts))
            yield ArgumentOption(items, 3, f"{_format_path(path)} is unpacked")
        if annotation in NUMBERS:
            yield ArgumentOption(
                NUMBERS[annotation],
                0,
                f"{_format_path(path)} is annotated `{annotation}`",
            )
        elif uses.number and not uses.tensor:
            yield ArgumentOption(2, 0.5, f"{_format_path(path)} is used as a number")
        needed = len(path) == 1 and path[0] == self.main
        if (uses.optional or name in MASKS) and not needed:
            main = name.startswith(("pixel_values", "input_"))
            yield ArgumentOption(None, 0 if uses.optional and not main else 2.5)
        if annotation is None and not uses.used and not uses.tensor and uses.flag:
            yield ArgumentOption(False, 1)

    def best(self, path: Path) -> Any:
        """Return the likeliest value for an argument or a part of one."""
        options = self.options(path, 1)
        return options[0].value if options else Tensor(("B", "F"))

    # -- tensors ------------------------------------------------------------------

    def tensors(self, path: Path, uses: Uses, place: int) -> Iterator[ArgumentOption]:
        """Yield tensor options, first by evidence, then with usual shapes."""
        name = str(path[-1])
        cost = 0.0
        if name in PATCHED and self.patch:
            for counted, before in PATCHED_BY.items():
                if counted in self.parameters:
                    patches = Tensor((*before, self.patch))
                    yield ArgumentOption(patches, 0, f"patches, counted by `{counted}`")
                    cost = 1.0
        for dims, why in self.reading.shapes.get(name, ()):
            yield ArgumentOption(self.like(name, dims), cost, why)
            cost += 0.3
        for met in uses.layers:
            for tensor in iter_tensors(met):
                yield ArgumentOption(
                    tensor, cost, f"sizes by {describe_layer(met.path, met.layer)}"
                )
                cost += 1
        for beside in uses.beside:
            for tensor in iter_tensors_beside(beside):
                why = f"{_format_path(path)} meets a tensor of {beside.shape}"
                yield ArgumentOption(tensor, cost, why)
                cost += 1
        meant = find_meaning(name)
        if meant is not None:
            listed = meant.fill.startswith("[")
            yield ArgumentOption(
                meant, 0 if listed else 1 + cost, f"by the name `{name}`"
            )
            for n, other in enumerate(ALSO.get(name, ())):
                yield ArgumentOption(other, 1.5 + cost + n, f"by the name `{name}`")
        if name in MASKS:
            yield ArgumentOption(Tensor(("B", "T"), "bool", "zeros"), 2)
            yield ArgumentOption(Tensor(("T", "T"), "bool", "zeros"), 4)
        yield from self.iter_hinted(path, uses)
        if place == 0 and not uses.whole:
            start = 2.0 if not uses.layers else 5 + cost
            for n, tensor in enumerate(self.first_layer[0]):
                yield ArgumentOption(tensor, start + n, self.first_layer[1])
        usual = FUNCTIONS if self.is_function else FURTHER if place else USUAL
        for n, tensor in enumerate(usual):
            yield ArgumentOption(tensor, 8 + n, "usual shapes were tried")

    def like(self, name: str, dims: tuple[Dim, ...]) -> Tensor:
        """Return a tensor of these dims, with a dtype by its name or annotation."""
        annotation, meant = self.reading.annotations.get(name), find_meaning(name)
        if meant == SOUND and dims[-1] in ("T", "L"):
            dims = (*(1 if dim == "C" else dim for dim in dims[:-1]), "A")
        if isinstance(meant, Tensor) and meant.fill.startswith("["):
            return meant
        if isinstance(meant, Tensor) and meant.dtype == "int64":
            return Tensor(dims, meant.dtype, meant.fill if meant.fill != "T" else "1")
        if annotation in ("whole", "boolean"):
            return Tensor(dims, "int64" if annotation == "whole" else "bool", "zeros")
        return Tensor(dims)

    def iter_hinted(self, path: Path, uses: Uses) -> Iterator[ArgumentOption]:
        """Yield options from uses of the argument that suggest less than a shape."""
        if uses.lengths:
            yield ArgumentOption(
                Tensor(("B",), "int64", "T"), 0, f"{_format_path(path)} are lengths"
            )
        for rank in dict.fromkeys(uses.ranks):
            if rank in RANKS:
                why = f"{_format_path(path)} has {rank} dims where it is unpacked"
                yield ArgumentOption(Tensor(RANKS[rank]), 1.5, why)
                if rank == 4:
                    yield ArgumentOption(Tensor(("B", "T", "S", "F")), 3, why)
        if uses.whole or self.reading.annotations.get(str(path[-1])) == "whole":
            for n, dims in enumerate((("B", "T"), ("B",), ())):
                fill, why = (
                    _format_fill(uses),
                    f"{_format_path(path)} holds whole numbers",
                )
                yield ArgumentOption(Tensor(dims, "int64", fill), 2 + n, why)
        if uses.parts > 1 and uses.tensor and uses.whole:
            yield ArgumentOption(Tensor((uses.parts, "E"), "int64", "zeros"), 1.2)
        if uses.boolean:
            for n, dims in enumerate((("B", "T"), ("T", "T"), ("B",))):
                yield ArgumentOption(Tensor(dims, "bool", "zeros"), 2 + n)
        if uses.parts > 1 and uses.tensor and not uses.layers:
            yield ArgumentOption(Tensor((uses.parts, "E"), "int64", "zeros"), 5)
        for peer in dict.fromkeys(uses.peers):
            known = self.uses.get(peer)
            if peer != path and known is not None and (known.layers or known.beside):
                for met in known.layers[:1]:
                    for tensor in iter_tensors(met):
                        yield ArgumentOption(
                            tensor, 3, f"like `{peer[-1]}`, with which it is combined"
                        )
                        break


NUMBERS: dict[str | None, Any] = {
    "int": 2, "float": 1.0, "bool": False, "str": "", "complex": 1.0,
}  # fmt: skip

RANKS: dict[int, tuple[Any, ...]] = {
    1: ("B",), 2: ("B", "T"), 3: ("B", "T", "F"), 4: ("B", "C", "H", "W"),
    5: ("B", "T", "C", "H", "W"), 6: ("B", "T", "S", "C", "H", "W"),
}  # fmt: skip

USUAL = (
    Tensor(("B", "C", "H", "W")),
    Tensor(("B", "F")),
    Tensor(("B", "T", "F")),
    Tensor(("B", "T"), "int64", "ones"),
    Tensor(("B", "C", "L")),
    Tensor(("B", "C", "D", "H", "W")),
    Tensor(("B",)),
)
FURTHER = (
    Tensor(("B",)),
    Tensor(("B", "F")),
    Tensor(("B", "T")),
    Tensor(("B", "T", "F")),
    Tensor(("B", "C", "H", "W")),
    Tensor(("B", "T"), "int64", "ones"),
)
"""Of arguments after the first."""
FUNCTIONS = (
    Tensor(("T", "T")),
    Tensor(("B", "T", "F")),
    Tensor(("B", "C", "H", "W")),
    Tensor(("T",)),
    Tensor(("B", "T"), "int64", "ones"),
)


def _format_fill(uses: Uses) -> str:
    if uses.high is None:
        return "zeros"
    return f"0..{uses.high}" if uses.high > 1 else "zeros"


def _format_path(path: Path) -> str:
    """Format a path as text, like `batch["image"]`."""
    first, *rest = path
    return f"`{first}{''.join(f'[{key!r}]' for key in rest)}`"


def describe_layer(path: str, layer: Any) -> str:
    """Describe a layer as text, like "`conv1`, Conv2d(1, 6)"."""
    arguments = layer.extra_repr().split(", ")[:2]
    text = f"{type(layer).__name__}({', '.join(arguments)})".removesuffix("()")
    return f"`{path}`, {text}" if path else text
