"""The lines on which the mistake behind a failure may sit, and the names and sizes that
such a line can see.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.causes import way
from shapewright.analysis.explanations import both_sides, sides
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import tensor_expressions
from shapewright.analysis.provenance.origins import known_value
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, defining
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, ModuleCall, Op, leaves

Line = tuple[str, int]


NEAREST = 20
"""Ops before a failure that are looked at."""


def suspects(program: Program, failure: Failure) -> list[Line]:
    """The failing line, the lines that its explanation names, and those behind them.

    Behind them stand the calls that made what came in, the nearest first, the layers
    that did, where those are built, and what their names stand for.
    """
    op = program.trace.ops[failure.op]
    spans: list[Span | None] = [op.span]
    spans += [each.span for each in both_sides(program, failure)]
    layer = program.layer(op)
    if layer is not None:
        spans += _built_spans(program, layer.path)
    _, got = sides(failure)
    for at, fact in enumerate(op.inputs):
        dims = [got[1]] if got is not None and got[0] == at else range(len(fact.shape))
        for dim in dims:
            steps = way(program, fact, dim)
            for each in [*(step.op for step in steps.steps[:6]), steps.op]:
                if each is not None:
                    spans += _spans_of(program, each)
    for each in _lineage(program, op):
        spans += _spans_of(program, each)
    for frame in reversed(op.frames):
        spans.append(frame.span)
    found = dict.fromkeys(line for span in spans for line in _lines_of(span))
    for text, node in definitions(program, list(found)):
        if not isinstance(node, ast.Constant):
            found.setdefault((text.file, node.lineno))
    return list(found)


def suspects_of_error(program: Program, span: Span | None) -> list[Line]:
    """The line of an error of the program itself, and what its names stand for."""
    found = dict.fromkeys(_lines_of(span))
    for _ in range(2):
        for text, node in definitions(program, list(found)):
            found.setdefault((text.file, node.lineno))
    return list(found)


def _lineage(program: Program, op: Op) -> Iterator[Op]:
    """The ops that made what an op was given, the nearest first."""
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


def _spans_of(program: Program, op: Op) -> Iterator[Span | None]:
    """Where an op stands, and where the layer that made it is built."""
    yield op.span
    layer = program.layer(op)
    if layer is not None:
        yield from _built_spans(program, layer.path)


def _built_spans(program: Program, path: str) -> Iterator[Span]:
    """Where a module is built, and each that holds it."""
    while path:
        if path in program.built:
            yield program.built[path].span
        path = path.rpartition(".")[0]


def _lines_of(span: Span | None) -> Iterator[Line]:
    """Every line of a span."""
    if span is not None:
        for number in range(span.line, span.end_line + 1):
            yield span.file, number


def nodes_on(
    program: Program, lines: list[Line], *kinds: type[ast.AST]
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Expressions of these kinds that begin on these lines, in the lines' order."""
    for file, number in lines:
        text = program.text(file)
        for node in text.near(number) if text is not None else ():
            wanted = isinstance(node, kinds) and isinstance(node, ast.expr)
            if text is not None and wanted:
                yield text, node  # type: ignore[misc]


def definitions(
    program: Program, lines: list[Line]
) -> Iterator[tuple[SourceText, ast.expr]]:
    """What gives the names on these lines their numbers: defaults, constants, calls.

    A parameter's default, a constant of the module, the argument that the class is
    built with.
    """
    seen: set[tuple[str, str]] = set()
    for text, node in nodes_on(program, lines, ast.Name, ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        if (text.file, name) in seen or text.tree is None:
            continue
        seen.add((text.file, name))
        for value in defining(text, name):
            yield text, value


SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def size_in_words(
    program: Program, failure: Failure, text: SourceText, node: ast.expr, size: int
) -> str:
    """A size as a tensor in sight has it, `x.size(1)`, else the number."""
    op = program.trace.ops[failure.op]
    if size > 1:
        for name, fact in named_facts(program, op, text, node).items():
            dims = [dim for dim, each in enumerate(fact.shape) if each == size]
            if len(dims) == 1 and [*fact.shape].count(size) == 1:
                return f"{name}.size({dims[0]})"
    return str(size)


def function_around(text: SourceText, node: ast.AST) -> ast.AST | None:
    """The function in which a node stands."""
    return text.around(node, *SCOPES)


def named_facts(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> dict[str, Fact]:
    """The tensors that names of the function around a node stand for at its line."""
    scope = function_around(text, node)
    if scope is None:
        return {}
    found: dict[str, Fact] = {}
    call = program.call_of(op)
    if call is not None and isinstance(scope, ast.FunctionDef):
        args, kwargs = call.inputs
        names = [each.arg for each in scope.args.args]
        if names[:1] == ["self"]:
            names = names[1:]
        if scope.name == call.method:
            for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
                if isinstance(value, Fact):
                    found[name] = value
    made = {}
    for before in program.trace.ops[: op.index]:
        if before.span is not None and before.module == op.module and before.outputs:
            made[before.span] = before
    for statement in statements(scope):
        if not isinstance(statement, ast.Assign) or statement.lineno >= node.lineno:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Tuple):
            made_by = _module_call(program, op, text, statement.value)
            output = made_by.output if made_by is not None else None
            if isinstance(output, tuple | list) and len(output) == len(target.elts):
                for each, value in zip(target.elts, output, strict=True):
                    if isinstance(each, ast.Name) and isinstance(value, Fact):
                        found[each.id] = value
        if isinstance(target, ast.Name):
            maker = made.get(text.span(statement.value))
            if maker is not None:
                found[target.id] = maker.outputs[0]
            else:
                fact = _called(program, op, text, statement.value)
                if fact is not None:
                    found[target.id] = fact
    return found


def _called(program: Program, op: Op, text: SourceText, node: ast.expr) -> Fact | None:
    """What the module call at an expression returned, where it is one tensor."""
    call = _module_call(program, op, text, node)
    facts = leaves(call.output) if call is not None else []
    return facts[0] if len(facts) == 1 else None


def _module_call(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> ModuleCall | None:
    """The module call that an expression made before an op."""
    span = text.span(node)
    for call in program.trace.calls:
        if call.span == span and call.ops[0] <= op.index:
            return call
    return None


def statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a function, those of functions inside it left out."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, SCOPES):
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from statements(child)


def other_operand(
    program: Program, failure: Failure, at: int
) -> tuple[ast.expr, str, Fact] | None:
    """Another input of the failing call that stands there as a plain name."""
    op = program.trace.ops[failure.op]
    for n, found in enumerate(tensor_expressions(program, op)):
        if n != at and found is not None and isinstance(found[0], ast.Name):
            return found[0], found[1], op.inputs[n]
    return None


def names_for(text: SourceText, node: ast.expr, value: int) -> Iterator[str]:
    """Names in sight of a name's place that stand for a number, read from the text.

    `cfg.width` for `cfg.n_head`, `hidden` for `n_in`.
    """
    if isinstance(node, ast.Attribute):
        base = text.written(node.value)
        for each in ast.walk(text.tree) if text.tree is not None else ():
            if not isinstance(each, ast.Attribute) or each.attr == node.attr:
                continue
            if text.written(each.value) == base and _stands(text, each.attr, value):
                yield f"{base}.{each.attr}"
    scope = function_around(text, node)
    if isinstance(node, ast.Name) and isinstance(scope, ast.FunctionDef):
        own = [each.arg for each in (*scope.args.args, *scope.args.kwonlyargs)]
        for name in own:
            if name not in (node.id, "self") and _stands(text, name, value):
                yield name


def _stands(text: SourceText, name: str, value: int) -> bool:
    """Whether a name stands for a number wherever it is defined."""
    known = [known_value(each) for each in defining(text, name)]
    return value in known and all(each in (None, value) for each in known)
