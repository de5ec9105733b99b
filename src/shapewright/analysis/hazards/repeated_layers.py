"""Find `[layer] * n` in a model: n times one layer, where n layers are meant; layers of
one list that a copy of the list holds, too.

Layers are shared on purpose too, so a model whose text says so is left alone, and one
layer under a name must be stacked: each of its calls takes what the last one returned.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.repeated_recurrences import (
    find_repeated_recurrences,
)
from shapewright.analysis.hazards.shared_norms import find_shared_norms
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import REPEATED_LAYER, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import ModuleCall, collect_leaves

SHARED = re.compile(
    r"shar(e|ed|es|ing)\b|\bshared_|_shared|tied\b|\btie|tying|recur|universal|albert|"
    r"unroll|reus|same_?\s?(layer|block|weight|module)",
    re.IGNORECASE,
)
"""Words of programs that share layers on purpose."""


@dataclass(frozen=True, slots=True)
class _Repetition:
    """An expression that holds one object several times; `count` is written there."""

    node: ast.expr
    element: ast.expr
    count: ast.expr | None


@looks_for(REPEATED_LAYER)
def find_repeated_layers(scene: HazardContext) -> Iterator[Finding]:
    """Find layers with weights that a list holds several times."""
    program = scene.program
    owners = {state.path.rpartition(".")[0] for state in program.trace.states
              if not state.buffer}  # fmt: skip
    seen: set[object] = set()
    for path, calls in _iter_repeated_calls(program):
        if not any(own == path or own.startswith(f"{path}.") for own in owners):
            continue
        place = _find_repetition(program, path, calls)
        if place is None:
            continue
        text, repetition = place
        span = text.span(repetition.node)
        if span in seen or _is_meant(text, repetition):
            continue
        seen.add(span)
        name = path.rpartition(".")[0].rpartition(".")[2] or path
        message = (
            f"`{name}` holds one `{calls[0].class_name}` several times, not several"
            f" of them: `{_shorten(text, repetition.node)}` repeats the same object,"
            " so all share its weights"
        )
        related = (
            Related(calls[1].span, f"call {calls[1].call} of `{path}`, with the "
                    "weights of call 1"),
        ) if calls[1].span is not None else ()  # fmt: skip
        yield Finding(REPEATED_LAYER, "warning", message, span, path, related=related)
    yield from _find_copied_lists(program, owners)
    yield from find_repeated_recurrences(scene)
    yield from find_shared_norms(scene)


def _find_copied_lists(program: Program, owners: set[str]) -> Iterator[Finding]:
    """Find copies of lists of layers of which a part is replaced: what is left is
    called in both places with one set of weights.
    """
    copies = list(_iter_copied_lists(program))
    if len(copies) != 1:
        return
    for call in program.trace.calls:
        parent = program.trace.calls[call.parent].path if call.parent else ""
        is_own = not parent or call.path.startswith(f"{parent}.")
        has_weights = any(own.startswith(f"{call.path}.") for own in owners)
        if is_own or not (has_weights or call.path in owners):
            continue
        if not call.path.rpartition(".")[2].isdigit() or call.span is None:
            continue
        text, copied, source = copies[0]
        message = (
            f"`{join_lines(text.written(copied))}` is a new list of the same layers:"
            f" `{call.path}` is called in `{parent}` as well, with one set of weights;"
            f" `copy.deepcopy({text.written(source)})` has its own"
        )
        related = (Related(call.span, "it is called here for the second list"),)
        span = text.span(copied)
        yield Finding(
            REPEATED_LAYER, "warning", message, span, call.path, related=related
        )
        return


def _iter_copied_lists(
    program: Program,
) -> Iterator[tuple[SourceText, ast.expr, ast.expr]]:
    """Yield each shallow copy of a list that gets a name by which an item of it is
    replaced, and the list.
    """
    for text in program.own_texts():
        if SHARED.search(text.text) is not None:
            continue
        for target, value in iter_assignments(text.tree):
            source = _find_copied(value) if value is not None else None
            scope = text.around(target, ast.FunctionDef)
            written = text.written(target)
            is_changed = scope is not None and any(
                isinstance(node, ast.Subscript)
                and isinstance(node.ctx, ast.Store)
                and text.written(node.value) == written
                for node in ast.walk(scope)
            )
            if value is not None and source is not None and is_changed:
                yield text, value, source


def _find_copied(value: ast.expr) -> ast.expr | None:
    """Return the list of which an expression makes another with the same items."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        part = value.slice
        is_whole = part.lower is None and part.upper is None
        return value.value if is_whole else None
    if get_called_name(value) not in ("list", "reversed", "copy"):
        return None
    if not isinstance(value, ast.Call) or value.keywords:
        return None
    if not value.args and isinstance(value.func, ast.Attribute):
        return value.func.value  # `layers.copy()`
    inner = value.args[0] if len(value.args) == 1 else None
    if isinstance(inner, ast.Call):
        return _find_copied(inner)
    return inner if isinstance(inner, ast.Name | ast.Attribute) else None


def _shorten(text: SourceText, node: ast.expr, most: int = 60) -> str:
    """Return an expression on one line, without its middle if it is long."""
    line = join_lines(text.written(node))
    return line if len(line) <= most else f"{line[:40]} ... {line[-15:]}"


def _iter_repeated_calls(program: Program) -> Iterator[tuple[str, list[ModuleCall]]]:
    """Yield members of containers that one call of their parent calls several times."""
    calls: dict[tuple[str, int | None], list[ModuleCall]] = {}
    for call in program.trace.calls:
        if call.path.rpartition(".")[2].isdigit():
            calls.setdefault((call.path, call.parent), []).append(call)
    seen: set[str] = set()
    for (path, _), group in calls.items():
        if len(group) > 1 and path not in seen:
            seen.add(path)
            yield path, group


def _find_repetition(
    program: Program, path: str, calls: list[ModuleCall]
) -> tuple[SourceText, _Repetition] | None:
    """Return the expression that repeats a module, or None if none is written."""
    built = program.built.get(path)
    constructor = program.node(built.span) if built is not None else None
    container = path.rpartition(".")[0].rpartition(".")[2]
    for text in program.own_texts():
        for node in text.nodes:
            for repetition in _iter_repetitions(node):
                element = repetition.element
                if constructor is not None and constructor[1] is element:
                    if _is_several(text, repetition, calls):
                        return text, repetition
                elif isinstance(element, ast.Name | ast.Attribute):
                    named = _is_kept_as(text, repetition.node, container)
                    own = constructor is not None and _is_assigned(
                        text, element, constructor[1]
                    )
                    if (named or own) and _is_stacked(program, calls):
                        return text, repetition
    return None


def _iter_repetitions(node: ast.AST) -> Iterator[_Repetition]:
    """Yield each element of `[element] * n` and `[element for _ in range(n)]`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for held, count in ((node.left, node.right), (node.right, node.left)):
            if isinstance(held, ast.List | ast.Tuple):
                for element in held.elts:
                    yield _Repetition(node, element, count)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) < 2:
        element, generator = node.elt, node.generators[0]
        plain = isinstance(element, ast.Name | ast.Attribute)
        used = collect_names(element) & collect_names(generator.target)
        if plain and not used and get_called_name(generator.iter) == "range":
            call = generator.iter
            assert isinstance(call, ast.Call)
            yield _Repetition(node, element, call.args[-1] if call.args else None)


def _is_kept_as(text: SourceText, node: ast.expr, name: str) -> bool:
    """Return whether a statement assigns what it makes of an expression to a name."""
    statement = text.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(get_last_name(target) == name for target in targets)


def _is_assigned(text: SourceText, element: ast.expr, constructor: ast.AST) -> bool:
    """Return whether a name is assigned a constructor call in the same function."""
    statement = text.parent(constructor)
    return (
        isinstance(statement, ast.Assign)
        and text.written(statement.targets[0]) == text.written(element)
        and text.around(statement, ast.FunctionDef)
        is text.around(element, ast.FunctionDef)
    )


def _is_several(
    text: SourceText, repetition: _Repetition, calls: list[ModuleCall]
) -> bool:
    """Return whether the count is 2 or more, as far as the text says it.

    If it does not, a cell is taken for one layer that runs at each step.
    """
    count = repetition.count
    known = evaluate_whole_number(count) if count is not None else None
    values = [known]
    if known is None and count is not None and get_last_name(count):
        defined = find_defining(text, get_last_name(count))
        values = [evaluate_whole_number(value) for value in defined]
    numbers = [value for value in values if value is not None]
    if numbers:
        return min(numbers) > 1
    return "Cell" not in calls[0].class_name


def _is_stacked(program: Program, calls: list[ModuleCall]) -> bool:
    """Return whether each call takes what comes of the one before, and of nothing that
    each step of a sequence brings.
    """
    if "Cell" in calls[0].class_name:
        return False
    for first, second in pairwise(calls):
        come = {fact.tensor for fact in collect_leaves(first.output)}
        for op in program.trace.ops[first.ops[1] : second.ops[0]]:
            if any(fact.tensor in come for fact in op.inputs):
                come.update(fact.tensor for fact in op.outputs)
        args = collect_leaves(second.inputs[0])[:1]
        if not args or args[0].tensor not in come:
            return False
    return True


def _is_meant(text: SourceText, repetition: _Repetition) -> bool:
    """Return whether the program says that it shares its layers."""
    scope = text.around(repetition.node, ast.ClassDef)
    outer = scope or text.around(repetition.node, ast.FunctionDef)
    written = text.written(outer or text.statement_of(repetition.node))
    return SHARED.search(written) is not None
