"""Results of a model of the program that are taken apart into another number of names
than it returns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_last_name,
    iter_assignments,
    iter_own_nodes,
)
from shapewright.record.ops import Fact, ModuleCall

UNPACKED = re.compile(r"(?:too many|not enough) values to unpack \(expected (\d+)")
Target = ast.Tuple | ast.List


def find_unpacked_results(program: Program, finding: Finding) -> Explanation | None:
    """Return how many values a call returns that a statement takes apart into others,
    or None if they are no results of the program's own code.
    """
    expected = UNPACKED.search(finding.words)
    place = program.node(finding.span)
    if expected is None or place is None:
        return None
    text, node = place
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, Target) or not isinstance(value, ast.Call):
        return None
    if any(isinstance(part, ast.Starred) for part in target.elts):
        return None
    called = _find_called(program, text, value)
    if called is None:
        return None
    where, function, kind = called
    returns = [
        part
        for part in iter_own_nodes(function)
        if isinstance(part, ast.Return) and part.value is not None
    ]
    if len(returns) != 1 or returns[0].value is None:
        return None
    result = returns[0].value
    values = result.elts if isinstance(result, ast.Tuple) else [result]
    if len(values) == len(target.elts):
        return None
    call = _find_module_call(program, text.span(statement))
    count = f"{len(values)} values" if len(values) > 1 else "one value"
    if isinstance(result, ast.Name | ast.Call) and len(values) == 1:
        output = call.output if call is not None else None
        if not isinstance(output, Fact):
            return None  # what it holds is not known
        count = f"one tensor {output}, whose rows are taken apart"
    message = (
        f"`{kind}` returns {count}, and `{join_lines(text.written(target))}` are"
        f" {len(target.elts)} names"
    )
    related = (Related(where.span(returns[0]), "it returns here"),)
    fixes = (
        *_suggest_more_results(where, function, result, values, target),
        *_suggest_other_names(text, statement, target, values),
    )
    return Explanation(message, related, tuple(fixes))


def _find_called(
    program: Program, text: SourceText, call: ast.Call
) -> tuple[SourceText, ast.FunctionDef, str] | None:
    """Return the `forward` of the program's own model that a call runs."""
    module = _find_module_call(program, text.span(call))
    for own in program.own_texts() if module is not None else ():
        assert module is not None
        for _, definition in own.definitions(module.class_name):
            for part in getattr(definition, "body", ()):
                if isinstance(part, ast.FunctionDef) and part.name == "forward":
                    return own, part, module.class_name
    return None


def _find_module_call(program: Program, span: Span) -> ModuleCall | None:
    """Return the outermost call of a module on the lines of a statement."""
    for call in program.trace.calls[::-1]:
        at = call.span
        if at is None or at.file != span.file:
            continue
        if span.line <= at.line <= span.end_line and call.parent is not None:
            parent = program.trace.calls[call.parent]
            if parent.span != at:
                return call
    return None


def _suggest_more_results(
    text: SourceText,
    function: ast.FunctionDef,
    result: ast.expr,
    values: list[ast.expr],
    target: Target,
) -> Iterator[Fix]:
    """Suggest to return what the names say, where the function has values of these
    names: `return self.dec(z), mu, logvar`.
    """
    known = {argument.arg for argument in function.args.args}
    known |= {get_last_name(part) for part, _ in iter_assignments(function)}
    for part, _ in iter_assignments(function):
        known |= {get_last_name(inner) for inner in getattr(part, "elts", ())}
    rest = [get_last_name(part) for part in target.elts[len(values) :]]
    if rest and all(name in known for name in rest):
        new = ", ".join([*map(text.written, values), *rest])
        shown = f"`return {join_lines(new)}`"
        yield Fix("fits", shown, (Edit(text.span(result), new),))


def _suggest_other_names(
    text: SourceText, statement: ast.Assign, target: Target, values: list[ast.expr]
) -> Iterator[Fix]:
    """Suggest as many names as there are results: `_` for those that have none, and no
    name for one that nothing reads.
    """
    names = [text.written(part) for part in target.elts]
    scope = text.around(statement, *FUNCTIONS) or text.tree
    lacking = len(values) - len(names)
    if lacking > 0:
        new = ", ".join([*names, *["_"] * lacking])
    else:
        reads = {
            node.id
            for node in iter_own_nodes(scope)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        if any(name in reads for name in names[len(values) :]):
            return
        new = ", ".join(names[: len(values)])
    span = text.span(target)
    written = f"{new} = {join_lines(text.written(statement.value))}"
    yield Fix("fits", f"`{written}`", (Edit(span, new),))
