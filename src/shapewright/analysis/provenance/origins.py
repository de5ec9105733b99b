"""Trace sizes back: to the dims of the inputs they come from, and to the lines that set
their names and numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    collect_names,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op


@dataclass(frozen=True, slots=True)
class _Origin:
    """Dims of one input. `how`: "same", "product", "changed", "joined", "parameter"."""

    how: str
    places: tuple[tuple[int, int], ...]  # (input, dim)


SIZED = operators_with("is_sized_factory")
SHAPING = operators_with("regroups_dims")
CONVOLVING = operators_with("is_convolution")
TRANSPOSED = operators_with("is_transposed_convolution")
PRODUCTS = operators_with("is_product")
JOINS = operators_with("concatenates")


def find_origin(op: Op, out: Fact, dim: int) -> _Origin | None:
    """Return the origin of an output dim, or None if it is not known."""
    origin = _follow_rule(op, out, dim)
    for at, place in origin.places if origin is not None else ():
        if not 0 <= place < len(op.inputs[at].shape):
            return None  # of a call that torch refused
    return origin


def _follow_rule(op: Op, out: Fact, dim: int) -> _Origin | None:
    """Return the origin that the operator's rule implies, assuming that torch accepted
    the call.
    """
    name = op.name.rpartition(".")[2]
    if not op.inputs or dim >= len(out.shape) or name in SIZED:
        return None  # of the sizes that it is given, `x.new_zeros(1, 8)` as well
    first = op.inputs[0]
    if name in SHAPING:
        return _match_shaping(first, out, dim)
    if op.kind == "view" and first.stride is not None and out.stride is not None:
        return _match_view(first, out, dim)
    if name == "linear" and len(op.inputs) > 1:
        if dim == len(out.shape) - 1:
            return _Origin("parameter", ((1, 0),))
        return _Origin("same", ((0, dim),))
    if name in CONVOLVING | TRANSPOSED and len(op.inputs) > 1:
        return _match_convolution(op, out, dim, name in TRANSPOSED)
    if name == "embedding" and len(op.inputs) > 1:
        if dim == len(out.shape) - 1:
            return _Origin("parameter", ((1, 1),))
        return _Origin("same", ((0, dim),))
    if name in PRODUCTS and len(op.inputs) == 2:
        return _match_product(op.inputs[0], op.inputs[1], out, dim)
    if name in JOINS:
        return _match_join(op, out, dim)
    if name == "stack":
        return None
    return _match_others(op, out, dim)


def _match_shaping(before: Fact, after: Fact, dim: int) -> _Origin | None:
    """Find the dims that a reshape multiplied or split, matching from the left."""
    i = j = 0
    before_shape, after_shape = before.shape, after.shape
    while i < len(before_shape) and j < len(after_shape):
        start, place = i, j
        left, right = before_shape[i], after_shape[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(before_shape):
                left, i = left * before_shape[i], i + 1
            elif left > right and j < len(after_shape):
                right, j = right * after_shape[j], j + 1
            else:
                return None
        if place <= dim < j:
            dims = [d for d in range(start, i) if before_shape[d] != 1] or [start]
            if j - place == 1:
                how = "same" if len(dims) == 1 else "product"
                return _Origin(how, tuple((0, d) for d in dims))
            return _Origin("part", tuple((0, d) for d in dims))
    return None


def _match_view(before: Fact, after: Fact, dim: int) -> _Origin | None:
    """Find the dim with the same size and stride, else a dim with the same stride."""
    assert before.stride is not None
    assert after.stride is not None
    size, step = after.shape[dim], after.stride[dim]
    same = [
        d
        for d, pair in enumerate(zip(before.shape, before.stride, strict=True))
        if pair == (size, step)
    ]
    if same:
        return _Origin("same", ((0, same[0]),))
    if size == 1 and len(after.shape) > len(before.shape):
        return None  # the dim is new
    stepped = [d for d, s in enumerate(before.stride) if s == step and step]
    if stepped:
        return _Origin("changed", ((0, stepped[0]),))
    return None


def _match_convolution(op: Op, out: Fact, dim: int, transposed: bool) -> _Origin | None:
    rank = len(op.inputs[1].shape)
    channels = len(out.shape) - rank + 1
    if dim == channels:
        return _Origin("parameter", ((1, 1 if transposed else 0),))
    if len(op.inputs[0].shape) != len(out.shape):
        return None  # refused: what came has too few dims
    same = op.inputs[0].shape[dim] == out.shape[dim]
    return _Origin("same" if same else "changed", ((0, dim),))


def _match_product(left: Fact, right: Fact, out: Fact, dim: int) -> _Origin | None:
    rank = len(out.shape)
    if len(right.shape) > 1 and dim == rank - 1:
        return _Origin("same", ((1, len(right.shape) - 1),))
    if len(right.shape) == 1 or dim == rank - 2:
        rows = len(left.shape) - (1 if len(right.shape) == 1 else 2)
        if dim == rank - (1 if len(right.shape) == 1 else 2) and rows >= 0:
            return _Origin("same", ((0, rows),))
    back = rank - dim
    for at, fact in ((0, left), (1, right)):
        place = len(fact.shape) - back
        if place >= 0 and fact.shape[place] == out.shape[dim]:
            return _Origin("same", ((at, place),))
    return None


def _match_join(op: Op, out: Fact, dim: int) -> _Origin | None:
    rank = len(out.shape)
    facts = [fact for fact in op.inputs if len(fact.shape) == rank]
    if not facts:
        return None
    if sum(fact.shape[dim] for fact in facts) == out.shape[dim] and len(facts) > 1:
        return _Origin("joined", tuple((n, dim) for n in range(len(facts))))
    return _Origin("same", ((0, dim),))


def _match_others(op: Op, out: Fact, dim: int) -> _Origin | None:
    """Match dims by their size from the right, else by their position, else by a unique
    size.
    """
    size, back = out.shape[dim], len(out.shape) - dim
    for at, fact in enumerate(op.inputs):
        place = len(fact.shape) - back
        fits = len(fact.shape) <= len(out.shape) and place >= 0
        if fits and fact.shape[place] == size:
            return _Origin("same", ((at, place),))
    first = op.inputs[0]
    if len(first.shape) == len(out.shape):
        return _Origin("changed", ((0, dim),))
    same = [d for d, other_size in enumerate(first.shape) if other_size == size]
    return _Origin("same", ((0, same[0]),)) if len(same) == 1 else None


def find_constructor(
    program: Program, module: str
) -> tuple[SourceText, ast.Call] | None:
    """Return the call that constructed the module at a path."""
    built = program.built.get(module)
    return program.call_at(built.span) if built is not None else None


def iter_arguments(
    program: Program, module: str
) -> Iterator[tuple[str, ast.expr, Any]]:
    """Yield the name, the expression and the value of every argument of a module's
    constructor.

    The value is None where the text alone does not tell it.
    """
    constructor = find_constructor(program, module)
    built = program.built.get(module)
    if constructor is None or built is None:
        return
    _, call = constructor
    values = dict(built.values)
    for name, node in zip(built.arguments, call.args, strict=False):
        if isinstance(node, ast.Starred):
            return
        yield name, node, values.get(name, evaluate_whole_number(node))
    for word in call.keywords:
        if word.arg is not None:
            value = values.get(word.arg, evaluate_whole_number(word.value))
            yield word.arg, word.value, value


DEEP = 4
"""How many names a number is followed back through."""
LONGEST = 50
"""Characters of an expression that a message quotes."""


def iter_definitions(program: Program, failure: Failure) -> Iterator[Related]:
    """Yield the places where names of the failing call are defined and its numbers are
    set.
    """
    op = program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return
    text, node = text_and_node
    own = list(_iter_assignments(text, node, _find_lines(program, op)))
    yield from own
    yield from _iter_attribute_origins(program, op)
    names = {place.message.partition(" ")[0] for place in own}
    for fact in op.inputs:
        maker = program.producers.get(fact.tensor)
        maker_text_and_node = program.node(maker.span) if maker is not None else None
        if (
            maker_text_and_node is not None
            and maker is not None
            and len(maker.inputs) < 2
        ):
            lines = _find_lines(program, maker)
            for place in _iter_assignments(*maker_text_and_node, lines):
                if place.message.partition(" ")[0] not in names:  # it was another
                    yield place
    unmet = failure.unmet
    wanted = (unmet.has, unmet.needs) if unmet is not None else ()
    numbers = {number for number in wanted if type(number) is int and number > 1}
    yield from _iter_number_origins(text, node, numbers)


def iter_line_definitions(program: Program, span: Span | None) -> Iterator[Related]:
    """Yield the definitions of names on a line that raised an error of its own."""
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return
    for node in text.near(span.line):
        yield from _iter_assignments(text, node, _find_last_lines(program, span))
        for name in _collect_names(node):
            if _is_counted(text, name) or _is_set_around(text, node, name):
                continue
            places = list(_iter_sources(text, name, None, DEEP))
            numbers = {evaluate_whole_number(place) for place in places}
            for place in places if len(numbers) == 1 else ():
                label = f"`{name}` is {evaluate_whole_number(place)} from here"
                yield Related(text.span(place), label)
        return


def _is_set_around(text: SourceText, node: ast.AST, name: str) -> bool:
    """Return whether the function around a line sets a name itself: no number that
    another function gives its variable of that name.
    """
    scope = text.around(node, ast.FunctionDef)
    return scope is not None and any(
        isinstance(inner, ast.Name)
        and inner.id == name
        and isinstance(inner.ctx, ast.Store)
        for inner in ast.walk(scope)
    )


def _is_counted(text: SourceText, name: str) -> bool:
    """Return whether a file adds to a name somewhere: it isn't what it was set to."""
    return any(
        isinstance(node, ast.AugAssign) and get_last_name(node.target) == name
        for node in text.nodes
    )


def drop_repeated(
    related: Iterable[Related], known: Iterable[Span | None]
) -> list[Related]:
    """Return the first entry per line, without lines that are already known."""
    lines = {(span.file, span.line) for span in known if span is not None}
    kept = []
    for place_note in related:
        place = place_note.span.file, place_note.span.line
        if place not in lines:
            lines.add(place)
            kept.append(place_note)
    return kept


SET_HERE = " set here"


def _iter_assignments(
    text: SourceText, node: ast.AST, lines: frozenset[int] = frozenset()
) -> Iterator[Related]:
    """Yield the last assignment of every name on a line, within the same function; one
    under a condition only if it stands on one of the `lines` that ran, or beside one.
    """
    scope = text.around(node, ast.FunctionDef)
    line = getattr(node, "lineno", 0)
    if scope is None:
        return
    last: dict[str, tuple[ast.expr, str]] = {}
    for target, value in iter_assignments(scope, before=line, unpacked=True):
        if not _has_run(text, scope, node, value, lines):
            continue
        if isinstance(target, ast.Name):
            last[target.id] = value, "is"
        elif isinstance(target, ast.Tuple | ast.List):
            last |= dict.fromkeys(collect_names(target), (value, "is a part of"))
    grown = {
        text.written(call.func.value)
        for call in ast.walk(scope)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in ("append", "extend", "update", "add")
    }
    sums = [node for node in ast.walk(scope) if isinstance(node, ast.AugAssign)]
    summed = {text.written(node.target) for node in sums if node.lineno <= line}
    own = _collect_variables(list(text.outwards(node)))
    for word in _collect_names(node):
        if word in last and word not in own:
            value, verb = last[word]
            is_sum = word in summed and isinstance(value, ast.Constant)
            if is_sum or (word in grown and _is_empty(value)):
                continue  # it is filled afterwards
            quoted = _quote_value(text, value)
            verb = "is" if quoted == SET_HERE else verb
            yield Related(text.span(value), f"`{word}` {verb}{quoted}")


def _has_run(
    text: SourceText,
    scope: ast.AST,
    node: ast.AST,
    value: ast.expr,
    lines: frozenset[int],
) -> bool:
    """Return whether the branches around an assignment ran before a call, as far as
    they are not those of the call itself.
    """
    around = list(text.outwards(node))
    inner: ast.AST = value
    for outer in text.outwards(value):
        if outer is scope:
            return True
        if isinstance(outer, ast.If) and outer not in around:
            branch = next(
                (part for part in (outer.body, outer.orelse) if inner in part), None
            )
            last = branch[-1] if branch else None
            end = getattr(last, "end_lineno", None) or 0
            if branch and not lines & set(range(branch[0].lineno, end + 1)):
                return False
        inner = outer
    return True


def _find_lines(program: Program, op: Op) -> frozenset[int]:
    """Return the lines of the file of a call that ran in the call of the module around
    it, or before in the same function.
    """
    call = program.call_of(op) if op.module else None
    first = call.ops[0] if call is not None else max(0, op.index - MOST_BEFORE)
    file = op.span.file if op.span is not None else ""
    return frozenset(
        frame.span.line
        for other in program.trace.ops[first : op.index + 1]
        for frame in other.frames
        if frame.span.file == file
    )


def _find_last_lines(program: Program, span: Span) -> frozenset[int]:
    """Return the lines of a file that the last calls of a run stand on."""
    return frozenset(
        frame.span.line
        for op in program.trace.ops[-MOST_BEFORE:]
        for frame in op.frames
        if frame.span.file == span.file
    )


MOST_BEFORE = 200
"""Calls before another one that tell which lines ran."""


def _is_empty(value: ast.expr) -> bool:
    """Return whether an expression is an empty list or dict."""
    items = getattr(value, "elts", getattr(value, "keys", None))
    return isinstance(value, ast.List | ast.Dict) and not items


def _collect_variables(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the variables of the comprehensions among some nodes."""
    return {
        name
        for node in nodes
        for generator in getattr(node, "generators", ())
        for name in collect_names(generator.target)
    }


def _collect_names(node: ast.AST) -> list[str]:
    """Return the names that an expression reads, without duplicates, and without the
    variables of its own comprehensions.
    """
    own = _collect_variables(ast.walk(node))
    names = [
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
        if child.id not in own
    ]
    return list(dict.fromkeys(names))


def _quote_value(text: SourceText, node: ast.expr) -> str:
    """Return an expression in backquotes after a space, or " set here" if the
    expression is too long.
    """
    written = text.line_of(node)
    return f" `{written}`" if len(written) <= LONGEST else SET_HERE


def _iter_attribute_origins(program: Program, op: Op) -> Iterator[Related]:
    """Yield the places where the class sets the parameters and buffers that its own
    call uses.
    """
    if program.layer(op) is not None:
        return
    for fact in op.inputs:
        path = program.states.get(fact.tensor, "")
        text = program.text(op.span.file) if path and op.span is not None else None
        name = path.rpartition(".")[2]
        for value in iter_attribute_values(text, name) if text is not None else ():
            assert text is not None
            yield Related(text.span(value), f"`{name}` is set here")


def iter_attribute_values(text: SourceText, name: str) -> Iterator[ast.expr]:
    """Yield the values assigned to `self.name`, and the calls that register the
    name.
    """
    for node in text.nodes:
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == name:
                yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            first = node.args[0] if node.args else None
            registers = node.func.attr in ("register_buffer", "register_parameter")
            if registers and isinstance(first, ast.Constant) and first.value == name:
                yield node


def _iter_number_origins(
    text: SourceText, node: ast.AST, wanted: set[int]
) -> Iterator[Related]:
    """Yield the places from which names in a call get one of the wanted numbers."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name | ast.Attribute) and wanted:
            name = get_last_name(child)
            for place in _iter_sources(text, name, wanted, DEEP):
                label = f"{evaluate_whole_number(place)} comes from here"
                yield Related(text.span(place), label)
                break


def _iter_sources(
    text: SourceText, name: str, wanted: set[int] | None, deep: int
) -> Iterator[ast.expr]:
    """Yield the expressions of the numbers that a name resolves to, among the wanted
    values.
    """
    for value in find_defining(text, name) if deep else ():
        number = evaluate_whole_number(value)
        if number is not None and (wanted is None or number in wanted):
            yield value
        elif isinstance(value, ast.Name | ast.Attribute):
            inner = get_last_name(value)
            if inner != name or isinstance(value, ast.Name):
                yield from _iter_sources(text, inner, wanted, deep - 1)
        elif isinstance(value, ast.Subscript):
            key = value.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield from _iter_sources(text, key.value, wanted, deep - 1)
