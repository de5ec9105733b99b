"""Try fixes in child processes, and write them into files or show them as a diff."""

from __future__ import annotations

import ast
import dataclasses
import os
import tempfile
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shapewright.analysis.fixes.refusals import RunOutline, build_outline
from shapewright.analysis.hazards import find_hazards
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program, fill_lazy_parts
from shapewright.analysis.training_mistakes import find_mistakes
from shapewright.findings.codes import (
    MIXED_DEVICES,
    PROGRAM_ERROR,
    RESULT_DROPPED,
    STATE_DICT_MISMATCH,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.inputs.python_files import read_source
from shapewright.operators.failed_calls import Failure, get_refusal
from shapewright.program.notebooks import is_notebook
from shapewright.program.source_text import SourceText
from shapewright.program.spans import apply_edits
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import collect_leaves
from shapewright.record.report import Report

if TYPE_CHECKING:
    from types import TracebackType

    from shapewright.runtime.processes.forks import Children


Overlay = Mapping[str, str]
"""Texts that stand for files, by absolute path."""
Place = tuple[str, int, str]
"""Where something failed: file, line, and the call or the code of the finding."""


class Refused(NamedTuple):
    """A place at which a trial ends if it fails there as before: by a message of the
    kind `refusal`, without its numbers.
    """

    file: str
    line: int
    name: str
    refusal: str


Gone = Place | Refused
"""The failure at which the run with a fix of it may end."""
Refusals = tuple[tuple[Place, tuple[str, int]], ...]
"""Failed calls, each with the kind of its first error, and how often it ran well before
that.
"""
Shapes = tuple[tuple[int, ...], ...]
Operands = tuple[tuple[Place, tuple[Shapes, Shapes]], ...]
"""Failed calls, each with the shapes that it is given and those of its parameters."""

LOAD = STATE_DICT_MISMATCH


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of a run: `ops` counts its calls, `output` holds the returned
    shapes, `samples` says whether the samples keep a dim of their own up to the end,
    `layers` counts the layers with parameters that ran, `operands` holds what failed
    calls were given and `refusals` why, `outline` is what is compared with the run that
    failed. `noted` says that the run itself noted something, `alone` that its process
    had made no other run before.
    """

    failures: tuple[Place, ...] = ()
    complete: bool = False
    ops: int = 0
    output: tuple[tuple[int, ...], ...] = ()
    warnings: tuple[Place, ...] = ()
    notes: tuple[Place, ...] = ()
    samples: bool | None = None
    layers: int = 0
    operands: Operands = ()
    outline: RunOutline = field(default_factory=RunOutline)
    refusals: Refusals = ()
    noted: bool = False
    alone: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether the run came to its end and there is nothing else to be told of."""
        return self.complete and not self.failures and not self.noted


def summarise_run(program: Program, gone: Gone) -> Tried:
    """Summarise a run; include hazards only if it is complete and nothing fails at
    `gone`.
    """
    trace = program.trace
    failures = list_failures(program)
    warnings: tuple[Place, ...] = ()
    notes: tuple[Place, ...] = ()
    samples, context = None, None
    if trace.complete and all(place[:2] != gone[:2] for place in failures):
        findings = [*find_hazards(program), *_find_mistakes(program)]
        unread = *gone[:2], RESULT_DROPPED  # as before: no fault of the edit
        warnings = _collect_places(findings, "warning")
        warnings = tuple(place for place in warnings if place != unread)
        notes = _collect_places(findings, "note")
        context = HazardContext(program)
        samples = context.keeps_samples
    ops, output = len(trace.ops), get_output(program)
    layers, outline = count_layers(program), build_outline(program, gone[:2], context)
    complete = trace.complete or _is_ended_by_assumed_value(program, gone)
    return Tried(
        failures, complete, ops, output, warnings, notes, samples, layers,
        list_operands(program), outline, list_refusals(program),
        noted=bool(trace.findings),
    )  # fmt: skip


def _is_ended_by_assumed_value(program: Program, gone: Gone) -> bool:
    """Return whether a run made the call that had failed, and ended later only because
    a library refused numbers that were assumed: no edit changes that.
    """
    ends = [end for end in program.trace.findings if end.code == PROGRAM_ERROR]
    if not ends or any(end.severity != "note" for end in ends):
        return False
    return any(
        op.span is not None and (op.span.file, op.span.line) == gone[:2]
        for op in program.trace.ops
    )


def count_layers(program: Program) -> int:
    """Return how many layers with parameters of their own ran."""
    owners = {
        state.path.rpartition(".")[0]
        for state in program.trace.states
        if not state.buffer
    }
    return len(owners & {call.path for call in program.trace.calls})


def _collect_places(findings: Iterable[Finding], severity: str) -> tuple[Place, ...]:
    """Return the places of the findings of a severity."""
    return tuple(
        (finding.span.file, finding.span.line, finding.code)
        for finding in findings
        if finding.span is not None and finding.severity == severity
    )


def _find_mistakes(program: Program) -> list[Finding]:
    """Return the mistakes of a rehearsed training."""
    story = program.rehearsal
    return find_mistakes(program, story) if story is not None else []


def get_output(program: Program) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the program's output."""
    return tuple(fact.shape for fact in collect_leaves(program.trace.output))


def list_failures(program: Program) -> tuple[Place, ...]:
    """Return the places of failed calls, in order, and of the program's own errors."""
    places = [
        (span.file, span.line, LOAD)
        for span, misloaded in program.loads
        if misloaded.matched is None
    ]
    places += [get_place(program, failure) for failure in program.failures]
    lines = {place[:2] for place in places}
    for finding in program.trace.findings:
        place = get_finding_place(finding)
        if finding.severity == "error" and place[:2] not in lines:
            places.append(place)
    return tuple(places)


def write_fix(program: Program, fix: Fix, texts: Overlay) -> dict[str, str] | None:
    """Return the texts with a fix of a program applied on top of others; None where
    these say something else than the program that was read.
    """
    changed = dict(texts)
    for file in {edit.span.file for edit in fix.edits}:
        path, text = os.path.abspath(file), program.text(file)
        if text is None or changed.get(path, text.text) != text.text:
            return None
        edits = [(edit.span, edit.text) for edit in fix.edits if edit.span.file == file]
        changed[path] = apply_edits(text.text, edits)
    return changed


def list_refusals(program: Program) -> Refusals:
    """Return the places of failed calls, each with the type and the words of its first
    error, but for the numbers, and how often the call ran well before.
    """
    refusals: dict[Place, tuple[str, int]] = {}
    for failure in program.failures:
        place = get_place(program, failure)
        if place not in refusals:
            span = program.trace.ops[failure.op].span
            earlier = program.trace.ops[: failure.op]
            message = failure.torch_message
            refusal = get_refusal(failure.error, message, failure.unmet)
            refusals[place] = refusal, sum(op.span == span for op in earlier)
    return tuple(refusals.items())


def is_refused_again(program: Program, gone: Gone) -> bool:
    """Return whether a run with a fix fails where the one before did, in the same way
    if that matters.
    """
    if isinstance(gone, Refused) and gone.refusal:
        known = dict(list_refusals(program)).get(gone[:3])
        if known is not None and known[0] != gone.refusal:
            return False
    return any(place[:2] == gone[:2] for place in list_failures(program))


def list_operands(program: Program) -> Operands:
    """Return the places of failed calls in order, each with the shapes that its first
    call is given, but for the batch, and those of the parameters.
    """
    operands: dict[Place, tuple[Shapes, Shapes]] = {}
    for failure in program.failures:
        inputs = program.trace.ops[failure.op].inputs
        shapes, own = (
            tuple(
                (fact.ndim, *fact.shape[1:])
                for fact in inputs
                if (fact.tensor in program.states) == is_own
            )
            for is_own in (False, True)
        )
        operands.setdefault(get_place(program, failure), (shapes, own))
    return tuple(operands.items())


def get_finding_place(finding: Finding) -> Place:
    """Return the place of a finding of the run: its file, its line, and its code, or
    its message where a line may have several of that code.
    """
    line = (finding.span.file, finding.span.line) if finding.span else ("", 0)
    several = finding.code == MIXED_DEVICES
    return (*line, finding.message if several else finding.code)


def get_place(program: Program, failure: Failure) -> Place:
    """Return the place of a failed call: its file, its line, and its layer's name or
    its text.
    """
    op = program.trace.ops[failure.op]
    if op.span is None:
        return ("", 0, op.name)
    layer, text_and_node = program.layer(op), program.node(op.span)
    if layer is not None:
        call = _get_own_name(layer.path)
    else:
        call = _name_call(*text_and_node) if text_and_node is not None else op.name
    return (op.span.file, op.span.line, call)


def _get_operation(node: ast.AST) -> str:
    """Return the name of a called function, or of an operator; empty for others."""
    if isinstance(node, ast.BinOp):
        return type(node.op).__name__
    return get_called_name(node) if isinstance(node, ast.Call) else ""


def _name_call(text: SourceText, node: ast.expr | ast.stmt) -> str:
    """Return the name of a call, or the operator between two operands, with its number
    among those of the line, which it keeps when they are edited; else its text.
    """
    name = _get_operation(node)
    if not name:
        return text.written(node)
    end = (node.end_lineno, node.end_col_offset)
    before = sum(
        1
        for other in text.nodes
        if isinstance(other, ast.expr)
        and other.lineno == node.lineno
        and (other.end_lineno, other.end_col_offset) < end
        and _get_operation(other) == name
    )
    return f"{name} {before}"


def _get_own_name(path: str) -> str:
    """Return `conv` for `layers.3.conv`, `net.2` for `blocks.0.net.2`."""
    parts = path.split(".")
    names = [at for at, part in enumerate(parts) if not part.isdigit()]
    return ".".join(parts[names[-1] :]) if names else path


def is_at(place: Place, other: Place, crowded: Collection[tuple[str, int]]) -> bool:
    """Return whether two failures are the same: in the same call on a line in
    `crowded`, else on the same line.
    """
    return place == other if other[:2] in crowded else place[:2] == other[:2]


WHOLE_RUN = 12.0
"""Seconds that a run to the end may take at least, where an error ended the first."""
MOST_LATE = 3
"""Tries without an answer in time, after which no more are made."""


class Trying:
    """Runs the program with edited text in child processes.

    `run` runs it here; it is given the place of an error at which the run may end.
    `allowed` is how many seconds a child has.
    """

    def __init__(self, run: Callable[[Gone | None], Program]) -> None:
        self.run = run
        self.allowed = 30.0
        self.runs = 0  # in this process
        self.long = False  # a run takes so long that each has a process of its own
        self.stack = ExitStack()

    def __enter__(self) -> Trying:
        import shapewright.analysis.hazards  # noqa: F401, not in each child
        from shapewright.engine.replacement import limit_to_one_thread
        from shapewright.runtime.processes.forks import Children

        self.stack.enter_context(limit_to_one_thread())
        self.children: Children[tuple[Overlay, Gone], Tried] = self.stack.enter_context(
            Children(self.tried, self.allowed, count_processors())
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stack.close()

    def changed(self, texts: Overlay, gone: Gone | None) -> Program:
        """Run the program with changed texts in this process."""
        from shapewright.inputs import python_files
        from shapewright.runtime.files.program_files import keep_files

        python_files.install_texts(texts)
        with keep_files():
            return self.run(gone)

    def again(self, texts: Overlay) -> Program | None:
        """Run the whole program with changed texts."""
        from shapewright.runtime.processes.forks import ChildLost, run_in_child

        try:
            return run_in_child(
                lambda: fill_lazy_parts(self.changed(texts, None)),
                max(self.allowed, WHOLE_RUN),
            )
        except ChildLost:
            return None

    def attempt(
        self, many: Sequence[Overlay], gone: Sequence[Gone], apart: bool
    ) -> list[Tried]:
        """Run the program with each of many changes, and return a summary of each
        run.
        """
        from shapewright.runtime.processes.forks import Children

        requests = list(zip(many, gone, strict=True))
        self.children.seconds = self.allowed
        self.children.reused = not self.long
        if self.children.late >= MOST_LATE:
            return [Tried() for _ in requests]
        if not apart:
            return [outcome or Tried() for outcome in self.children.each(requests)]
        with Children(self.tried, self.allowed, len(many)) as fresh:
            runs = [outcome or Tried() for outcome in fresh.each(requests)]
        self.children.late += fresh.late
        return runs

    def tried(self, request: tuple[Overlay, Gone]) -> Tried:
        """Return the outcome of a single run."""

        texts, gone = request
        self.runs += 1
        run = summarise_run(self.changed(texts, gone), gone)
        return dataclasses.replace(run, alone=self.runs == 1)


def count_processors() -> int:
    """Return how many child processes run at the same time."""
    return min(4, os.cpu_count() or 1)


def choose_fixes(report: Report, unsafe: bool) -> list[Fix]:
    """Return the fix to write for each finding: a `safe` one or, with `unsafe`, the
    best one.
    """
    fixes = []
    for finding in report.findings:
        fix = _find_best_fix(finding, unsafe)
        if fix is not None:
            fixes.append(fix)
    return fixes


def _find_best_fix(finding: Finding, unsafe: bool) -> Fix | None:
    """Return the first checked fix that may be written, or None."""
    grades = ("safe", "fits") if unsafe else ("safe",)
    return next((f for f in finding.fixes if f.checked and f.grade in grades), None)


def apply_fixes(fixes: Iterable[Fix]) -> dict[str, tuple[str, str]]:
    """Return the old and the new text of every file; of overlapping edits, the first is
    applied.
    """
    by_file: dict[str, list[Edit]] = {}
    for fix in fixes:
        for edit in fix.edits:
            others = by_file.setdefault(edit.span.file, [])
            if not any(_is_overlapping(edit, other) for other in others):
                others.append(edit)
    changes = {}
    for file, edits in by_file.items():
        old = _read(file)
        changes[file] = old, apply_edits(old, [(e.span, e.text) for e in edits])
    return changes


def _is_overlapping(edit: Edit, other: Edit) -> bool:
    """Return whether two edits touch the same text, or insert at the same place."""
    a, b = edit.span, other.span
    starts, ends = (a.line, a.column), (a.end_line, a.end_column)
    return not (
        ends < (b.line, b.column)
        or (b.end_line, b.end_column) < starts
        or (ends == (b.line, b.column) and ends != (b.end_line, b.end_column))
        or ((b.end_line, b.end_column) == starts and starts != ends)
    )


def _detect_encoding(file: str | Path) -> str:
    """Return the encoding that a Python file declares, including a byte order mark."""
    with open(file, "rb") as stream:
        return tokenize.detect_encoding(stream.readline)[0]


def _read(file: str) -> str:
    """Return a file's text, with its line endings as they are, or the code of a
    notebook.
    """
    if is_notebook(file):
        return read_source(file)[0]
    with open(file, encoding=_detect_encoding(file), newline="") as stream:
        return stream.read()


def format_diff(fixes: Iterable[Fix]) -> str:
    """Return the changes as a unified diff."""
    return "".join(line for part in _iter_diff_lines(fixes) for line in part)


def _iter_diff_lines(fixes: Iterable[Fix]) -> Iterator[list[str]]:
    """Yield the diff lines of every file."""
    for file, (old, new) in sorted(apply_fixes(fixes).items()):
        lines = unified_diff(
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            f"a/{file}",
            f"b/{file}",
        )
        yield [line if line.endswith("\n") else f"{line}\n" for line in lines]


def replace(file: Path, text: str) -> None:
    """Replace a file by a new file with the same permissions."""
    target = file.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        encoding = _detect_encoding(target)
        with os.fdopen(handle, "w", encoding=encoding, newline="") as stream:
            stream.write(text)
        os.chmod(name, target.stat().st_mode)
        os.replace(name, target)
    except BaseException:  # raised again
        Path(name).unlink(missing_ok=True)
        raise
