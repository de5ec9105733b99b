"""Samples at sizes at which the program was not run: its calls, worked out again.

The calls of one watched run are answered by rules (`capture/derived`). What Python made
of sizes unseen is constant there, so this is believed only where it says, call by call,
what plain runs at other sizes show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from shapewright.solving.running import Run

if TYPE_CHECKING:
    from shapewright.engine.derived.recipe import Recipe
    from shapewright.solving.feeding import Feeding

Sizes = Mapping[str, int]
PARTS = ("keys", "taken", "given", "steps", "numbers")


class Derived:
    """The samples of a recipe, each sizes worked out once."""

    def __init__(self, recipe: Recipe, base: Run, feeding: Feeding) -> None:
        self.recipe = recipe
        self.base = base
        self.feeding = feeding
        self.made: dict[tuple[int, ...], Any] = {}
        self.classes: list[Any] = []

    def work_out(self, wanted: Iterable[Sizes]) -> bool:
        """Samples at some sizes at once; the run's own stand first, as a check.

        False where the rules do not answer what the run did, at its own sizes.
        """
        from shapewright.engine.derived.recipe import Underivable
        from shapewright.engine.derived.replay import Deriving

        base = self.base
        fresh = {key_of(each): dict(each) for each in wanted}
        fresh = {key: each for key, each in fresh.items() if key not in self.made}
        if not fresh:
            return True
        sizes = [dict(base.sizes), *fresh.values()]
        shapes = [self.feeding.shapes(each) for each in sizes]
        deriving = Deriving(self.recipe, base.sample.keys, shapes)
        try:
            found = deriving.samples(sizes)
        except Underivable:
            return False
        self.made |= dict(zip(fresh, found[1:], strict=True))
        own = deriving.classes
        pairs = list(zip(self.classes, own, strict=True)) if self.classes else own
        numbers: dict[Any, int] = {}
        self.classes = [numbers.setdefault(each, len(numbers)) for each in pairs]
        return True

    def at(self, sizes: Sizes) -> Any:
        """The sample at these sizes, as far as the program goes the base's way."""
        self.work_out([sizes])
        return self.made[key_of(sizes)]

    def full(self, sample: Any) -> bool:
        """Whether the program goes the base's way to its end."""
        return len(sample.keys) == len(self.base.sample.keys)

    @property
    def samples(self) -> list[Any]:
        """All that were worked out."""
        return list(self.made.values())

    @property
    def complete(self) -> list[Any]:
        """Those that reach the end."""
        return [each for each in self.made.values() if self.full(each)]

    def agrees(self, run: Run) -> bool:
        """Whether a plain run shows what is worked out for its sizes."""
        if run.sample is None or not self.work_out([run.sizes]):
            return False
        mine = self.at(run.sizes)
        if self.full(mine) and not run.accepted:
            return False
        if self.full(mine) and len(run.sample.keys) != len(mine.keys):
            return False
        count = min(len(mine.keys), len(run.sample.keys))
        return all(
            getattr(mine, part)[:count] == getattr(run.sample, part)[:count]
            for part in PARTS
        )


def key_of(sizes: Sizes) -> tuple[int, ...]:
    """How samples are looked up."""
    return tuple(sizes.values())


def derived_from(recipe: Recipe, base: Run, feeding: Feeding) -> Derived | None:
    """What a recipe tells; None where the specs are not all that goes in."""
    shapes = [tuple(map(int, each)) for each in feeding.shapes(base.sizes)]
    if shapes != [info.meta.shape for info in recipe.given]:
        return None
    return Derived(recipe, base, feeding)
