"""The result of `solve`: the sizes that a program accepts, its outputs and proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shapewright.program.spans import Span
from shapewright.record.trace import Trace
from shapewright.sizes.demands import Demand

PROVEN, REFUTED, UNDECIDED = "proven", "refuted", "not decided"


@dataclass(frozen=True, slots=True)
class Statement:
    """A formula or demand, and whether it holds for all sizes.

    `text` is what is stated, ``(B, 16, (H - 12)//4)`` or ``H % 16 == 0``; `place` of
    what, ``output`` or a module's path, empty for a demand. `verdict` is "proven",
    "refuted", with `sizes` at which it does not hold, or "not decided"; `detail` says
    for which sizes, or why not.
    """

    text: str
    place: str
    verdict: str
    detail: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """Return the verdict as text: ``proven``, ``refuted at B=2``, ``not
        decided``.
        """
        if not self.sizes:
            return self.verdict
        at = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{self.verdict} at {at}"


@dataclass(frozen=True, slots=True)
class Proof:
    """The statements, and what the proof rests on.

    `runs` counts torch's symbolic runs; `covered` says for which sizes each of them
    holds, ``B >= 2, H >= 16``.
    """

    statements: tuple[Statement, ...]
    runs: int
    covered: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Return whether every statement is proven."""
        return all(statement.verdict == PROVEN for statement in self.statements)


renderers: dict[str, Callable[[Solution], str]] = {}
"""Functions that render a solution, by MIME type; views register them on import."""


@dataclass(frozen=True, slots=True)
class Example:
    """A run: its sizes, and its output or the reason for its failure."""

    sizes: Mapping[str, int]
    output: str = ""
    message: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Demanded:
    """A condition on sizes, the line that demands it, and why.

    `why` is what the program or torch says of sizes that do not satisfy it, `refused`
    a run that shows it. `calls` counts the calls of the line that refused some sizes.
    `implied`: the other demands together are as strict.
    """

    demand: Demand
    span: Span | None
    why: str
    refused: Example
    calls: int = 1
    implied: bool = False

    @property
    def text(self) -> str:
        """Return the condition as Python text: ``H % 16 == 0 and W % 16 == 0``."""
        return str(self.demand)


@dataclass(frozen=True, slots=True)
class Needed:
    """A layer that fits at no sizes, and the argument that would let it fit.

    `argument` of the layer is `has`; `formula` is what comes in there, in the letters,
    empty where it has none, `value` the same at `sizes`. `span` is where the layer is
    built.
    """

    layer: str
    class_name: str
    argument: str
    has: int
    formula: str
    value: int
    sizes: Mapping[str, int]
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """The sizes that a program accepts, and its output in formulas.

    Example::

        solution = sw.solve(unet, "f32[B, 3, H, W]")
        solution.takes(B=1, H=64, W=80)         # True
        solution.demands[0].text                # 'H % 16 == 0 and W % 16 == 0'
        solution.output.shape                   # (B, 1, H, W)

    `demands` say what sizes must satisfy, as far as `runs` runs without data show,
    `whole` all of them in one, where that is plainer;
    `sure`: the last of these came out as expected, and no two explanations of what was
    refused were left. `works` is a run that was taken, None where none was found;
    `fails` the nearest to it that was refused. `wanted` are sizes that give the output
    that was asked for. `needed` says which argument of a layer would have to be
    another, where no sizes were found. `trace` has a formula for every size. `proof`
    says of formulas and demands whether they hold for all sizes, where that was asked.
    `stopped` says that the time allowed was over before anything was known. `tried` are
    all sizes that were run, where no demand held at its own edges; then there are none.
    """

    target: str
    spec: str
    letters: tuple[str, ...]
    demands: tuple[Demanded, ...]
    works: Example | None
    fails: Example | None
    runs: int
    sure: bool
    trace: Trace | None = field(default=None)
    want: str = ""
    wanted: tuple[Example, ...] = ()
    proof: Proof | None = None
    whole: Demand | None = None
    stopped: str = ""
    needed: Needed | None = None
    tried: tuple[Example, ...] = ()

    def takes(self, **sizes: int) -> bool:
        """Return whether these sizes satisfy every demand.

        Raises `LookupError` where no demand held and these sizes were not tried.
        """
        if self.tried:
            for trial in self.tried:
                if dict(trial.sizes) == sizes:
                    return not trial.message
            raise LookupError(f"no demand held, and {sizes} were not tried")
        return all(demand.demand.holds(sizes) for demand in self.demands)

    @property
    def output(self) -> Any:
        """Return the output of the program, with its sizes in letters."""
        return None if self.trace is None else self.trace.output

    @property
    def exit_code(self) -> int:
        """Return the exit code: 1 if no sizes or no wanted output were found, else
        0.
        """
        return 1 if self.works is None or (self.want and not self.wanted) else 0

    def __repr__(self) -> str:
        count = len(self.demands)
        return f"<Solution of {self.target}: {count} demand{'s' * (count != 1)}>"

    def __str__(self) -> str:
        return renderers.get("text/plain", repr)(self)

    def _repr_html_(self) -> str | None:
        """Return a card for a notebook."""
        render = renderers.get("text/html")
        return None if render is None else render(self)
