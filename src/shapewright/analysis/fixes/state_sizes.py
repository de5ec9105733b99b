"""A mask or a table of a module that is too small, and the argument that sizes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.constructors import (
    replace_argument,
    resize_producer,
    write_changed_size,
)
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    ELEMENT_COUNT_MISMATCH,
    MASK_SHAPE,
)
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_own_attribute,
    is_starred,
    iter_assignments,
)
from shapewright.record.ops import Fact

TOKENS = 2
"""So many more places than a table has may be tokens that stand before the others."""
DEEPEST = 3
"""Names between a table and the parameter that counts its rows."""


def suggest_size_of_state(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `Attention(dim, chunk_size=200)` where a mask or a table of a module
    meets something larger, and a parameter of the module's constructor is its size.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code not in (BROADCAST_MISMATCH, MASK_SHAPE):
        return
    op = program.trace.ops[failure.op]
    pairs = dict.fromkeys(
        (own[-back], other[-back])
        for at, fact in enumerate(op.inputs)
        for own, other in [(fact.shape, op.inputs[at - 1].shape)]
        for back in range(1, min(len(own), len(other)) + 1)
        if 1 < own[-back] < other[-back]
    )
    if len(op.inputs) != 2 or len(pairs) != 1:
        return
    ((has, needs),) = pairs
    if needs - has <= TOKENS:
        return  # the table lacks a token of the whole, whatever it is built with
    for path in _list_states(program, op.inputs, has):
        yield from _change_parameter(program, path, has, needs)


def _list_states(
    program: Program, facts: tuple[Fact, ...], size: int
) -> dict[str, None]:
    """Return the paths of the states that facts are, or are cut from, with a dim of a
    size.
    """
    paths: dict[str, None] = {}
    for fact in facts:
        sources = [fact]
        maker = program.producers.get(fact.tensor)
        if maker is not None and size in fact.shape:
            sources += maker.inputs[:1]
            sources += [i for near in iter_makers(program, maker) for i in near.inputs]
        for source in sources:
            path = program.states.get(source.tensor, "")
            if path and size in source.shape:
                paths[path] = None
    return paths


def _change_parameter(
    program: Program, path: str, has: int, needs: int
) -> Iterator[Fix]:
    """Yield the call that builds the owner of a state with another size of it."""
    owner, _, attribute = path.rpartition(".")
    built, place = program.built.get(owner), find_constructor(program, owner)
    if built is None or place is None or is_starred(place[1]):
        return
    text, call = place
    handed = {
        name: (node, value) for name, node, value in iter_arguments(program, owner)
    }
    for function in _iter_constructors(program, built.class_name):
        for name, default in _list_sizes(function, attribute).items():
            if name in handed:
                node, value = handed[name]
                if value == has:
                    new = write_changed_size(text, node, has, needs)
                    yield replace_argument(text, call, name, node, new)
            elif default == has:
                yield with_keyword(text, call, f"{name}={needs}")


def _iter_constructors(program: Program, name: str) -> Iterator[ast.FunctionDef]:
    """Yield the constructor of each class of a name that the program defines."""
    for text in program.own_texts():
        for _, definition in text.definitions(name):
            for node in getattr(definition, "body", ()):
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    yield node


def _list_sizes(function: ast.FunctionDef, attribute: str) -> dict[str, int | None]:
    """Return the parameters of which an attribute is made, with their defaults."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = dict.fromkeys(name.arg for name in (*named, *arguments.kwonlyargs))
    pairs = [
        *zip(reversed(named), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    values = {
        name.arg: evaluate_whole_number(node)
        for name, node in pairs
        if node is not None
    }
    assigned: dict[str, list[ast.expr]] = {}
    for target, value in iter_assignments(function):
        if isinstance(target, ast.Name):
            assigned.setdefault(target.id, []).append(value)
    waiting = [
        value
        for target, value in iter_assignments(function)
        if get_own_attribute(target) == attribute
    ]
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and get_called_name(node) == "register_buffer":
            is_named = ast.unparse(node.args[0]) == repr(attribute) if node.args else 0
            waiting += node.args[1:2] if is_named else []
    sizes: dict[str, int | None] = {}
    for _ in range(DEEPEST):
        names = {
            node.id
            for value in waiting
            for node in ast.walk(value)
            if isinstance(node, ast.Name)
        }
        sizes |= {name: values.get(name) for name in names if name in defaults}
        waiting = [value for name in names for value in assigned.get(name, ())]
    return sizes


def suggest_width_of_heads(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `build_table(self.head_dim, n)` for `build_table(dim, n)` where a table
    of the whole width meets the features of one head.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    widths = [fact.shape[-1:] for fact in op.inputs]
    for at, own in enumerate(op.inputs):
        has, needs = (*widths[at], 0)[0], (*widths[1 - at], 0)[0]
        if not needs or has <= needs or has % needs:
            continue
        for path in _list_states(program, (own,), has):
            owner, _, attribute = path.rpartition(".")
            built = program.built.get(owner)
            for function in _iter_constructors(
                program, built.class_name if built else ""
            ):
                yield from _write_width(program, function, attribute)


def _write_width(
    program: Program, function: ast.FunctionDef, attribute: str
) -> Iterator[Fix]:
    """Yield the call that makes a table in a constructor with the width of a head."""
    parts = {
        text.written(target): value.left.id
        for text in program.own_texts()
        if function in text.nodes
        for target, value in iter_assignments(function, unpacked=True)
        if isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.FloorDiv)
        and isinstance(value.left, ast.Name)
    }
    for text in program.own_texts():
        if function not in text.nodes:
            continue
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or not _is_maker(
                function, call, attribute
            ):
                continue
            for argument in call.args:
                for part, whole in parts.items():
                    if isinstance(argument, ast.Name) and argument.id == whole:
                        yield replace_argument(text, call, whole, argument, part)


def _is_maker(function: ast.FunctionDef, call: ast.Call, attribute: str) -> bool:
    """Return whether a call makes what an attribute or a buffer of a module is."""
    names: set[str] = set()
    for node in ast.walk(function):
        if get_called_name(node) == "register_buffer" and isinstance(node, ast.Call):
            is_named = bool(node.args) and ast.unparse(node.args[0]) == repr(attribute)
            for part in node.args[1:2] if is_named else ():
                if part is call:
                    return True
                names |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or node.value is not call:
            continue
        for target in node.targets:
            parts = getattr(target, "elts", [target])
            if any(get_own_attribute(part) == attribute for part in parts):
                return True
            if names & {getattr(part, "id", "") for part in parts}:
                return True
    return False


def suggest_width_of_rows(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `nn.Conv2d(hidden, d, 4)` where a `reshape(-1, d)` before the call that
    fails made several rows of the channels of each place.
    """
    unmet, failed = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != ELEMENT_COUNT_MISMATCH:
        return
    for op in reversed(program.trace.ops[: failure.op]):
        if op.call != failed.call or op.name.rpartition(".")[2] not in ROWS:
            continue
        source, rows = op.inputs[0], op.outputs[0]
        if rows.ndim != 2 or source.ndim < 3:
            continue
        has, needs = source.shape[-1], rows.shape[-1]
        if has > needs and has % needs == 0:
            yield from resize_producer(program, source, source.ndim - 1, needs)
            return


ROWS = operators_with("regroups_dims")
