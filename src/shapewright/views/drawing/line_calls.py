"""The tensor calls that a line of a program made, with the program's own names for
their tensors.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, is_starred
from shapewright.record.ops import Fact, ModuleCall, Op
from shapewright.record.trace import Trace
from shapewright.views.source_lines import collect_visits


def _find_operands(
    text: SourceText, op: Op, node: ast.AST | None, layer: ModuleCall | None
) -> list[str]:
    """Return the source text for each input of an op; empty if it cannot be found."""
    if layer is not None:
        return _find_layer_operands(text, op, node, layer)
    places = op.places or _find_free_places(op)
    operands = []
    for place in places:
        operands.append(_get_text(text, _find_operand(node, op, place)))
    return operands if len(operands) == len(op.inputs) else [""] * len(op.inputs)


def _find_layer_operands(
    text: SourceText, op: Op, node: ast.AST | None, layer: ModuleCall
) -> list[str]:
    """Return the source text for a layer's arguments, matched by tensor numbers."""
    named: dict[int, str] = {}
    if isinstance(node, ast.Call) and not is_starred(node):
        args, kwargs = layer.inputs
        pairs = [*zip(args, node.args, strict=False)]
        pairs += [
            (kwargs.get(keyword.arg or ""), keyword.value) for keyword in node.keywords
        ]
        for value, argument in pairs:
            if isinstance(value, Fact):
                named[value.tensor] = _get_text(text, argument)
    return [named.get(fact.tensor, "") for fact in op.inputs]


def _get_text(text: SourceText, node: ast.AST | None) -> str:
    """Return the text of an expression on one line."""
    return text.line_of(node) if isinstance(node, ast.expr) else ""


def _find_operand(node: ast.AST | None, op: Op, place: str) -> ast.AST | None:
    """Return the expression at a position in the arguments of a call."""
    first, *way = place.split(".")
    expression: ast.AST | None = None
    match node:
        case ast.Call() if not is_starred(node):
            expression = _find_argument(node, op, first)
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]):
            expression = _find_side(left, right, op, first)
        case ast.AugAssign(target, _, value):
            expression = _find_side(target, value, op, first)
        case ast.UnaryOp(_, value) | ast.Attribute(value):
            expression = value if first == "0" else None
        case ast.Subscript(value, index):
            expression = value if first == "0" else index if first == "1" else None
        case ast.Assign([ast.Subscript(value, index)], source):
            expression = {"0": value, "1": index, "2": source}.get(first)
    for step in way:
        items = expression.elts if isinstance(expression, ast.List | ast.Tuple) else []
        plain = not any(isinstance(item, ast.Starred) for item in items)
        at = int(step) if step.isdecimal() else len(items)
        expression = items[at] if plain and at < len(items) else None
    return expression


def _find_argument(node: ast.Call, op: Op, place: str) -> ast.AST | None:
    """Return the expression of an argument, if the call names the function of `op`."""
    if get_called_name(node) != (op.function or op.name).rpartition(".")[2]:
        return None
    if not place.isdecimal():
        return next(
            (keyword.value for keyword in node.keywords if keyword.arg == place), None
        )
    at = int(place)
    method = op.name.startswith("Tensor.") or op.function.startswith("torch.Tensor.")
    if method and isinstance(node.func, ast.Attribute):
        if at == 0:
            return node.func.value
        at -= 1
    return node.args[at] if at < len(node.args) else None


def _find_side(left: ast.expr, right: ast.expr, op: Op, place: str) -> ast.AST | None:
    """Return the operand at a position; beside a number, return the tensor."""
    if len(op.inputs) == 1:
        numbers = [isinstance(side, ast.Constant) for side in (left, right)]
        return (left, right)[numbers.index(False)] if sum(numbers) == 1 else None
    turned = op.function.rpartition(".")[2].startswith("__r")
    return {"0": left, "1": right}.get(place) if not turned else None


def _find_free_places(op: Op) -> list[str]:
    """Return positions that no other argument has, one for each tensor."""
    taken = {name for name, _ in op.arguments}
    free = (str(at) for at in range(len(taken) + len(op.inputs)))
    return [place for place in free if place not in taken][: len(op.inputs)]


Range = tuple[int, int]
LONGEST = 69
"""Columns of an expression that are shown."""


@dataclass(slots=True)
class LineStep:
    """One call of torch that a line makes, with all its runs.

    `ops[0]` is drawn. `code` is the expression as written; `module` the path of the
    layer that made the call, seen from the code of the line, and empty for a call that
    stands on the line itself. `names` are the program's words for the inputs. `inside`
    is true if the expression makes other calls, too, as a layer of attention does.
    """

    code: str
    module: str = ""
    class_name: str = ""
    names: tuple[str, ...] = ()
    ops: list[Op] = field(default_factory=list)
    inside: bool = False

    @property
    def title(self) -> str:
        """Return the title: `F.relu(x)`, or `F.pad, inside self.conv(x)`."""
        code = self.code if len(self.code) <= LONGEST else f"{self.code[:LONGEST]}..."
        return f"{self.ops[0].name}, inside {code}" if self.inside else code

    @property
    def failed(self) -> bool:
        """Return whether the last run of the call failed."""
        return not self.ops[-1].outputs

    @property
    def shown(self) -> Op:
        """Return the run that is drawn: the failed run, else the first."""
        return self.ops[-1] if self.failed else self.ops[0]


@dataclass(frozen=True, slots=True)
class LineCalls:
    """The calls of a line: its statement, how often it ran, and each call, in order.

    `inside` are the lines of the program that ran below it, in functions that it calls.
    """

    lines: Range
    code: str
    times: int
    owners: tuple[str, ...]
    steps: tuple[LineStep, ...]
    inside: tuple[tuple[str, int], ...] = ()


def find_line_calls(trace: Trace, file: str, text: str, line: int) -> LineCalls:
    """Return the calls on a line of `file`, whose text is `text`.

    A statement over several lines is found by any of them.
    """
    read = SourceText(file, text)
    lines = read.statement_lines(line)
    code = "\n".join(text.splitlines()[lines[0] - 1 : lines[1]])
    run = _Run(trace, read)
    steps: dict[tuple[object, ...], LineStep] = {}
    owners: dict[str, None] = {}
    inside: dict[tuple[str, int], None] = {}
    for op in trace.ops:
        if op.kind == "read" and op.outputs == ():
            continue
        if op.span is None or not _is_within(op.span, file, lines):
            if op.span and any(_is_within(f.span, file, lines) for f in op.frames):
                inside[(op.span.file, op.span.line)] = None
            continue
        if not (op.outputs or "raised" in op.notes):
            continue
        owner, layer = run.owner_of(op)
        owners[owner.path if owner else ""] = None
        path = (
            _get_relative_path(op.module, owner.path if owner else "") if layer else ""
        )
        key = (op.span, op.name, op.function, path)
        step = steps.get(key)
        if step is None:
            step = steps[key] = run.step(op, owner, layer, path)
        step.ops.append(op)
    times = _count_runs(trace, read, lines)
    line_steps = tuple(steps.values())
    spans = Counter(step.ops[0].span for step in line_steps)
    for step in line_steps:
        step.inside = spans[step.ops[0].span] > 1
    return LineCalls(
        lines, code, times, tuple(owners), line_steps, tuple(sorted(inside))
    )


def _is_within(span: Span, file: str, lines: Range) -> bool:
    """Return whether a span overlaps the lines of the file."""
    return span.file == file and span.line <= lines[1] and span.end_line >= lines[0]


def _get_relative_path(path: str, owner: str) -> str:
    """Return a module's path within another: `fc` for `blocks.0.fc` in `blocks.0`."""
    return path.removeprefix(f"{owner}.") if owner else path


def _count_runs(trace: Trace, text: SourceText, lines: Range) -> int:
    """Return how often the line was evaluated."""
    visits = collect_visits(trace, {text.file: text.looping_lines})
    return max(
        (
            len(seen)
            for (name, line), seen in visits.items()
            if name == text.file and lines[0] <= line <= lines[1]
        ),
        default=0,
    )


def find_nearest(trace: Trace, file: str, line: int, most: int = 4) -> list[int]:
    """Return the lines of a file that make tensor calls, the nearest ones, in order."""
    lines_with_calls = {
        op.span.line
        for op in trace.ops
        if op.span is not None and op.span.file == file and op.outputs
    }
    return sorted(sorted(lines_with_calls, key=lambda at: (abs(at - line), at))[:most])


@dataclass(frozen=True, slots=True)
class Variant:
    """A set of shapes on which a call ran: how often, and in which modules."""

    text: str
    times: int
    modules: tuple[str, ...]


def find_variants(step: LineStep, states: Iterable[int]) -> list[Variant]:
    """Return the different shapes of a call, without parameters, in run order."""
    known = set(states)
    counts: Counter[str] = Counter()
    modules: dict[str, dict[str, None]] = {}
    for op in step.ops:
        text = _format_shapes(op, known)
        counts[text] += 1
        modules.setdefault(text, {})[op.module] = None
    return [Variant(t, count, tuple(modules[t])) for t, count in counts.items()]


def _format_shapes(op: Op, states: set[int]) -> str:
    """Return `(2, 9, 8) -> (2, 9, 8)`, without the shapes of parameters."""
    inputs = [fact for fact in op.inputs if fact.tensor not in states]
    before = _list_shapes(inputs or op.inputs)
    after = _list_shapes(op.outputs) if op.outputs else "fails"
    return f"{before} -> {after}" if before else f"-> {after}"


def _list_shapes(facts: Sequence[Fact]) -> str:
    """Return shapes separated by commas."""
    return ", ".join(str(fact.shape) for fact in facts)


# -- the run ---------------------------------------------------------------------------


class _Run:
    """A run, with which the source of a call and its operands can be found."""

    def __init__(self, trace: Trace, text: SourceText) -> None:
        self.text = text
        self.calls = tuple(trace.calls)
        self.by_name = {(call.path, call.call): call for call in self.calls}
        self.states = {state.fact.tensor: state.path for state in trace.states}

    def owner_of(self, op: Op) -> tuple[ModuleCall | None, ModuleCall | None]:
        """Return the module whose code has the line, and the layer that it calls."""
        call = self.by_name.get((op.module, op.call))
        layer = None
        while call is not None and call.span == op.span and call.parent is not None:
            layer, call = call, self.calls[call.parent]
        return call, layer

    def step(
        self, op: Op, owner: ModuleCall | None, layer: ModuleCall | None, path: str
    ) -> LineStep:
        assert op.span is not None
        code, node = self.text.line_at(op.span), self.text.exact_node(op.span)
        names = _find_operands(self.text, op, node, layer)
        states = [
            _get_relative_path(
                self.states.get(fact.tensor, ""), owner.path if owner else ""
            )
            for fact in op.inputs
        ]
        named = tuple(own or state for own, state in zip(names, states, strict=True))
        inner = self.by_name.get((op.module, op.call)) if layer else None
        return LineStep(code, path, inner.class_name if inner else "", named)
