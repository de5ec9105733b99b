"""What a program takes, and what comes out: the answer of `shapewright solve`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shapewright.dims.demand import Demand
from shapewright.solving.accepting import Trial, Trials
from shapewright.solving.domains import Domain
from shapewright.solving.feeding import Feeding, of_spec
from shapewright.solving.running import Runner
from shapewright.solving.witness import witnessed
from shapewright.source.span import Span

if TYPE_CHECKING:
    pass


VALUES = 1 << 20
"""Elements of tensors whose values are kept: an index out of range is seen."""


@dataclass(frozen=True, slots=True)
class Demanded:
    """A condition on sizes, the line that demands it, and why."""

    demand: Demand
    span: Span | None
    why: str
    refusals: int


@dataclass(frozen=True, slots=True)
class Solved:
    """The sizes that a program takes."""

    letters: tuple[str, ...]
    demands: tuple[Demanded, ...]
    witness: Trial | None
    refused: Trial | None
    runs: int
    sure: bool

    def takes(self, sizes: Mapping[str, int]) -> bool:
        """Whether these sizes satisfy every demand."""
        return all(each.demand.holds(sizes) for each in self.demands)


def solve_target(target: str, spec: str, *, training: bool | None = None) -> Solved:
    """What a command-line target takes."""
    from shapewright.capture.building import building
    from shapewright.capture.guarding import guarded
    from shapewright.inputs.bind import bind
    from shapewright.inputs.load import load
    from shapewright.inputs.spec import parse
    from shapewright.inputs.target import parse_target

    given = parse(spec)
    with guarded():
        loaded = load(parse_target(target), building(put_back=False))
        with loaded.program.running():
            bind(loaded, given)
            if training is not None and loaded.module is not None:
                loaded.module.train(training)
            return solved(loaded.callable, of_spec(given))


def solved(target: Callable[..., Any], feeding: Feeding) -> Solved:
    """What a callable takes, fed so."""
    from shapewright.capture.running import Settings

    runner = Runner(
        target, feeding, lambda: Settings(go_on=True, quick=True, known=1 << 20)
    )
    trials = Trials(runner)
    witness = witnessed(trials)
    if witness is None:
        return Solved(runner.free, (), None, None, trials.count, False)
    domain = Domain(trials, witness)
    domain.learn()
    demands = tuple(
        Demanded(
            place.demand, place.refusal.span, place.refusal.message, len(place.refusals)
        )
        for place in domain.places.values()
    )
    return Solved(runner.free, demands, witness, None, trials.count, domain.sure)
