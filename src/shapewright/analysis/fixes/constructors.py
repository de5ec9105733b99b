"""Fixes that change sizes where a layer is constructed or a tensor is created."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from math import isqrt, lcm

from shapewright.analysis.causes import NO_SIZES, trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.helper_arguments import find_helper_call
from shapewright.analysis.fixes.suspect_lines import (
    find_other_item,
    iter_names_for,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import (
    find_constructor,
    iter_arguments,
)
from shapewright.findings.codes import (
    DOES_NOT_DIVIDE,
    ELEMENT_COUNT_MISMATCH,
    SHUFFLED_SIZES,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    list_arguments,
    list_parameters,
)
from shapewright.record.ops import Fact, Op


def fix_consumer(program: Program, failure: Failure) -> Iterator[Fix]:
    """Change the layer that sets the expected size so that it expects the actual
    size.
    """
    wanted, got = find_sides(failure)
    if wanted is None or got is None:
        return
    op = program.trace.ops[failure.op]
    needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
    at, dim = wanted
    for module, layer_size in iter_setting_layers(program, op.inputs[at], dim):
        size = has if layer_size == needs else None
        if size is not None:
            written = _as_product(program, op.inputs[got[0]], got[1])
            written = written or _as_sum(program, module, op.inputs[got[0]], got[1])
            yield from change_layer_size(program, module, needs, size, written)


def fix_expecting_layer(program: Program, failure: Failure) -> Iterator[Fix]:
    """Change the constructor argument of the failing layer that sets the size it
    expects.
    """
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    if layer is None or layer.path not in program.built:
        return
    for has, needs in find_size_pairs(program, failure):
        written = ""
        got = find_sides(failure)[1]
        if got is not None and op.inputs[got[0]].shape[got[1]] == has:
            written = _as_product(program, op.inputs[got[0]], got[1])
            written = written or _as_sum(program, layer.path, op.inputs[got[0]], got[1])
        yield from change_layer_size(program, layer.path, needs, has, written)


def find_size_pairs(program: Program, failure: Failure) -> list[tuple[int, int]]:
    """Return pairs of (actual, expected) sizes, the most certain first."""
    op = program.trace.ops[failure.op]
    pairs: list[tuple[int, int]] = []
    unmet = failure.unmet
    if unmet is not None and type(unmet.has) is int and type(unmet.needs) is int:
        pairs.append((unmet.has, unmet.needs))
    wanted, got = find_sides(failure)
    if wanted is not None and got is not None:
        needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
        pairs.append((has, needs))
    for repair in failure.repairs:
        if repair.kind == "size" and isinstance(repair.old, int):
            pairs.append((repair.old, repair.new))
    return list(dict.fromkeys(pairs))


def fix_producer(program: Program, failure: Failure) -> Iterator[Fix]:
    """Make the layer that set the actual size produce the expected size."""
    wanted, got = find_sides(failure)
    if wanted is None or got is None:
        return
    op = program.trace.ops[failure.op]
    needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
    at, dim = got
    for module, layer_size in iter_setting_layers(program, op.inputs[at], dim):
        if layer_size == has:
            yield from change_layer_size(program, module, has, needs, "")


def fix_factor(program: Program, failure: Failure) -> Iterator[Fix]:
    """Make a layer produce other channels where a flat output has a factor more or less
    than what it meets: one channel for two where a loss compares pixel by pixel.
    """
    op = program.trace.ops[failure.op]
    sides = [side for side in find_sides(failure) if side is not None]
    places = [(op.inputs[at], dim) for at, dim in sides]
    ways = [trace_dim(program, *place) for place in places]
    flat = all(fact.ndim == 1 for fact, _ in places)
    if len(ways) < 2 or not flat or any(way.why == "parameter" for way in ways):
        return
    sizes = [fact.shape[dim] for fact, dim in places]
    for way, own, other in zip(ways, sizes, reversed(sizes), strict=True):
        for at, dim in way.places if way.why == "product" and way.op else ():
            assert way.op is not None
            for module, size in iter_setting_layers(program, way.op.inputs[at], dim):
                if own and size * other % own == 0 and size * other != 0:
                    new = size * other // own
                    yield from change_layer_size(program, module, size, new, "")


def resize_producer(program: Program, fact: Fact, dim: int, size: int) -> Iterator[Fix]:
    """Make the layer that set the size of a dim produce another size."""
    for module, layer_size in iter_setting_layers(program, fact, dim % len(fact.shape)):
        yield from change_layer_size(program, module, layer_size, size, "")


def fix_shuffle(program: Program, failure: Failure) -> Iterator[Fix]:
    """Make the layer before a pixel shuffle produce the channels that the shuffle
    needs.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != SHUFFLED_SIZES or unmet.got is None:
        return
    has, needs = unmet.has, unmet.needs
    op = program.trace.ops[failure.op]
    if type(has) is not int or type(needs) is not int or needs < 2:
        return
    for module, size in iter_setting_layers(program, op.inputs[0], unmet.got.dim or 1):
        factors = [
            factor for _, factor in op.arguments if type(factor) is int and factor > 1
        ]
        squared = [has * factor for factor in factors if has % factor == 0]
        near = squared or [needs, lcm(has, needs), -(-has // needs) * needs]
        for new in dict.fromkeys(near):
            if new and size == has:
                for fix in change_layer_size(program, module, has, new, ""):
                    yield _name_factor(program, op, fix, new // has)


def _name_factor(program: Program, op: Op, fix: Fix, factor: int) -> Fix:
    """Write `channels * scale * scale` for `channels * scale * 4`, where the shuffle is
    built with `scale` beside the layer, and `scale ** 2` for `3 * scale`.
    """
    built = find_constructor(program, op.module)
    arguments = list_arguments(built[1]) if built is not None else []
    edit = fix.edits[0]
    if built is None or len(arguments) != 1 or len(fix.edits) != 1:
        return fix
    text, call = built
    word, scope = text.written(arguments[0]), text.around(call, *FUNCTIONS)
    number = f"* {factor}"
    is_near = scope is not None and text.file == edit.span.file
    if not is_near or not isinstance(arguments[0], ast.Name | ast.Attribute):
        return fix
    last = getattr(scope, "end_lineno", 0)
    if not getattr(scope, "lineno", 0) <= edit.span.line <= last:
        return fix
    is_itself = edit.text == f"{factor} * {word}"  # which is the factor as well
    if not (edit.text.endswith(number) or is_itself) or edit.text not in fix.message:
        return fix
    new = f"{word} ** 2" if is_itself else f"{edit.text.removesuffix(number)}* {word}"
    return replace(
        fix, message=fix.message.replace(edit.text, new), edits=(Edit(edit.span, new),)
    )


def fix_share(program: Program, failure: Failure) -> Iterator[Fix]:
    """Scale the output size of a layer so that the sizes of a view match it."""
    unmet = failure.unmet
    if unmet is None or unmet.code not in (ELEMENT_COUNT_MISMATCH, DOES_NOT_DIVIDE):
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or not has or not needs:
        return
    fact = program.trace.ops[failure.op].inputs[0]
    for dim in range(len(fact.shape)):
        for module, size in iter_setting_layers(program, fact, dim):
            if size * needs % has == 0:
                yield from change_layer_size(
                    program, module, size, size * needs // has, ""
                )


def iter_setting_layers(
    program: Program, fact: Fact, dim: int
) -> Iterator[tuple[str, int]]:
    """Yield the layers whose parameters set the size of a dim, together with that
    size.
    """
    origin = trace_dim(program, fact, dim)
    if origin.why != "parameter":
        return
    path = program.states.get(origin.fact.tensor)
    if path is not None:
        yield path.rpartition(".")[0], origin.fact.shape[origin.dim]


def change_layer_size(
    program: Program, module: str, old: int, new: int, written: str
) -> Iterator[Fix]:
    """Yield fixes that write `new` for `old` in the call that constructs a layer.

    Where a constructor of the program's own hands the size on, its caller's argument
    comes first: that changes this layer alone.
    """
    for name, node, value in iter_arguments(program, module):
        if value not in (old, (old,)) or name in NO_SIZES:
            continue
        constructor = find_constructor(program, module)
        assert constructor is not None
        text, call = constructor
        shown = _write_other_quotient(text, node, old, new) or written
        shown = shown or find_other_item(program, text, node, new)
        shown = shown or write_changed_size(text, node, old, new)
        here = replace_argument(text, call, name, node, shown)
        named = any(True for _ in iter_names_for(text, node, new))
        if named and isinstance(node, ast.Name) and new == 2 * old:
            # Another name may have this size by chance.
            yield from _find_outer_argument(
                program, module, text, call, node.id, (old, new), twice=True
            )
            twice = f"2 * {text.written(node)}"
            yield replace_argument(text, call, name, node, twice)
        if named:
            yield here
        if isinstance(node, ast.Name):
            yield from _find_outer_argument(
                program, module, text, call, node.id, (old, new)
            )
        if not named:
            yield here


def _write_other_quotient(text: SourceText, node: ast.expr, old: int, new: int) -> str:
    """Return a size whose maps are halved once more, `c * (size // 8)` for `c * (size
    // 4)`, or an empty string.
    """
    quotients = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.FloorDiv)
        and isinstance(part.right, ast.Constant)
        and type(part.right.value) is int
        and not isinstance(part.left, ast.Constant)
    ]
    is_squared = any(isinstance(part, ast.Pow) for part in ast.walk(node))
    sides = 2 if is_squared and len(quotients) == 1 else len(quotients)
    ratio = old // new if new and old % new == 0 else 0
    factor = {1: ratio, 2: isqrt(ratio)}.get(sides, 0)
    if factor < 2 or factor**sides != ratio:
        return ""
    start = text.span(node).start
    edits = [
        (text.span(part.right), str(part.right.value * factor))  # type: ignore[attr-defined]
        for part in quotients
    ]
    if text.span(node).line != text.span(node).end_line:
        return ""
    written = text.written(node)
    for span, number in sorted(edits, key=lambda edit: -edit[0].column):
        first, last = span.column - start.column, span.end_column - start.column
        written = f"{written[:first]}{number}{written[last:]}"
    return written


def _find_outer_argument(
    program: Program,
    module: str,
    text: SourceText,
    call: ast.Call,
    name: str,
    sizes: tuple[int, int],
    twice: bool = False,
) -> Iterator[Fix]:
    """Find the outer module's argument behind a name in its constructor; with `twice`
    it is doubled, whatever else has its size.
    """
    owner = text.around(call, ast.ClassDef)
    path = module.rpartition(".")[0]
    helper = find_helper_call(text, call, name, module)
    if helper is not None:
        shown = helper.find_name(sizes[1])
        shown = shown or write_changed_size(text, helper.argument, *sizes)
        yield replace_argument(text, helper.call, name, helper.argument, shown)
        return
    while path and owner is not None:
        built = program.built.get(path)
        if built is not None and built.class_name == owner.name:
            constructor = find_constructor(program, path)
            for own, node, _ in iter_arguments(program, path):
                if own == name and constructor is not None:
                    outer, around = constructor
                    scope = outer.around(around, ast.FunctionDef)
                    if isinstance(node, ast.Name) and node.id in list_parameters(scope):
                        yield from _find_outer_argument(
                            program, path, outer, around, node.id, sizes, twice
                        )
                    if sizes[1] < sizes[0]:
                        yield from _suggest_constant(outer, node, sizes[1])
                    shown = write_changed_size(outer, node, *sizes)
                    shown = f"2 * {outer.written(node)}" if twice else shown
                    yield replace_argument(outer, around, own, node, shown)
            return
        path = path.rpartition(".")[0]


def replace_argument(
    text: SourceText, call: ast.Call, name: str, node: ast.expr, shown: str
) -> Fix:
    """Replace an argument of a call; the fix's message shows the call."""
    span, outer = text.span(node), text.span(call)
    message = f"`{name}={shown}`"
    if span.line == outer.line == outer.end_line:
        whole, left = text.written(call), span.column - outer.column
        whole = whole[:left] + shown + whole[left + len(text.written(node)) :]
        message = f"`{join_lines(whole)}`"
    return Fix("fits", message, (Edit(span, shown),))


PRODUCTS = (ast.Mult, ast.FloorDiv)
"""Operators whose result may be multiplied without brackets."""


def write_changed_size(text: SourceText, node: ast.expr, old: int, new: int) -> str:
    """Write a size as the author might: `hidden`, `n_items + 1`, `2 * hidden`."""
    written = text.written(node)
    for name in iter_names_for(text, node, new):
        return name
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        if old > 1 and new % old == 0:
            return f"{new // old} * {written}"
        if new > 1 and old % new == 0:
            return f"{written} // {old // new}"
        if abs(new - old) < 2 and new > 1:
            return f"{written} {'+' if new > old else '-'} {abs(new - old)}"
        if old < new <= old + MOST_MORE and _is_count(node):
            return f"{written} + {new - old}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        more = evaluate_whole_number(node.right)
        if more is not None and old < new <= old + MOST_MORE and _is_count(node.left):
            return f"{text.written(node.left)} + {more + new - old}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and new > 0:
        for kept, factor in ((node.left, node.right), (node.right, node.left)):
            number = evaluate_whole_number(factor)
            is_named = isinstance(kept, ast.Name | ast.Attribute)
            width, rest = divmod(old, number) if number and number > 1 else (0, 0)
            if not is_named or width < 2 or rest or new % width:
                continue
            if new == width:
                return text.written(kept)  # `width` for `width * 12`
            sides = [text.written(kept), str(new // width)]  # `dim * 8` for `dim * 4`
            return " * ".join(sides if kept is node.left else sides[::-1])
    is_product = isinstance(node, ast.BinOp) and isinstance(node.op, PRODUCTS)
    if is_product and old > 1 and new % old == 0:
        return f"{written} * {new // old}"
    if isinstance(node, ast.BinOp) and old > 1 and new == 2 * old:
        return f"2 * ({written})"
    return str(new)


MOST_MORE = 4
"""So many more than counted may be meant: tokens that pad, begin and end a text."""
COUNTS = re.compile(
    r"vocab|words|tokens|chars|users|items|entities|categories|labels|tags", re.I
)


def _is_count(node: ast.expr) -> bool:
    """Return whether a size is how many things there are: `len(vocab)`, `n_items`."""
    is_counted = get_called_name(node) == "len"
    return is_counted or COUNTS.search(get_last_name(node)) is not None


def _as_sum(program: Program, module: str, fact: Fact, dim: int) -> str:
    """Return the width of joined tensors as a sum of what a layer's own class is built
    with, `emb + 2 * hid`, or an empty string.
    """
    maker = program.producers.get(fact.tensor)
    if maker is None or maker.name.rpartition(".")[2] not in JOINS:
        return ""
    dim %= fact.ndim
    rest = [part.shape[:dim] + part.shape[dim + 1 :] for part in maker.inputs]
    if any(shape != rest[0] for shape in rest):
        return ""
    values = {
        name: value
        for name, _, value in iter_arguments(program, module.rpartition(".")[0])
        if type(value) is int and value > 1
    }
    words: list[str] = []
    for part in maker.inputs:
        size = part.shape[dim]
        same = [name for name, value in values.items() if value == size]
        twice = [f"2 * {name}" for name, value in values.items() if 2 * value == size]
        word = (same or twice or [""])[0]
        if not word or word in words:
            return ""
        words.append(word)
    return " + ".join(words)


JOINS = operators_with("concatenates")


def _as_product(program: Program, fact: Fact, dim: int) -> str:
    """Return a size that a flatten made as a product, `16 * 4 * 4`, or an empty
    string.
    """
    origin = trace_dim(program, fact, dim)
    if origin.why != "product" or origin.op is None:
        return ""
    sizes = [origin.op.inputs[at].shape[d] for at, d in origin.places]
    return " * ".join(map(str, sizes))


def _suggest_constant(text: SourceText, node: ast.expr, size: int) -> Iterator[Fix]:
    """Suggest `N_CLASSES = 7`, or `'classes': 7` of a dict of settings, where the file
    gives a name its only number.
    """
    name = node.id if isinstance(node, ast.Name) and node.id.isupper() else ""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = str(node.slice.value)
    values = find_defining(text, name)
    if len(values) == 1 and isinstance(values[0], ast.Constant):
        edit = Edit(text.span(values[0]), f"{size}")
        is_key = isinstance(text.parent(values[0]), ast.Dict)
        shown = f"{name!r}: {size}" if is_key else f"{name} = {size}"
        yield Fix("fits", f"`{shown}`", (edit,))
