"""A file that only defines things: each module class and tensor function is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from shapewright.findings.finding import Finding
from shapewright.inputs.errors import InputError
from shapewright.inputs.program import shown
from shapewright.inputs.pyfile import read_source
from shapewright.inputs.target import parse_target
from shapewright.source.targets import Runnable, find_runnables, outermost
from shapewright.trace.coverage import has_exited, only_defines, ran
from shapewright.trace.report import Chosen, Report, Skipped

Check = Callable[[str, bool], Report]
"""Checks a target; with True the file's `example_inputs` are its inputs."""


def with_definitions(
    report: Report, target: str, check: Check, first: bool = False
) -> Report:
    """The report of a script, or of all that a file defines if it does nothing else.

    Raises `InputError` where nothing in the file can be checked.
    """
    parsed = parse_target(target)
    if parsed.kind != "script" or report.trace is None:
        return report
    runnables = find_runnables(read_source(parsed.place)[1])
    trace, file = report.trace, shown(parsed.place)
    if not only_defines(trace, file, runnables):
        return report
    if not runnables:
        if trace.ops or has_exited(trace):
            return report
        raise InputError(
            f"`{target}` made no tensor call, and it defines no module class and no"
            f" tensor function; name what to run, as in `{target}:Net`"
        )
    under_way = _Checks(target, file, check, first, runnables)
    if trace.complete and report.findings:
        under_way.parts.append(report)
    if has_exited(trace):
        said = trace.findings[-1].message
        under_way.skipped.append(Skipped(target, f"run as a script, {said}"))
    under_way.conduct()
    return under_way.report(report)


def refuse_empty(report: Report, target: str) -> None:
    """Raise `InputError` for a function that did nothing that could be checked."""
    trace = report.trace
    if trace is None or report.findings or not trace.complete:
        return
    if parse_target(target).kind == "script":
        return
    calls, own = trace.calls, [op for op in trace.ops if op.inputs]
    if not own and len(calls) == 1 and calls[0].method == "call":
        raise InputError(
            f"`{target}` made no tensor call, so there is nothing to check; if it"
            f" builds a model, write `{target}()`"
        )


@dataclass(slots=True)
class _Checks:
    """The checks of one file under way."""

    target: str
    file: str
    check: Check
    first: bool
    runnables: Sequence[Runnable]
    parts: list[Report] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    checked: list[Runnable] = field(default_factory=list)

    def conduct(self) -> None:
        """Check what nothing else uses first; what ran inside it is covered."""
        declared = True
        roots = outermost(self.runnables)
        rest = [each for each in reversed(self.runnables) if each not in roots]
        for runnable in (*roots, *rest):
            if self.first and any(each.findings for each in self.parts):
                return
            root = runnable in roots
            if self._is_covered(runnable, root):
                continue
            if runnable.needs:
                self._skip(runnable, _needing(self.target, runnable))
                continue
            try:
                part = self.check(self._name(runnable), declared and root)
            except InputError as error:
                if root or not self._is_used(runnable):
                    self._skip(runnable, error.message)
                continue
            declared = declared and (part.chosen is not None or not root)
            self.parts.append(part)
            self.checked.append(runnable)

    def _is_covered(self, runnable: Runnable, root: bool) -> bool:
        """Whether it ran inside what was checked already, as it is built there."""
        if runnable.kind == "class" and not runnable.needs and not root:
            instances = [each for each in self.checked if each.kind == "instance"]
            return any(runnable.name in each.uses for each in instances)
        if runnable.kind == "builder" and self._is_used(runnable):
            return True
        traces = [part.trace for part in self.parts if part.trace is not None]
        return any(ran(trace, self.file, runnable) for trace in traces)

    def _is_used(self, runnable: Runnable) -> bool:
        return any(runnable.name in each.uses for each in self.checked)

    def _skip(self, runnable: Runnable, reason: str) -> None:
        self.skipped.append(Skipped(self._name(runnable), reason))

    def _name(self, runnable: Runnable) -> str:
        return f"{self.target}:{runnable.name}"

    def report(self, script: Report) -> Report:
        """One report of all."""
        if not self.parts:
            raise InputError(_nothing_checked(self.target, self.skipped))
        findings: dict[object, Finding] = {}
        for part in self.parts:
            for finding in part.findings:
                span = finding.span
                place = (span.file, span.line, span.column) if span else finding.message
                findings.setdefault((finding.code, place), finding)
        assumptions = [each for part in self.parts for each in part.assumptions]
        return replace(
            script,
            findings=tuple(findings.values()),
            assumptions=tuple(dict.fromkeys(assumptions)),
            complete=all(part.complete for part in self.parts),
            chosen=_choices(self.parts),
            parts=tuple(self.parts),
            skipped=tuple(self.skipped),
        )


def _needing(target: str, runnable: Runnable) -> str:
    names = ", ".join(f"`{name}`" for name in runnable.needs)
    values = ", ".join(f"{name}=..." for name in runnable.needs)
    return f'it needs {names}; write "{target}:{runnable.name}({values})"'


def _nothing_checked(target: str, skipped: Sequence[Skipped]) -> str:
    """The sentence for a file of which nothing could be checked."""
    lines = "".join(f"\n  {each}" for each in skipped)
    first = skipped[-1].target if skipped else f"{target}:Net"
    return (
        f"`{target}` only defines things, and none of them can be checked without help;"
        f' write `shapewright check -i "f32[...]" {first}`{lines}'
    )


def _choices(parts: Sequence[Report]) -> Chosen | None:
    """The inputs that were chosen for each part, the others left out."""
    chosen = [(part.target, part.chosen) for part in parts if part.chosen is not None]
    if not chosen:
        return None
    told = "; ".join(f"{name}: {each.inputs}" for name, each in chosen)
    return Chosen(told, chosen[0][1].again)
