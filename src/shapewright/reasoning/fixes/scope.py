"""What a line of the program can see: its names, and sizes said with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.reasoning.construction import known_value
from shapewright.reasoning.naming import tensor_expressions
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.definitions import defining
from shapewright.source.expressions import Text
from shapewright.trace.fact import Fact
from shapewright.trace.module import ModuleCall, leaves
from shapewright.trace.op import Op

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def size_in_words(
    program: Program, failure: Failure, text: Text, node: ast.expr, size: int
) -> str:
    """A size as a tensor in sight has it, `x.size(1)`, else the number."""
    op = program.trace.ops[failure.op]
    if size > 1:
        for name, fact in named_facts(program, op, text, node).items():
            dims = [dim for dim, each in enumerate(fact.shape) if each == size]
            if len(dims) == 1 and [*fact.shape].count(size) == 1:
                return f"{name}.size({dims[0]})"
    return str(size)


def function_around(text: Text, node: ast.AST) -> ast.AST | None:
    """The function in which a node stands."""
    return text.around(node, *SCOPES)


def named_facts(
    program: Program, op: Op, text: Text, node: ast.expr
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
            made_by = module_call(program, op, text, statement.value)
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
                fact = called(program, op, text, statement.value)
                if fact is not None:
                    found[target.id] = fact
    return found


def called(program: Program, op: Op, text: Text, node: ast.expr) -> Fact | None:
    """What the module call at an expression returned, where it is one tensor."""
    call = module_call(program, op, text, node)
    facts = leaves(call.output) if call is not None else []
    return facts[0] if len(facts) == 1 else None


def module_call(
    program: Program, op: Op, text: Text, node: ast.expr
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


def names_for(text: Text, node: ast.expr, value: int) -> Iterator[str]:
    """Names in sight of a name's place that stand for a number, read from the text.

    `cfg.width` for `cfg.n_head`, `hidden` for `n_in`.
    """
    if isinstance(node, ast.Attribute):
        base = text.written(node.value)
        for each in ast.walk(text.tree) if text.tree is not None else ():
            if not isinstance(each, ast.Attribute) or each.attr == node.attr:
                continue
            if text.written(each.value) == base and stands(text, each.attr, value):
                yield f"{base}.{each.attr}"
    scope = function_around(text, node)
    if isinstance(node, ast.Name) and isinstance(scope, ast.FunctionDef):
        own = [each.arg for each in (*scope.args.args, *scope.args.kwonlyargs)]
        for name in own:
            if name not in (node.id, "self") and stands(text, name, value):
                yield name


def stands(text: Text, name: str, value: int) -> bool:
    """Whether a name stands for a number wherever it is defined."""
    known = [known_value(each) for each in defining(text, name)]
    return value in known and all(each in (None, value) for each in known)
