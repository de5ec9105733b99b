"""What a program is fed, at any sizes of the letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapewright.inputs.spec import Spec

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Feeding:
    """The arguments of a call, some of them specs.

    `places` says where the specs stand: a position of `args` or a name of `kwargs`,
    with whether that one holds several inputs. `letters` are all letters with their
    sizes, `free` those without a stated one.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    specs: tuple[tuple[int | str, Spec], ...]
    letters: Mapping[str, int]
    free: tuple[str, ...]

    @property
    def text(self) -> str:
        """The specs as they are written."""
        parts = [
            str(spec) if isinstance(place, int) else f"{place}={spec}"
            for place, spec in self.specs
        ]
        return ", ".join(parts)

    def freed(self) -> Feeding:
        """The same, every letter without a stated size."""
        from shapewright.inputs.errors import InputError

        if not self.letters:
            raise InputError(
                "no input has a letter: write sizes that vary as letters,"
                ' as in "f32[B, 3, H, W]"'
            )
        return replace(self, free=tuple(self.letters))

    def sized(self, sizes: Mapping[str, int]) -> list[tuple[int | str, Spec]]:
        """The specs at these sizes of the letters."""
        letters = {**self.letters, **sizes}
        return [
            (
                place,
                spec.with_sizes(**{name: letters[name] for name in spec.letters}),
            )
            for place, spec in self.specs
        ]

    def arguments(self, sizes: Mapping[str, int]) -> Arguments:
        """The arguments at these sizes of the letters."""
        from shapewright.inputs.example import materialize
        from shapewright.searching.feeding import made_of

        specs = dict(self.sized(sizes))
        args: list[Any] = []
        named: dict[str, Any] = {}
        for at, value in enumerate(self.args):
            if at not in specs:
                args.append(value)
                continue
            more, by_name = materialize(specs[at], made_of)
            args += more
            named |= by_name
        for name, value in self.kwargs.items():
            named[name] = value
            if name in specs:
                named[name] = materialize(specs[name], made_of)[0][0]
        return tuple(args), named

    def shapes(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """The shapes of the tensors that the specs stand for, in order."""
        return [leaf.shape for _, spec in self.sized(sizes) for leaf in spec.leaves]


def of_spec(spec: Spec) -> Feeding:
    """What a spec of all inputs feeds."""
    return Feeding(
        (str(spec),), {}, ((0, spec),), dict(spec.letters), spec.letters_free
    )


def of_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Feeding:
    """What the arguments of a call feed; strings among them are specs."""
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import parse

    specs: list[tuple[int | str, Spec]] = []
    for at, value in enumerate(args):
        if isinstance(value, str):
            specs.append((at, parse(value)))
    for name, value in kwargs.items():
        if isinstance(value, str):
            try:
                spec = parse(value)
            except InputError:
                continue  # a plain string that belongs to the model
            if len(spec.args) == 1 and spec.leaves:
                specs.append((name, spec))
    letters: dict[str, int] = {}
    stated: dict[str, int] = {}
    for _, spec in specs:
        letters |= spec.letters
        stated |= {n: s for n, s in spec.letters.items() if n not in spec.letters_free}
    free = [n for _, spec in specs for n in spec.letters_free if n not in stated]
    return Feeding(
        args, kwargs, tuple(specs), letters | stated, tuple(dict.fromkeys(free))
    )
