"""Symbolic runs led to all sizes: until each is in a region, or time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from shapewright.dims.condition import Condition
from shapewright.dims.ladder import Ladders
from shapewright.solving.regions import Region, region, uncovered
from shapewright.solving.running import Run, Runner
from shapewright.solving.symbols_fed import symbolic_arguments

if TYPE_CHECKING:
    from shapewright.runtime.symbolic.symbolic_run import Symbolic
    from shapewright.solving.feeding import Feeding

MOST_RUNS = 40
"""Symbolic runs for the formulas, and as many again for each demand."""


class Explorer:
    """Symbolic runs of one target, and plain ones beside them."""

    def __init__(
        self, target: Callable[..., Any], feeding: Feeding, seconds: float
    ) -> None:
        from shapewright.runtime.run import Settings

        self.target = target
        self.feeding = feeding
        self.seconds = seconds
        self.ends = time.monotonic() + seconds
        self.runner = Runner(target, feeding, Settings)
        self.runs: list[Symbolic] = []
        self.reason = ""
        self.kernels = False

    def plain(self, sizes: Mapping[str, int]) -> Run:
        """The plain run at some sizes, which settles what is true there."""
        return self.runner.at(sizes)

    def run(self, sizes: Mapping[str, int]) -> Symbolic:
        """One symbolic run, led by these sizes."""
        from shapewright.runtime.symbolic.symbolic_run import symbolic_run

        self.plain(sizes)  # so that the model has been looked at
        make = partial(symbolic_arguments, self.feeding)
        left = max(self.ends - time.monotonic(), 0.1)
        made = symbolic_run(
            self.target, make, sizes, self.runner.taken, left, self.kernels
        )
        self.runs.append(made)
        return made

    def explore(
        self,
        ladders: Ladders,
        base: Mapping[str, int],
        regions: list[Region],
        wanted: Condition | None = None,
    ) -> str:
        """Runs until all sizes are in a region; otherwise why some are in none.

        With `wanted`, only sizes that satisfy it matter.
        """
        if not regions and wanted is None and not self.reason:
            self.lead(base, ladders, regions)
        sizes: Mapping[str, int] | None = base
        for _ in range(MOST_RUNS):
            if self.reason:
                return self.reason
            if wanted is None and (said := fixing(regions, ladders)):
                if self.kernels:
                    return said
                self.kernels = True
                regions.clear()
                self.lead(base, ladders, regions)
                continue
            sizes, sure = uncovered(regions, ladders, base, wanted)
            if sizes is None:
                return "" if sure else "too many sizes to look at each"
            if time.monotonic() > self.ends:
                return f"in {self.seconds:g} s: no time was left for {at(sizes)}"
            self.lead(sizes, ladders, regions)
        return self.reason or f"{MOST_RUNS} symbolic runs did not come to all sizes"

    def lead(
        self, sizes: Mapping[str, int], ladders: Ladders, regions: list[Region]
    ) -> None:
        """One run led by sizes, with the region in which it holds."""
        run = self.run(sizes)
        if run.undecided is not None:
            late = time.monotonic() > self.ends
            within = f"in {self.seconds:g} s: " if late else ""
            self.reason = f"{within}{run.undecided}"
            return
        if self.plain(sizes).accepted is not (run.refused is None):
            said = run.refused or "refuses nothing"
            self.reason = f"torch's symbolic run differs at {at(sizes)}: {said}"
            return
        made = region(run, ladders)
        if made is not None and made.holds(sizes):
            regions.append(made)
            return
        unread = next((each for each in run.guards if each.condition is None), None)
        if unread is not None:
            self.reason = f"torch's condition is not read: {unread.text}"
        else:
            self.reason = f"torch's symbolic run does not hold at its own {at(sizes)}"


def fixing(regions: list[Region], ladders: Ladders) -> str:
    """Where the program makes a plain number of a letter that has many sizes."""
    for each in regions:
        for name, ladder in each.box.items():
            many = (ladders[name].count or 0) > MOST_RUNS
            if ladder.count != 1 or not many or name in each.run.fixed:
                continue
            for guard in each.run.guards:
                if guard.condition is None or guard.condition.letters() != {name}:
                    continue
                others = {name: ladder.low + 1}, {name: ladder.low + 2}
                if not any(guard.condition.holds(sizes) for sizes in others):
                    return f"torch's symbolic run takes {guard.text} for granted" + (
                        f" at {guard.span.file}:{guard.span.line}" if guard.span else ""
                    )
    return ""


def at(sizes: Mapping[str, int]) -> str:
    """``B=2, H=33``."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
