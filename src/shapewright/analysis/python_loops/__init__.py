"""The finding `python-loop`: a loop over elements, and vectorised code that replaces
it.

The text shows what the loop does, the record on which tensors; a replacement is built
from both and tried before it is suggested.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from shapewright.analysis.python_loops.loop_context import (
    Recorded,
    find_fresh_kind,
    find_value_before,
    iter_nests_around,
)
from shapewright.analysis.python_loops.loop_nests import (
    LoopLetter,
    Nest,
    Unread,
    get_base,
)
from shapewright.analysis.python_loops.replacements import (
    Case,
    Experiment,
    Proposal,
    iter_proposals,
    quote_statement,
)
from shapewright.analysis.python_loops.vectorization import LetterRange
from shapewright.findings.codes import PYTHON_LOOP, list_lookers, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_dotted_name, parse_expression
from shapewright.record.ops import Op
from shapewright.record.trace import Trace

AT_LEAST = 8
"""Rounds of a loop from which on it is worth a note; see `engine/event_record.py`."""

Tried = Callable[[Experiment], bool]


@dataclass(frozen=True, slots=True)
class _LoopSearch:
    """A trace, a function that tries a replacement, and the expressions to examine, if
    known.
    """

    trace: Trace
    tried: Tried
    places: Sequence[Span] | None


def find_python_loops(
    trace: Trace, tried: Tried, places: Sequence[Span] | None = None
) -> tuple[Finding, ...]:
    """Return a note for every loop of the program that runs over single elements.

    `places` are expressions that took one element or row after the other; without them
    the ops of the trace are searched. `tried` runs an `Experiment` and says whether
    both of its programs give the same.
    """
    search = _LoopSearch(trace, tried, places)
    return tuple(
        finding for looker in list_lookers("loop") for finding in looker.find(search)
    )


@looks_for(PYTHON_LOOP)
def find_element_loops(search: _LoopSearch) -> Iterator[Finding]:
    """Find loops over single elements that one expression can replace."""
    trace, tried, places = search.trace, search.tried, search.places
    suspects = _find_stepping(trace.ops) if places is None else places
    seen: set[tuple[str, int, int]] = set()
    ops_by_span: dict[Span, list[Op]] = {}
    for span in suspects:
        source = trace.sources.get(span.file)
        if source is None or not source.text:
            continue
        text = SourceText(span.file, source.text)
        node = text.exact_node(span)
        if not isinstance(node, ast.expr):
            continue
        for nest in iter_nests_around(text, node):
            root = (span.file, nest.root.lineno, nest.root.col_offset)
            if root in seen:
                break
            seen.add(root)
            ops_by_span = ops_by_span or _group_ops(trace.ops)
            finding = _report_loop(text, nest, Recorded(text, ops_by_span), tried)
            if finding is not None:
                yield finding
                break


def _find_stepping(ops: Iterable[Op]) -> list[Span]:
    """Return the expressions whose ops accessed many elements or rows, one by one."""
    reached: dict[Span, set[Any]] = {}
    for op in ops:
        if op.span is None:
            continue
        if op.name.endswith("unbind") and len(op.outputs) >= AT_LEAST:
            reached.setdefault(op.span, set()).update(range(len(op.outputs)))
        if op.name.startswith("[]"):
            index = dict(op.arguments).get("1")
            items = index if isinstance(index, tuple) else (index,)
            where = tuple((n, i) for n, i in enumerate(items) if type(i) is int)
            if where:
                reached.setdefault(op.span, set()).add(where)
    return [span for span, where in reached.items() if len(where) >= AT_LEAST]


def _group_ops(ops: Iterable[Op]) -> dict[Span, list[Op]]:
    """Group the ops by the expression that called them."""
    groups: dict[Span, list[Op]] = {}
    for op in ops:
        if op.span is not None:
            groups.setdefault(op.span, []).append(op)
    return groups


def _report_loop(
    text: SourceText, nest: Nest, recorded: Recorded, tried: Tried
) -> Finding | None:
    """Return the note on a loop, or None if no vectorised code can replace the loop."""
    try:
        recorded.learn(nest.root, [loop.letter for loop in nest.loops])
        ranges: dict[str, LetterRange] = {}
        for loop in nest.loops:
            ranges[loop.letter] = _find_range(loop, recorded, ranges)
        case = Case(text, nest, recorded, ranges)
        rounds = max(
            prod(ranges[x].stop - ranges[x].start for x in step.letters)
            for step in nest.steps
        )
        rounds = min(rounds, max(_count_rounds(s.node, recorded) for s in nest.steps))
        if rounds < AT_LEAST or _has_aliases(nest, recorded):
            return None
        for step in nest.steps:
            name = get_base(step.target)
            if len({fact.device for fact in recorded.facts.values()}) == 1:
                case.fresh[name] = find_fresh_kind(text, nest, name)
            first = find_value_before(text, nest, name)
            if isinstance(first, ast.Constant) and type(first.value) in (int, float):
                case.numbers[name] = first.value
                recorded.facts.pop(name, None)
                if first.value == 0:
                    case.fresh[name] = "zeros"
        chosen = next(
            (
                proposal
                for proposal in iter_proposals(case)
                if tried(proposal.experiment)
            ),
            None,
        )
    except Unread:
        return None
    if chosen is None:
        return None
    return _build_finding(text, nest, recorded, chosen)


def _find_range(
    loop: LoopLetter, recorded: Recorded, outer: dict[str, LetterRange]
) -> LetterRange:
    """Return the range of the values of a loop variable, as recorded."""
    if loop.range is None:
        assert loop.header is not None
        ops = recorded.at(loop.header)
        if loop.comprehension is not None:  # where Python has the loop begin
            ops = [*ops, *recorded.at(loop.comprehension)]
        unbound = [op for op in ops if op.name.endswith("unbind")]
        lengths = [len(op.outputs) for op in unbound]
        if not lengths:
            raise Unread
        recorded.tell(loop.header, unbound[0].inputs[0])
        over = parse_expression(loop.tensor)
        end = ast.Call(ast.Name("len", ast.Load()), [over], [])
        return LetterRange(0, min(lengths), end)
    args = loop.range.args
    if not 1 <= len(args) <= 2:
        raise Unread
    if loop.triangular:
        return _find_observed_range(loop, recorded, outer)
    first = args[0] if len(args) == 2 else ast.Constant(0)
    if not isinstance(first, ast.Constant) or type(first.value) is not int:
        raise Unread
    start, last = first.value, args[-1]
    seen = recorded.seen.get(loop.letter)
    if isinstance(last, ast.Constant) and type(last.value) is int:
        stop = last.value
    elif seen:
        stop = max(seen) + 1
    else:
        stop = _get_recorded_size(last, recorded)
    if start < 0 or (seen and (min(seen), max(seen)) != (start, stop - 1)):
        raise Unread
    if seen and len(seen) != stop - start:
        raise Unread
    return LetterRange(start, stop, last)


def _find_observed_range(
    loop: LoopLetter, recorded: Recorded, outer: dict[str, LetterRange]
) -> LetterRange:
    """Return the range of all values that a loop variable took, for ends that depend on
    other variables.
    """
    seen = recorded.seen.get(loop.letter, set())
    if not seen or len(seen) != max(seen) + 1 - min(seen):
        raise Unread
    stop = max(seen) + 1
    ends = [known.end for known in outer.values() if known.stop == stop]
    return LetterRange(min(seen), stop, ends[0] if ends else ast.Constant(stop))


def _get_recorded_size(node: ast.expr, recorded: Recorded) -> int:
    """Return the recorded value of `len(x)`, `x.shape[0]` or `x.size(0)`."""
    try:
        if isinstance(node, ast.Call) and get_dotted_name(node.func) == "len":
            return recorded.facts[get_dotted_name(node.args[0])].shape[0]
        held: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            held, name, where = node.func.value, node.func.attr, node.args[0]
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            held, name, where = node.value.value, node.value.attr, node.slice
        if held is not None and name in ("size", "shape"):
            dim = evaluate_whole_number(where, SIGNED)
            return recorded.facts[get_dotted_name(held)].shape[dim]  # type: ignore[index]
    except (LookupError, ValueError, TypeError):
        pass
    raise Unread


def _has_aliases(nest: Nest, recorded: Recorded) -> bool:
    """Return whether a tensor that is written shares its storage with a tensor that is
    read.
    """
    targets = {get_base(step.target) for step in nest.steps}
    written = {f.storage for name, f in recorded.facts.items() if name in targets}
    read = {f.storage for name, f in recorded.facts.items() if name not in targets}
    return bool(written & read - {0})


# -- words -----------------------------------------------------------------------------


def _build_finding(
    text: SourceText, nest: Nest, recorded: Recorded, chosen: Proposal
) -> Finding:
    """Write the finding for a loop and its replacement."""
    heart = nest.heart or nest.steps[0].node
    count = _count_rounds(heart, recorded)
    message = (
        f"`{quote_statement(heart)}` ran {count:,} times: `{chosen.text}`{chosen.place}"
        f" does it at once{chosen.condition}, checked on random elements"
    )
    place, root = text.span(heart), text.span(nest.root)
    related: tuple[Related, ...] = ()
    if root.line != place.line:
        end = len(text.lines[root.line - 1]) + 1
        header = replace(root, end_line=root.line, end_column=end)
        related = (Related(header, "the loop begins"),)
    ops = [op for node in ast.walk(heart) for op in recorded.at(node)]
    module = ops[0].module if ops else ""
    return Finding(
        PYTHON_LOOP, "note", message, place, module,
        related=related, count=count,
    )  # fmt: skip


def _count_rounds(stmt: ast.AST, recorded: Recorded) -> int:
    """Return how often a statement ran during the whole run."""
    most = 1
    for node in ast.walk(stmt):
        counted = Counter(op.name for op in recorded.at(node))
        most = max([most, *counted.values()])
    return most
