"""The rows of the module table and the op table, shared by terminal and notebook."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from shapewright.program.spans import Span
from shapewright.record.ops import ModuleCall, Op, collect_leaves
from shapewright.record.totals import Subtotal, Totals
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.argument_names import name_arguments
from shapewright.views.formatting import Glyphs

FOLD_CALLS = 3
"""Least number of equal calls of a module that are folded; two are both shown."""

MOST_IN_TURN = 16
"""Modules that are called in turn, again and again, and are folded, at most."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A module call, or `count` equal consecutive calls represented by `first`.

    `lasts` has for each level from the root down whether the branch ends there.
    `is_spread` says that the calls are of modules with parameters of their own.
    """

    first: ModuleCall
    last: ModuleCall
    count: int
    label: str
    is_spread: bool
    lasts: tuple[bool, ...]


def _build_rows(trace: Trace, totals: Totals) -> list[_Row]:
    """Return the rows of the module table, in the order of the run.

    Example: GPT-2's twelve equal blocks are one row labelled ``h.0 - 11``, with the
    children of ``h.0`` below it.
    """
    tree = _Tree(trace, totals)
    roots = [at for at, call in enumerate(trace.calls) if call.parent is None]
    return list(tree.walk(roots, "", (), root=True))


class _Tree:
    def __init__(self, trace: Trace, totals: Totals) -> None:
        self.calls: Sequence[ModuleCall] = tuple(trace.calls)
        self.totals = totals
        self.children: list[list[int]] = [[] for _ in self.calls]
        self.kinds: dict[object, int] = {}
        for at, call in enumerate(self.calls):
            if call.parent is not None:
                self.children[call.parent].append(at)
        self.kind = self._kinds()

    def _kinds(self) -> list[int]:
        """Return a number for each call, which is equal for calls that look equal."""
        kind = [0] * len(self.calls)
        for at in reversed(range(len(self.calls))):
            call, subtotal = self.calls[at], self.totals.calls[at]
            below = tuple(
                (self._local(self.calls[child], call.path), kind[child])
                for child in self.children[at]
            )
            looks = (
                call.class_name,
                formatting.format_arguments(call),
                formatting.format_nest(call.output),
            )
            key = (looks, call.method, call.notes, subtotal, below)
            kind[at] = self.kinds.setdefault(key, len(self.kinds))
        return kind

    def walk(
        self, siblings: list[int], path: str, lasts: tuple[bool, ...], root: bool
    ) -> Iterator[_Row]:
        groups = list(self._groups(siblings))
        for place, group in enumerate(groups):
            below = () if root else (*lasts, place == len(groups) - 1)
            first, last = self.calls[group[0]], self.calls[group[-1]]
            label = _format_label(self._local(first, path), first, last)
            spread = first.path != last.path
            yield _Row(first, last, len(group), label, spread, below)
            yield from self.walk(self.children[group[0]], first.path, below, False)

    def _groups(self, siblings: list[int]) -> Iterator[list[int]]:
        at = 0
        while at < len(siblings):
            end = at + 1
            while end < len(siblings) and self._alike(siblings[end - 1], siblings[end]):
                end += 1
            group = siblings[at:end]
            first, last = self.calls[group[0]], self.calls[group[-1]]
            period, times = self._find_rounds(siblings, at) if end == at + 1 else (1, 1)
            if times >= FOLD_CALLS:
                end = at + period * times
                yield from (
                    siblings[at + place : end : period] for place in range(period)
                )
            elif first.path == last.path and len(group) < FOLD_CALLS:
                yield from ([index] for index in group)
            else:
                yield group
            at = end

    def _find_rounds(self, siblings: list[int], at: int) -> tuple[int, int]:
        """Return how many modules are called in turn from `at` on, and how often."""
        for period in range(2, MOST_IN_TURN + 1):
            times = 1
            while self._is_repeated(siblings, at + (times - 1) * period, period):
                times += 1
            if times >= FOLD_CALLS:
                return period, times
        return 1, 1

    def _is_repeated(self, siblings: list[int], at: int, period: int) -> bool:
        """Return whether the next `period` calls are those of the modules at `at`."""
        if at + 2 * period > len(siblings):
            return False
        for index, after in zip(
            siblings[at : at + period],
            siblings[at + period : at + 2 * period],
            strict=True,
        ):
            if self.kind[index] != self.kind[after]:
                return False
            if self.calls[index].path != self.calls[after].path:
                return False
        return True

    def _alike(self, index: int, other_index: int) -> bool:
        if self.kind[index] != self.kind[other_index]:
            return False
        before, after = self.calls[index], self.calls[other_index]
        if before.path == after.path:
            return after.call == before.call + 1
        return before.call == after.call and _get_successor(before.path) == after.path

    @staticmethod
    def _local(call: ModuleCall, path: str) -> str:
        inside = path and call.path.startswith(f"{path}.")
        return call.path[len(path) + 1 :] if inside else call.path


def _get_successor(path: str) -> str | None:
    """Return ``h.4`` for ``h.3``, or None if the path does not end in a number."""
    stem, _, number = path.rpartition(".")
    if not number.isdecimal():
        return None
    after = str(int(number) + 1)
    return f"{stem}.{after}" if stem else after


def _format_label(local: str, first: ModuleCall, last: ModuleCall) -> str:
    name = local or first.class_name
    if first.method not in ("forward", "call"):
        name = f"{name}.{first.method}()"
    if last.path != first.path:
        name = f"{name} - {last.path.rpartition('.')[2]}"
        return name if first.call == 1 else f"{name} (call {first.call})"
    if last.call != first.call:
        return f"{name} (calls {first.call} - {last.call})"
    return name if first.call == 1 else f"{name} (call {first.call})"


STOPPED = "did not return"
ELSEWHERE = "(in parentheses: tensors that another row counts)"


@dataclass(frozen=True, slots=True)
class ModuleRow:
    """A row of the table as text; `again` marks parameters counted in earlier rows."""

    label: str
    lasts: tuple[bool, ...]
    count: int
    kind: str
    input: str
    output: str
    parameters: str
    flops: str
    allocated: str
    again: bool
    is_spread: bool
    subtotal: Subtotal

    def tree(self, glyphs: Glyphs) -> str:
        """Return the branches before the label, which are empty for the root."""
        if not self.lasts:
            return ""
        bars = ["   " if last else glyphs.bar for last in self.lasts[:-1]]
        return "".join(bars) + (glyphs.last if self.lasts[-1] else glyphs.tee)

    def get_cost(self, key: str) -> int:
        """Return what all calls of the row cost: "params", "flops" or "allocated"."""
        subtotal = self.subtotal
        if key == "params":
            own = self.count if self.is_spread else 1
            return 0 if self.again else subtotal.parameters * own
        cost = subtotal.flops if key == "flops" else subtotal.written
        return cost * self.count


def build_module_rows(
    trace: Trace, totals: Totals, depth: int | None = None, flat: bool = False
) -> list[ModuleRow]:
    """Return the rows in the order of the run, with repeated blocks folded.

    Those down to a `depth`, or all. If `flat`, only the innermost of them, each with
    the names and the repetitions of the modules around it: ``h.0 - 11.mlp``, 12 times.
    """
    stopped = _find_stopped_calls(trace)
    rows = _build_rows(trace, totals)
    if depth is not None:
        rows = [row for row in rows if len(row.lasts) <= depth]
    if flat:
        rows = _flatten(rows)
    return [
        _make_module_row(row, totals.calls[row.first.index], stopped) for row in rows
    ]


def _flatten(rows: list[_Row]) -> list[_Row]:
    """Return the rows that have none below them, with what is around them."""
    around: list[_Row] = []
    innermost = []
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        del around[len(row.lasts) :]
        if row.lasts:
            outer = around[-1]
            inside = len(outer.lasts) > 0
            row = replace(
                row,
                label=f"{outer.label}.{row.label}" if inside else row.label,
                count=row.count * outer.count,
                is_spread=row.is_spread or outer.is_spread,
            )
        around.append(row)
        if after is None or len(after.lasts) <= len(row.lasts):
            innermost.append(replace(row, lasts=()))
    return innermost


def _find_stopped_calls(trace: Trace) -> frozenset[int]:
    """Return the module calls that never returned in a run that ended early."""
    stopped_calls: set[int] = set()
    at = None if trace.complete or not trace.calls else len(trace.calls) - 1
    while at is not None:
        call = trace.calls[at]
        if call.output is None:
            stopped_calls.add(at)
        at = call.parent
    return frozenset(stopped_calls)


def _make_module_row(
    row: _Row, subtotal: Subtotal, stopped: Collection[int]
) -> ModuleRow:
    call = row.first
    again = subtotal.parameters > 0 and (subtotal.elsewhere or call.call > 1)
    broken = call.index in stopped
    dtype = not broken and _get_dtypes(call.inputs) != _get_dtypes(call.output)
    return ModuleRow(
        label=row.label,
        lasts=row.lasts,
        count=row.count,
        kind=_get_class(row),
        input=formatting.format_arguments(call, dtype),
        output=STOPPED if broken else formatting.format_nest(call.output),
        parameters=_format_parameters(row, subtotal, again),
        flops=_format_each(
            row, formatting.format_count(subtotal.flops) if subtotal.flops else ""
        ),
        allocated=_format_each(
            row, formatting.format_nbytes(subtotal.written) if subtotal.written else ""
        ),
        again=again,
        is_spread=row.is_spread,
        subtotal=subtotal,
    )


def _get_class(row: _Row) -> str:
    name = row.first.class_name
    if not row.first.path and row.label == name:
        return ""
    return name if row.count == 1 else f"{name} x {row.count}"


def _get_dtypes(nest: object) -> set[str]:
    return {fact.dtype for fact in collect_leaves(nest)}


def _format_parameters(row: _Row, subtotal: Subtotal, again: bool) -> str:
    text = formatting.format_count(subtotal.parameters) if subtotal.parameters else ""
    if again:
        return f"({text})"
    return _format_each(row, text) if row.is_spread else text


def _format_each(row: _Row, text: str) -> str:
    """Return the value of a single call and their number: ``12 x 7.1 M``."""
    return text if not text or row.count == 1 else f"{row.count} x {text}"


@dataclass(frozen=True, slots=True)
class OpRow:
    """A row of the table as text."""

    index: str
    place: str
    name: str
    call: str
    input: str
    output: str
    stride: str
    kind: str
    flops: str
    read: str
    written: str
    module: str

    def get_cost(self, trace: Trace, key: str) -> int:
        """Return what the op costs: "flops", or the bytes "read" or "written"."""
        op = trace.ops[int(self.index)]
        if key == "flops":
            return op.flops or 0
        return op.bytes_read if key == "read" else op.bytes_written


def build_op_rows(trace: Trace) -> list[OpRow]:
    """Return a row for each op, in the order of the run."""
    ops = tuple(trace.ops)
    several = len({op.span.file for op in ops if op.span is not None}) > 1
    origins = {state.fact.tensor: state.path for state in trace.states}
    wrong = {
        finding.span: f"error[{finding.code}]"
        for finding in trace.findings
        if finding.severity == "error" and finding.span is not None
    }
    rows = []
    for op in ops:
        rows.append(_make_op_row(op, several, origins, wrong))
        if op.kind in ("same", "inplace"):
            continue
        for fact in op.outputs:
            origins[fact.tensor] = f"op {op.index}"
    return rows


def format_line(span: Span | None, file: bool) -> str:
    """Return ``21``, or ``lenet.py:21`` if the run involved several files."""
    if span is None:
        return ""
    base = span.file.replace("\\", "/").rpartition("/")[2]
    return f"{base}:{span.line}" if file else str(span.line)


def _format_call(op: Op) -> str:
    """Return the op as the user wrote it, without the tensors.

    Example: ``Tensor.flatten(start_dim=1)``, ``/ 8.0``, ``[:, 0]``. What torch takes
    by default is left out too.
    """
    if op.name.startswith("["):
        inner = ", ".join(_format_index(value) for _, value in op.arguments)
        return f"[{inner}]{op.name[2:]}"
    if not any(letter.isalpha() for letter in op.name):
        sides = {name: formatting.format_value(value) for name, value in op.arguments}
        if op.function.startswith("torch.Tensor.__r"):  # `1 - x`: the number is first
            sides = {"1": sides.get("0", ""), "0": sides.get("1", "")}
        return " ".join(filter(None, (sides.get("0"), op.name, sides.get("1"))))
    parts = [
        formatting.format_value(value)
        if name.isdecimal()
        else f"{name}={formatting.format_value(value)}"
        for name, value in name_arguments(op.name, op.arguments)
    ]
    return f"{op.name}({', '.join(parts)})" if parts else op.name


def _format_index(value: object) -> str:
    """Return the text between the brackets; a slice is recorded as text."""
    if isinstance(value, tuple):
        return ", ".join(map(_format_index, value))
    return value if isinstance(value, str) else formatting.format_value(value)


def _make_op_row(
    op: Op, several: bool, origins: dict[int, str], wrong: dict[Span, str]
) -> OpRow:
    failed = "" if op.outputs or op.span is None else wrong.get(op.span, "")
    return OpRow(
        index=str(op.index),
        place=format_line(op.span, several),
        name=op.name,
        call=_format_call(op),
        input=formatting.format_shapes(op.inputs),
        output=failed or formatting.format_results(op.outputs),
        stride=formatting.format_strides(op.outputs),
        kind=_get_kind(op, origins),
        flops=formatting.format_count(op.flops) if op.flops else "",
        read=formatting.format_nbytes(op.bytes_read) if op.bytes_read else "",
        written=formatting.format_nbytes(op.bytes_written) if op.bytes_written else "",
        module=op.module if op.call == 1 else f"{op.module} (call {op.call})",
    )


def _get_kind(op: Op, origins: dict[int, str]) -> str:
    """Return the op's effect on memory; for a view, also the op or state it views."""
    if op.kind == "view":
        return f"view of {origins.get(op.view_of or 0, 'input')}"
    return _KINDS.get(op.kind, op.kind)


_KINDS = {"new": "", "inplace": "in place", "same": "input itself"}
