"""Find losses that are kept with their graphs, and the statement that keeps them.

The run has seen that the graphs stay alive; the text says by which statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.graph_keepers import (
    find_called_keepers,
    find_hook_keepers,
    find_keepers,
    is_bare,
    is_differentiated,
    is_kept,
    is_storing,
)
from shapewright.analysis.training_mistakes.growth import add_growth
from shapewright.analysis.training_mistakes.kept_statistics import (
    find_kept_statistics,
)
from shapewright.analysis.training_mistakes.returned_keepers import (
    find_returned_keepers,
)
from shapewright.analysis.training_mistakes.shown_samples import find_shown_samples
from shapewright.findings.codes import GRAPH_KEPT, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    LOOPS,
    collect_names,
    get_called_name,
    get_own_attribute,
)
from shapewright.record.report import Observation, Place

PASSES = ("backward", "grad")
MOST_CALLERS = 4
"""Functions around a backward pass that are followed to a loop, one calling another."""


@looks_for(GRAPH_KEPT, misled_by_errors=True)
def find_kept_graphs(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops in which every iteration keeps its graph."""
    seen: set[Place] = set()
    for met in scene.training.met:
        if met.kind != "graph-kept" or met.place in seen:
            continue
        seen.add(met.place)  # an outer loop keeps what an inner one does
        span = scene.span(met.place, *PASSES)
        keeper = _find_keeper(scene, met)
        name = keeper[0] if keeper is not None else ""
        kept = keeper[1].span(keeper[2]) if keeper is not None else span
        words = f"`{name}`" if name else "the result of an iteration"
        finding = build_finding(
            GRAPH_KEPT,
            f"{words} is kept with its graph: the memory of each step is held until "
            "the loop ends",
            kept,
            (span, "its graph is built for this backward pass"),
            (kept, f"`{name}.item()` or `{name}.detach()` keeps only the value"),
        )
        yield add_growth(scene, finding, met.other)
    growing = [*_find_listed(scene), *_find_growing(scene, seen)]
    yield from growing
    for name, text, statement in find_hook_keepers(scene) if not seen else ():
        yield build_finding(
            GRAPH_KEPT,
            f"`{name}` is kept with its graph by this hook: the memory of each step is"
            " held until the training ends",
            text.span(statement),
            (text.span(statement), f"`{name}.detach()` keeps the values only"),
        )
    if not seen and not growing:  # the same sum is told once
        yield from find_kept_statistics(scene)
        yield from find_shown_samples(scene)


def _find_listed(scene: RehearsalContext) -> Iterator[Finding]:
    """Find lists that get a tensor with its graph at each step of an optimizer, and are
    no part of a loss.
    """
    reported = {seen.other for seen in scene.observations("graph-kept")}
    for met in scene.observations("graphs-listed"):
        if met.place not in reported:
            findings = [*_find_returned(scene, met.place)]
            yield from (findings or _find_listed_in(scene, met.place))[:1]


def _find_listed_in(scene: RehearsalContext, loop: Place) -> list[Finding]:
    """Find what a loop, or a function that it calls, appends to a list with its graph,
    the first of all.
    """
    needed = {
        inner
        for _, text, inner, stored in find_returned_keepers(scene.program, loop)
        if is_differentiated(text, stored)
    }
    keepers = find_keepers(scene.program, loop), find_called_keepers(scene, loop)
    for name, text, statement in (keeper for kind in keepers for keeper in kind):
        call = statement.value if isinstance(statement, ast.Expr) else None
        stored = isinstance(call, ast.Call) and is_storing(call)
        if not stored or is_differentiated(text, statement) or statement in needed:
            continue
        return [_report_keeper(scene, loop, name, text.span(statement))]
    return []


def _find_returned(scene: RehearsalContext, loop: Place) -> Iterator[Finding]:
    """Find what a function keeps with its graph in what it returns to a loop that
    stores it.
    """
    for name, text, kept, stored in find_returned_keepers(scene.program, loop):
        if is_differentiated(text, stored):
            continue
        yield build_finding(
            GRAPH_KEPT,
            f"`{name}` is kept with its graph in what is returned, so that what each"
            " turn of the loop computes is held until the loop ends",
            text.span(kept),
            (text.span(stored), "the loop stores it here"),
            (text.span(kept), f"`{name}.detach()` keeps the values only"),
        )


def _report_keeper(
    scene: RehearsalContext, loop: Place, name: str, span: Span
) -> Finding:
    finding = build_finding(
        GRAPH_KEPT,
        f"`{name}` is kept with its graph, so that what each turn of the loop computes"
        " is held until the loop ends",
        span,
        (scene.span(loop), "this loop"),
        (span, f"`{name}.detach()` keeps the values only"),
    )
    return add_growth(scene, finding, loop)


def _find_growing(scene: RehearsalContext, seen: set[Place]) -> Iterator[Finding]:
    """Find loops that fill a device with activations, by what keeps these."""
    memory = scene.rehearsal.memory
    met = {loop for seen in scene.observations("graph-kept") for loop in [seen.other]}
    for growth in memory.growth if memory is not None else ():
        loop = growth.file, growth.line
        is_full = growth.full_at is not None or growth.full_from is not None
        if loop in met or not is_full:
            continue
        for name, text, statement in find_keepers(scene.program, loop):
            if is_differentiated(text, statement):
                continue
            yield _report_keeper(scene, loop, name, text.span(statement))
            break


def _find_keeper(
    scene: RehearsalContext, met: Observation
) -> tuple[str, SourceText, ast.stmt] | None:
    """Return what is kept, and the text and statement that keep it.

    The pass may stand in the loop, or in a function that the loop calls.
    """
    text = scene.program.text(met.place[0])
    passes = [
        node
        for node in (text.near(met.place[1]) if text is not None else ())
        if isinstance(node, ast.Call) and get_called_name(node) in PASSES
    ]
    if text is None or not passes:
        return None
    around = scene.program.text(met.other[0]) if met.other is not None else None
    line = met.other[1] if met.other is not None else 0
    loops = [loop for loop in (around.near(line) if around is not None else ())
             if isinstance(loop, LOOPS)]  # fmt: skip
    loop = text.around(passes[0], *LOOPS) or text.around(passes[0], ast.FunctionDef)
    names = _list_differentiated(passes[0])
    for where, scope in (
        (text, loop),
        *((around, around_loop) for around_loop in loops),
    ):
        inside = where is text and scope is not None and _is_within(scope, passes[0])
        for name in reversed(names) if inside else ():
            for node in ast.walk(scope) if scope is not None else ():
                if isinstance(node, ast.stmt) and is_kept(node, name):
                    value = node.value if isinstance(node, ast.AugAssign) else None
                    if isinstance(value, ast.Attribute):
                        name = text.written(value)  # `total += output.loss`
                    return name, text, node
    for scope in loops:
        if around is not None:
            keeper = _find_kept_result(scope, _list_callers(text, passes[0]), around)
            if keeper is not None:
                return keeper[0], around, keeper[1]
    returned = _find_stored_result(text, passes[0])
    if returned is not None:
        return returned
    if not names or _is_result_of_call(passes[0]):
        return None
    return names[-1], text, text.statement_of(passes[0])


def _find_stored_result(
    text: SourceText, node: ast.Call
) -> tuple[str, SourceText, ast.stmt] | None:
    """Return what a function stores and returns, where a backward pass begins with its
    result: `self.records.append(record)` in front of `return record`.
    """
    called = {get_called_name(call) for call in ast.walk(node)}
    functions = [node for node in text.nodes if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for statement in ast.walk(function) if function.name in called else ():
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call) or not is_storing(call):
                continue
            stored = {part.id for part in call.args if isinstance(part, ast.Name)}
            for part in ast.walk(function):
                value = part.value if isinstance(part, ast.Return) else None
                if isinstance(value, ast.Name) and value.id in stored:
                    assert isinstance(statement, ast.stmt)
                    return value.id, text, statement
    return None


def _is_result_of_call(node: ast.Call) -> bool:
    """Return whether a backward pass begins with what a method returns, which has no
    name: `model.step(batch).backward()`.
    """
    start: ast.AST | None = node.func
    while isinstance(start, ast.Attribute | ast.Subscript):
        start = start.value
    return isinstance(start, ast.Call) and isinstance(start.func, ast.Attribute)


def _list_differentiated(node: ast.Call) -> list[str]:
    """Return the names of what a backward pass begins with, `self.loss` for an
    attribute of the object.
    """
    func = node.func
    method = isinstance(func, ast.Attribute) and func.attr == "backward"
    start: ast.AST | None = func if method else next(iter(node.args), None)
    inside = [*ast.walk(start)] if start is not None else []
    attributes = [
        node
        for node in inside
        if isinstance(node, ast.Attribute) and get_own_attribute(node)
    ]
    covered = {id(inner) for node in attributes for inner in ast.walk(node)}
    names = [
        node.id
        for node in inside
        if isinstance(node, ast.Name) and id(node) not in covered
    ]
    return names + [ast.unparse(node) for node in attributes]


def _is_within(scope: ast.AST, node: ast.AST) -> bool:
    return any(child is node for child in ast.walk(scope))


def _list_callers(text: SourceText, node: ast.AST) -> set[str]:
    """Return the names of the functions that contain a node, and of their callers."""
    names: set[str] = set()
    waiting = [node]
    for _ in range(MOST_CALLERS):
        around = text.around(waiting.pop(0), ast.FunctionDef) if waiting else None
        if around is None or around.name in names:
            continue
        names.add(around.name)
        waiting += [
            call
            for call in text.nodes
            if isinstance(call, ast.Call) and get_called_name(call) == around.name
        ]
    return names


def _find_kept_result(
    loop: ast.AST, functions: set[str], text: SourceText
) -> tuple[str, ast.stmt] | None:
    """Return what a loop keeps of the results of some functions, and the statement."""
    results: set[str] = set()
    for node in ast.walk(loop):
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and get_called_name(node.value) in functions:
            results |= {name for target in node.targets
                        for name in collect_names(target, ast.Store)}  # fmt: skip
        elif value is not None and isinstance(node, ast.Assign):
            for name in results & collect_names(value):
                if is_bare(value, name) and isinstance(node.targets[0], ast.Name):
                    results = results | {node.targets[0].id}
                    break
    for node in ast.walk(loop):
        if not isinstance(node, ast.stmt):
            continue
        for name in sorted(results):
            if is_kept(node, name):
                return name, node
        call = node.value if isinstance(node, ast.Expr) else None
        stored = call.args if isinstance(call, ast.Call) and is_storing(call) else []
        for argument in stored:
            if get_called_name(argument) in functions:
                return text.written(argument), node
    return None
