"""Find the lines that may hold the mistake behind a failure, and the names and sizes in
scope there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.explanations import find_sides, iter_both_sides
from shapewright.analysis.fixes.sibling_names import find_sibling_names
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.provenance.origins import iter_arguments
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span, is_installed
from shapewright.program.syntax_nodes import FUNCTIONS, get_last_name, iter_own_nodes
from shapewright.record.ops import Fact, ModuleCall, Op, collect_leaves

Line = tuple[str, int]
Kind = TypeVar("Kind", bound=ast.expr)


NEAREST = 20
"""Ops before a failure that are looked at."""


def find_suspects(program: Program, failure: Failure) -> list[Line]:
    """Return the failing line, the lines named in its explanation, and those behind
    them.

    Behind them stand the calls that made what came in, the nearest first, the layers
    that did, where those are built, and what their names stand for.
    """
    op = program.trace.ops[failure.op]
    spans: list[Span | None] = [op.span]
    spans += [side.span for side in iter_both_sides(program, failure)]
    layer = program.layer(op)
    if layer is not None:
        spans += _iter_built_spans(program, layer.path)
    _, got = find_sides(failure)
    for at, fact in enumerate(op.inputs):
        dims = [got[1]] if got is not None and got[0] == at else range(len(fact.shape))
        for dim in dims:
            steps = trace_dim(program, fact, dim)
            for origin in [*(step.op for step in steps.steps[:6]), steps.op]:
                if origin is not None:
                    spans += _iter_spans(program, origin)
    for origin in _iter_lineage(program, op):
        spans += _iter_spans(program, origin)
    spans += [_cut_to_header(program, frame.span) for frame in reversed(op.frames)]
    lines = dict.fromkeys(line for span in spans for line in _iter_lines(span))
    for text, node in iter_definitions(program, list(lines)):
        if not isinstance(node, ast.Constant):
            lines.setdefault((text.file, node.lineno))
    return _leave_out_libraries(lines)


def _cut_to_header(program: Program, span: Span) -> Span:
    """Return the span of a statement without its block: the `for` alone of a loop."""
    text_and_node = program.node(span)
    body = (
        getattr(text_and_node[1], "body", None) if text_and_node is not None else None
    )
    if not isinstance(body, list) or not body or body[0].lineno <= span.line:
        return span
    return replace(span, end_line=body[0].lineno - 1)


def _leave_out_libraries(lines: Iterable[Line]) -> list[Line]:
    """Return the lines without those of installed libraries, which nobody edits."""
    return [line for line in lines if not is_installed(line[0])]


def find_error_suspects(program: Program, span: Span | None) -> list[Line]:
    """Return the line of an error in the program itself, and the lines that define its
    names.
    """
    lines = dict.fromkeys(_iter_lines(span))
    for _ in range(2):
        for text, node in iter_definitions(program, list(lines)):
            lines.setdefault((text.file, node.lineno))
    return _leave_out_libraries(lines)


def _iter_lineage(program: Program, op: Op) -> Iterator[Op]:
    """Yield the ops that produced an op's inputs, the nearest first."""
    seen: set[int] = set()
    queue = [fact.tensor for fact in op.inputs]
    for _ in range(NEAREST):
        maker = None
        while queue and maker is None:
            tensor = queue.pop(0)
            maker = program.producers.get(tensor) if tensor not in seen else None
            seen.add(tensor)
        if maker is None:
            return
        yield maker
        queue += [fact.tensor for fact in maker.inputs]


def _iter_spans(program: Program, op: Op) -> Iterator[Span | None]:
    """Yield the span of an op, then the spans at which its layer is constructed."""
    yield op.span
    layer = program.layer(op)
    if layer is not None:
        yield from _iter_built_spans(program, layer.path)


def _iter_built_spans(program: Program, path: str) -> Iterator[Span]:
    """Yield the span where a module is constructed, then those of the modules that
    contain it.
    """
    while path:
        if path in program.built:
            yield program.built[path].span
        path = path.rpartition(".")[0]


def _iter_lines(span: Span | None) -> Iterator[Line]:
    """Yield every line of a span."""
    if span is not None:
        for number in range(span.line, span.end_line + 1):
            yield span.file, number


def iter_nodes_on(
    program: Program, lines: list[Line], *kinds: type[Kind]
) -> Iterator[tuple[SourceText, Kind]]:
    """Yield the expressions of these types that begin on these lines, in order."""
    for file, number in lines:
        text = program.text(file)
        for node in text.near(number) if text is not None else ():
            if text is not None and isinstance(node, kinds):
                yield text, node


def iter_definitions(
    program: Program, lines: list[Line]
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the definitions from which the names on these lines get their numbers:
    defaults, constants, calls.

    A parameter's default, a constant of the module, the argument that the class is
    built with.
    """
    seen: set[tuple[str, str]] = set()
    lines = _leave_out_libraries(lines)
    for text, node in iter_nodes_on(program, lines, ast.Name, ast.Attribute):
        name = get_last_name(node)
        if (text.file, name) in seen or text.tree is None:
            continue
        seen.add((text.file, name))
        for value in find_defining(text, name):
            yield text, value


def write_size(
    program: Program, failure: Failure, text: SourceText, node: ast.expr, size: int
) -> str:
    """Write a size as that of a tensor in scope, such as `x.size(1)`, or else as a
    number.
    """
    op = program.trace.ops[failure.op]
    if size > 1:
        for name, fact in iter_named_facts(program, op, text, node).items():
            dims = [
                dim for dim, other_size in enumerate(fact.shape) if other_size == size
            ]
            if len(dims) == 1 and [*fact.shape].count(size) == 1:
                return f"{name}.size({dims[0]})"
    return str(size)


def iter_named_facts(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> dict[str, Fact]:
    """Return the tensors that names in the function around a node refer to at its
    line.
    """
    named_facts = _collect_passed_facts(program, op, text, node)
    scope = text.around(node, *FUNCTIONS) or text.tree
    if scope is None or (isinstance(scope, ast.Module) and op.module):
        return named_facts
    call, layer = program.call_of(op), program.layer(op)
    if layer is not None and layer.parent is not None:
        call = program.trace.calls[layer.parent]
    module = call.path if call is not None else op.module
    if call is not None and isinstance(scope, ast.FunctionDef):
        args, kwargs = call.inputs
        names = [argument.arg for argument in scope.args.args]
        if names[:1] == ["self"]:
            names = names[1:]
        if scope.name == call.method:
            for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
                if isinstance(value, Fact):
                    named_facts[name] = value
    makers = {}
    for before in program.trace.ops[: op.index]:
        if before.span is not None and before.outputs and before.module == module:
            makers[before.span] = before
    for statement in iter_own_nodes(scope):
        if not isinstance(statement, ast.Assign) or statement.lineno >= node.lineno:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Tuple):
            made_by = _find_module_call(program, op, text, statement.value)
            output = made_by.output if made_by is not None else None
            if isinstance(output, tuple | list) and len(output) == len(target.elts):
                for element, value in zip(target.elts, output, strict=True):
                    if isinstance(element, ast.Name) and isinstance(value, Fact):
                        named_facts[element.id] = value
        if isinstance(target, ast.Name):
            maker = makers.get(text.span(statement.value))
            if maker is not None:
                named_facts[target.id] = maker.outputs[0]
            else:
                fact = _find_call_result(program, op, text, statement.value)
                if fact is not None:
                    named_facts[target.id] = fact
    return named_facts


def _collect_passed_facts(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> dict[str, Fact]:
    """Return the tensors of names that a call below a node passes on to the module in
    which an op runs, if nothing between the two sets them anew: `x` of
    `model(x, hidden)`.
    """
    scope = text.around(node, *FUNCTIONS) or text.tree
    passed: dict[str, Fact] = {}
    call = program.call_of(op)
    while call is not None and scope is not None:
        place = program.call_at(call.span)
        if place is not None and place[0] is text and node.lineno < place[1].lineno:
            around = text.around(place[1], *FUNCTIONS) or text.tree
            values = zip(place[1].args, call.inputs[0], strict=False)
            for argument, value in values if around is scope else ():
                if isinstance(argument, ast.Name) and isinstance(value, Fact):
                    lines = _collect_setting_lines(scope, argument.id)
                    if not lines & {*range(node.lineno, place[1].lineno + 1)}:
                        passed[argument.id] = value
        call = program.trace.calls[call.parent] if call.parent is not None else None
    return passed


def _collect_setting_lines(scope: ast.AST, name: str) -> set[int]:
    """Return the lines of a function, or of a file, on which a name is set."""
    return {
        part.lineno
        for part in ast.walk(scope)
        if isinstance(part, ast.Name)
        and part.id == name
        and isinstance(part.ctx, ast.Store)
    }


def _find_call_result(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> Fact | None:
    """Return the only tensor that the module call at an expression returned, or
    None.
    """
    call = _find_module_call(program, op, text, node)
    facts = collect_leaves(call.output) if call is not None else []
    return facts[0] if len(facts) == 1 else None


def _find_module_call(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> ModuleCall | None:
    """Return the module call that an expression made before an op."""
    span = text.span(node)
    for call in program.trace.calls:
        if call.span == span and call.ops[0] <= op.index:
            return call
    return None


def iter_other_operands(
    program: Program, failure: Failure, at: int
) -> tuple[ast.expr, str, Fact] | None:
    """Return another input of the failing call that is a plain name, or None."""
    op = program.trace.ops[failure.op]
    for n, expression in enumerate(find_tensor_expressions(program, op)):
        if n != at and expression is not None and isinstance(expression[0], ast.Name):
            return expression[0], expression[1], op.inputs[n]
    return None


def iter_names_for(text: SourceText, node: ast.expr, value: int) -> Iterator[str]:
    """Yield the names in scope that refer to a number according to the text.

    `cfg.width` for `cfg.n_head`, `hidden` for `n_in`.
    """
    if isinstance(node, ast.Attribute):
        base = text.written(node.value)
        for attribute in text.nodes:
            if not isinstance(attribute, ast.Attribute) or attribute.attr == node.attr:
                continue
            if text.written(attribute.value) == base and _is_constant_name(
                text, attribute.attr, value
            ):
                yield f"{base}.{attribute.attr}"
    yield from find_sibling_names(text, node, value)
    scope = text.around(node, *FUNCTIONS)
    if isinstance(node, ast.Name) and isinstance(scope, ast.FunctionDef):
        own = [
            parameter.arg for parameter in (*scope.args.args, *scope.args.kwonlyargs)
        ]
        of_input = OF_INPUT.search(node.id) is not None
        for name in own:
            if of_input and OF_OUTPUT.search(name):
                continue
            if name not in (node.id, "self") and _is_constant_name(text, name, value):
                yield name


OF_INPUT = re.compile(r"(^|_)(in|inp|input|channels?|colou?rs)(_|$)", re.I)
OF_OUTPUT = re.compile(r"class|label|action|(^|_)(out|outputs?|targets?)(_|$)", re.I)
"""How sizes of what comes in, and of what goes out, are called."""


def _is_constant_name(text: SourceText, name: str, value: int) -> bool:
    """Return whether a name has this value wherever its value is known."""
    known = [
        evaluate_whole_number(definition) for definition in find_defining(text, name)
    ]
    return value in known and all(number in (None, value) for number in known)


def find_other_item(
    program: Program, text: SourceText, node: ast.expr, size: int
) -> str:
    """Return `sizes[2]` for `sizes[1]`, if a layer built in the same function was given
    it and it has the size; else an empty text.
    """
    if not isinstance(node, ast.Subscript):
        return ""
    scope, base = text.around(node, *FUNCTIONS), text.written(node.value)
    for path, built in program.built.items():
        if built.span.file != text.file:
            continue
        for name, argument, value in iter_arguments(program, path):
            if not isinstance(argument, ast.Subscript):
                continue
            if text.written(argument.value) != base:
                continue
            known = value if value is not None else _read_inside(program, path, name)
            if known == size and text.around(argument, *FUNCTIONS) is scope:
                return text.written(argument)
    return ""


def _read_inside(program: Program, module: str, name: str) -> object:
    """Return the value that a module's parameter hands on to one of its layers."""
    for path in program.built:
        if path.startswith(f"{module}."):
            for _, argument, value in iter_arguments(program, path):
                if isinstance(argument, ast.Name) and argument.id == name:
                    return value
    return None
