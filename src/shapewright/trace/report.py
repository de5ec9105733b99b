"""What `check` found: the findings of a program, with causes and tried fixes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shapewright.findings.finding import Finding
from shapewright.trace.record import Assumption, Trace
from shapewright.trace.rehearsal import Rehearsal

renderers: dict[str, Callable[[Report], str]] = {}
"""How a report shows itself, by MIME type; views fill this in when imported."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Inputs that nobody gave: they were looked for until the program ran on them.

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """What `check` found. `complete`: the program reached its end, errors passed.

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
    chosen: Chosen | None = None
    parts: tuple[Report, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 clean, 1 with errors or warnings, or where the end was not reached."""
        told = [each for each in self.findings if each.severity != "note"]
        return 1 if told or not self.complete else 0

    def __repr__(self) -> str:
        count = len(self.findings)
        return f"<Report of {self.target}: {count} finding{'s' * (count != 1)}>"

    def __str__(self) -> str:
        return renderers.get("text/plain", repr)(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What a notebook and IPython show: the text."""
        printer.text(str(self).rstrip())
