"""The reports of `check` and `rehearse`: findings with fixes, the story of the run,
and the events of its training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from shapewright.findings.finding import Finding
from shapewright.record.ops import Assumption
from shapewright.record.rehearsed_memory import RehearsedMemory
from shapewright.record.trace import Trace

Place = tuple[str, int]
"""A file, relative to the working directory, and a line."""


@dataclass(frozen=True, slots=True)
class Optimized:
    """An optimizer: where it was built and last stepped, and what it holds.

    `never` are the paths of its parameters that require gradients and never had one,
    `strangers` counts those of them that belong to no module that ran, `foreign` all
    parameters that do not; `repeated` are those that it lists more than once, so that
    a step changes them as often. `is_idle` says that no loss before its steps gave
    them a gradient, `is_twin` that another optimizer has the same parameters.
    """

    name: str
    built: Place
    stepped: Place | None
    parameters: int
    never: tuple[str, ...] = ()
    strangers: int = 0
    foreign: int = 0
    repeated: tuple[str, ...] = ()
    is_idle: bool = False
    is_twin: bool = False


@dataclass(frozen=True, slots=True)
class Outside:
    """Parameters of a module that get gradients and are in no optimizer.

    `of` counts all parameters of the model; `as_made` says that none of these was
    loaded, so that they keep random numbers; `thawed` is where they were unfrozen after
    an optimizer was built.
    """

    model: str
    paths: tuple[str, ...]
    of: int
    as_made: bool = False
    thawed: Place | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """An observation at a line: `other` is a second line, `name` a class."""

    kind: str
    place: Place
    other: Place | None = None
    name: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Training:
    """The state of a rehearsed training at its end."""

    optimizers: tuple[Optimized, ...] = ()
    outside: tuple[Outside, ...] = ()
    met: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """An event at a line, with the events within it.

    `kind` is `run` (the whole), `loop`, `batches`, `backward`, `step`, `zero_grad`,
    `schedule`, `save`, `load`, `group`, `train` or `eval`. `count` is how often it
    happened. `turns` are the turns of a loop, or the batches of a loader, that ran,
    from 1, and `total` how many a real run has (None: nobody knows); `ran` counts the
    turns of all runs of a loop. `shapes` are, in words, what came out, in the order of
    first sight.
    """

    kind: str
    file: str = ""
    line: int = 0
    text: str = ""
    count: int = 1
    turns: tuple[int, ...] = ()
    total: int | None = None
    shapes: tuple[str, ...] = ()
    inner: tuple[Moment, ...] = ()
    ran: int = 0


@dataclass(frozen=True, slots=True)
class Gradient:
    """A value in a training, and the gradient that it received.

    `kind` is `output` (of a module, at its first call in training), `parameter`, or
    `frozen` for a parameter that asks for no gradient. `gradient` is its shape, None
    where none came; `layout` is `strided` or `sparse_coo`.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    gradient: tuple[int, ...] | None = None
    gradient_dtype: str = ""
    layout: str = ""


@dataclass(frozen=True, slots=True)
class LastBatch:
    """A last batch with fewer samples than the others, in a loop that trains.

    `file` and `line` are where its loader, of a class of that `name`, was constructed;
    the program worked with it from the op `began` until before the op `ended`.
    """

    file: str
    line: int
    name: str
    samples: int
    usual: int
    began: int
    ended: int


@dataclass(frozen=True, slots=True)
class ListField:
    """A field of a data set's items that is a list of numbers, which collating
    transposes.

    Example: `item["data"]` of eight numbers has the keys ``("data",)``. `file` and
    `line` are where the `__getitem__` of a class of that name begins.
    """

    file: str
    line: int
    class_name: str
    keys: tuple[str | int, ...]
    length: int

    @property
    def name(self) -> str:
        """Return the field in words: `item["data"]`."""
        keys = "".join(f"[{key!r}]" for key in self.keys).replace("'", '"')
        return f"`item{keys}`" if keys else "an item"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsed run: `story` is the whole run, `skipped` lists what was left out.

    `gradients` stand beside their values, module by module. `memory` is there where a
    GPU is named, or where it was asked for.
    """

    device: str
    story: Moment
    skipped: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    seconds: float = 0.0
    steps: int = 0
    training: Training = field(default_factory=Training)
    gradients: tuple[Gradient, ...] = ()
    memory: RehearsedMemory | None = None


renderers: dict[str, Callable[[Report], str]] = {}
"""Functions that render a report, by MIME type; views register them on import."""


@dataclass(frozen=True, slots=True)
class ChosenInputs:
    """Inputs that nobody gave: they were searched for until the program ran on them.

    `inputs` says what they are, ``x is f32[2, 3, 40, 40]``; `again` is how to check
    with inputs of one's own, ``shapewright check -i "f32[...]" model.py:Net``.
    """

    inputs: str
    again: str

    def __str__(self) -> str:
        return f"at sizes that were chosen: {self.inputs}; with your own: {self.again}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A definition of a file that was not checked, and why."""

    target: str
    reason: str

    def __str__(self) -> str:
        return f"{self.target}: {self.reason}"


class FindingsError(AssertionError):
    """Raised by `Report.raise_if_errors`; its text is the report."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """The result of `check`. `complete`: the program reached its end despite errors.

    `chosen` is there where nobody gave or declared the inputs. Of a file that only
    defines things there are `parts`, a report for each of them, and `skipped`.

    Example::

        report = sw.check(model, "f32[8, 3, 32, 32]")
        for finding in report.findings:
            print(finding.code, finding.span, finding.message)
    """

    target: str
    findings: tuple[Finding, ...]
    assumptions: tuple[Assumption, ...] = ()
    complete: bool = True
    trace: Trace | None = field(default=None)
    rehearsal: Rehearsal | None = None
    chosen: ChosenInputs | None = None
    parts: tuple[Report, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return the exit code: 0 if clean, 1 with errors or warnings or if
        incomplete.
        """
        problems = [finding for finding in self.findings if finding.severity != "note"]
        return 1 if problems or not self.complete else 0

    @property
    def ok(self) -> bool:
        """Return whether the program reached its end without an error or a warning.

        Example: ``assert sw.check(model, "f32[8, 3, 32, 32]").ok``.
        """
        return self.exit_code == 0

    def raise_if_errors(self) -> None:
        """Raise `FindingsError` with the whole report if it has an error.

        Example: ``sw.check(model, "f32[8, 3, 32, 32]").raise_if_errors()`` in a test.
        Warnings and notes do not raise; `ok` counts warnings too.
        """
        wrong = [finding for finding in self.findings if finding.severity == "error"]
        if wrong or not self.complete:
            raise FindingsError(str(self))

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        raise TypeError(
            "a report is neither true nor false; ask `report.ok`, or write "
            "`report.raise_if_errors()`"
        )

    def __repr__(self) -> str:
        count = len(self.findings)
        more = "; print() shows them" if count else ""
        return f"<Report of {self.target}: {count} finding{'s' * (count != 1)}{more}>"

    def __str__(self) -> str:
        return renderers.get("text/plain", repr)(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the report's text in a notebook or IPython."""
        printer.text(str(self).rstrip())

    def _repr_html_(self) -> str | None:
        """Return a card for a notebook."""
        render = renderers.get("text/html")
        return None if render is None else render(self)
