"""The tensor calls that one line of a program made, from the record of a run."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from shapewright.source.span import Span
from shapewright.trace.fact import Fact
from shapewright.trace.module import ModuleCall
from shapewright.trace.op import Op
from shapewright.trace.record import Trace
from shapewright.views.lab.operands import Written, operands_of, written_at
from shapewright.views.visits import looping_lines, visits

Range = tuple[int, int]
LONGEST = 69
"""Columns of an expression that are shown."""


@dataclass(slots=True)
class Step:
    """One call of torch that a line makes, with all its runs.

    `ops[0]` is drawn. `code` is the expression as written; `module` the path of the
    layer that made the call, seen from the code of the line, and empty for a call that
    stands on the line itself. `names` are the program's words for the inputs. `inside`
    says that the expression makes other calls, too, as a layer of attention does.
    """

    code: str
    module: str = ""
    class_name: str = ""
    names: tuple[str, ...] = ()
    ops: list[Op] = field(default_factory=list)
    inside: bool = False

    @property
    def title(self) -> str:
        """What is drawn: `F.relu(x)`, or `F.pad, inside self.conv(x)`."""
        code = self.code if len(self.code) <= LONGEST else f"{self.code[:LONGEST]}..."
        return f"{self.ops[0].name}, inside {code}" if self.inside else code

    @property
    def failed(self) -> bool:
        """Whether torch refused it the last time."""
        return not self.ops[-1].outputs

    @property
    def shown(self) -> Op:
        """The run that is drawn: the one that failed, else the first."""
        return self.ops[-1] if self.failed else self.ops[0]


@dataclass(frozen=True, slots=True)
class LineCalls:
    """What a line did: its statement, how often it ran, and each call, in order.

    `inside` are the lines of the program that ran below it, in functions that it calls.
    """

    lines: Range
    code: str
    times: int
    owners: tuple[str, ...]
    steps: tuple[Step, ...]
    inside: tuple[tuple[str, int], ...] = ()


def line_calls(trace: Trace, file: str, text: str, line: int) -> LineCalls:
    """The calls on a line of `file`, whose text is `text`.

    A statement that goes over several lines is meant by each of them.
    """
    lines = statement(text, line)
    code = "\n".join(text.splitlines()[lines[0] - 1 : lines[1]])
    run = _Run(trace, Written(text))
    steps: dict[tuple[object, ...], Step] = {}
    owners: dict[str, None] = {}
    inside: dict[tuple[str, int], None] = {}
    for op in trace.ops:
        if op.kind == "read" and op.outputs == ():
            continue
        if op.span is None or not within(op.span, file, lines):
            if op.span and any(within(f.span, file, lines) for f in op.frames):
                inside[(op.span.file, op.span.line)] = None
            continue
        if not (op.outputs or "raised" in op.notes):
            continue
        owner, layer = run.owner_of(op)
        owners[owner.path if owner else ""] = None
        path = relative(op.module, owner.path if owner else "") if layer else ""
        key = (op.span, op.name, op.function, path)
        step = steps.get(key)
        if step is None:
            step = steps[key] = run.step(op, owner, layer, path)
        step.ops.append(op)
    times = times_run(trace, file, text, lines)
    found = tuple(steps.values())
    spans = Counter(step.ops[0].span for step in found)
    for step in found:
        step.inside = spans[step.ops[0].span] > 1
    return LineCalls(lines, code, times, tuple(owners), found, tuple(sorted(inside)))


def within(span: Span, file: str, lines: Range) -> bool:
    """Whether a span touches the lines."""
    return span.file == file and span.line <= lines[1] and span.end_line >= lines[0]


def relative(path: str, owner: str) -> str:
    """A module's path seen from another: `fc` for `blocks.0.fc` in `blocks.0`."""
    return path.removeprefix(f"{owner}.") if owner else path


def times_run(trace: Trace, file: str, text: str, lines: Range) -> int:
    """How often the line was evaluated."""
    made = visits(trace, {file: looping_lines(text)})
    return max(
        (
            len(seen)
            for (name, line), seen in made.items()
            if name == file and lines[0] <= line <= lines[1]
        ),
        default=0,
    )


def nearest(trace: Trace, file: str, line: int, most: int = 4) -> list[int]:
    """The lines of a file that make tensor calls, nearest first, in their order."""
    made = {
        op.span.line
        for op in trace.ops
        if op.span is not None and op.span.file == file and op.outputs
    }
    return sorted(sorted(made, key=lambda at: (abs(at - line), at))[:most])


@dataclass(frozen=True, slots=True)
class Variant:
    """One set of shapes on which a call ran: how often, and in which modules."""

    text: str
    times: int
    modules: tuple[str, ...]


def variants(step: Step, states: Iterable[int]) -> list[Variant]:
    """The different shapes of a call, parameters left out, in the order of the run."""
    known = set(states)
    counts: Counter[str] = Counter()
    modules: dict[str, dict[str, None]] = {}
    for op in step.ops:
        text = shapes(op, known)
        counts[text] += 1
        modules.setdefault(text, {})[op.module] = None
    return [Variant(t, count, tuple(modules[t])) for t, count in counts.items()]


def shapes(op: Op, states: set[int]) -> str:
    """`(2, 9, 8) -> (2, 9, 8)`, without the parameters among the inputs."""
    given = [fact for fact in op.inputs if fact.tensor not in states]
    before = listed(given or op.inputs)
    after = listed(op.outputs) if op.outputs else "fails"
    return f"{before} -> {after}" if before else f"-> {after}"


def listed(facts: Sequence[Fact]) -> str:
    """Shapes with commas."""
    return ", ".join(str(fact.shape) for fact in facts)


# -- the statement ---------------------------------------------------------------------


def statement(text: str, line: int) -> Range:
    """The lines of the statement that a line belongs to, of a block only its head."""
    try:
        body: list[ast.stmt] = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return line, line
    while True:
        around = [
            s for s in body if first_line(s) <= line <= (s.end_lineno or s.lineno)
        ]
        inner = [inside for one in around for inside in blocks(one)]
        if not inner:
            if not around:
                return line, line
            ends = [one.end_lineno or one.lineno for one in around]
            return min(map(first_line, around)), max(ends)
        head = min(map(first_line, inner)) - 1
        if line <= head and head >= first_line(around[0]):
            return first_line(around[0]), head
        if line < min(map(first_line, inner)):
            return line, line
        body = inner


def first_line(node: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def blocks(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements below a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        for inner in getattr(node, name, []):
            if isinstance(inner, ast.stmt):
                yield inner
    for handler in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        yield from handler.body


# -- the run ---------------------------------------------------------------------------


class _Run:
    """Whose code made a call, and with which words."""

    def __init__(self, trace: Trace, written: Written) -> None:
        self.written = written
        self.calls = tuple(trace.calls)
        self.by_name = {(call.path, call.call): call for call in self.calls}
        self.states = {state.fact.tensor: state.path for state in trace.states}

    def owner_of(self, op: Op) -> tuple[ModuleCall | None, ModuleCall | None]:
        """The module whose code the line is, and the layer that the line called."""
        call = self.by_name.get((op.module, op.call))
        layer = None
        while call is not None and call.span == op.span and call.parent is not None:
            layer, call = call, self.calls[call.parent]
        return call, layer

    def step(
        self, op: Op, owner: ModuleCall | None, layer: ModuleCall | None, path: str
    ) -> Step:
        assert op.span is not None
        code, node = written_at(self.written, op.span)
        names = operands_of(self.written, op, node, layer)
        states = [
            relative(self.states.get(fact.tensor, ""), owner.path if owner else "")
            for fact in op.inputs
        ]
        named = tuple(own or state for own, state in zip(names, states, strict=True))
        inner = self.by_name.get((op.module, op.call)) if layer else None
        return Step(code, path, inner.class_name if inner else "", named)
