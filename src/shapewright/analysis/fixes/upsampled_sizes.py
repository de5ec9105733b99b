"""Fixes for what is upsampled by a factor and misses the size that it meets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.alike_levels import join_levels, list_other_levels
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    INTERPOLATED_SIZES,
    OUTPUT_PADDING_TOO_LARGE,
    WRONG_RANK,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_shape_owner,
    iter_assignments,
    list_arguments,
)
from shapewright.record.ops import Fact, Op

UPSAMPLING = frozenset({"interpolate", "upsample"})
ALL_OF_A_DECODER = 36
"""Calls that are followed back for every transposed convolution of a decoder."""
MOST_PIXELS = 7
"""Pixels that maps of one level of a decoder differ by: 32 divides one image only."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def suggest_target_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `size=skip.shape[2:]` for `scale_factor=2`, where the result meets `skip`
    and is some pixels larger or smaller.
    """
    op = program.trace.ops[failure.op]
    places = find_tensor_expressions(program, op)
    for at, fact in enumerate(op.inputs):
        maker = _find_upsampling(program, fact)
        text_and_call = program.call_at(maker.span) if maker is not None else None
        if text_and_call is None:
            continue
        text, call = text_and_call
        scaled = _find_scaled_call(call)
        sizes = [
            f"{text.written(place[0])}.shape[2:]"
            for other, place in enumerate(places)
            if other != at
            and place is not None
            and len(op.inputs[other].shape) == len(fact.shape)
            and _is_known(program, op, text, call, place[0])
        ]
        if scaled is not None:
            sizes += _list_written_sizes(text, scaled)
        more = list(_iter_targets_of_others(program, op, at)) if len(sizes) == 1 else []
        for size in dict.fromkeys(sizes):
            fix = _write_size(text, call, scaled, size)
            yield join_levels(fix, more) if more else fix


def _iter_targets_of_others(program: Program, op: Op, at: int) -> Iterator[Fix]:
    """Yield `size=` for what is upsampled at the other levels."""
    place = program.node(op.span)
    if place is None or len(op.inputs) != 2:
        return
    text, join = place
    for level in list_other_levels(text, join, at, 1 - at):
        scaled = _find_scaled_call(level.call)
        size = f"{text.written(level.beside)}.shape[2:]"
        yield _write_size(text, level.call, scaled, size)


def suggest_output_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.up(x, output_size=skip.shape[2:])` for a transposed convolution
    whose result is smaller than what it meets by less than its stride.
    """
    op = program.trace.ops[failure.op]
    places = find_tensor_expressions(program, op)
    for at, fact in enumerate(op.inputs):
        maker = _find_transposed(program, fact)
        text_and_call = program.call_at(maker.span) if maker is not None else None
        if maker is None or text_and_call is None:
            continue
        text, call = text_and_call
        if not _is_called_itself(program, maker) or len(list_arguments(call)) != 1:
            continue
        if not _is_multiplied(maker):
            continue
        for other, place in enumerate(places):
            if other == at or place is None or not _is_larger(op.inputs[other], fact):
                continue
            if _is_known(program, op, text, call, place[0]):
                size = f"output_size={text.written(place[0])}.shape[2:]"
                fix = with_keyword(text, call, size)
                more = list(_iter_sizes_of_others(program, op, at, other))
                yield join_levels(fix, more) if more else fix


def _iter_sizes_of_others(
    program: Program, op: Op, at: int, other: int
) -> Iterator[Fix]:
    """Yield `output_size=` for the transposed convolutions of the other levels."""
    place = program.node(op.span)
    for level in list_other_levels(*place, at, other) if place is not None else ():
        maker = program.op_at(place[0].span(level.call)) if place is not None else None
        is_transposed = maker is not None and "conv_transpose" in maker.name
        if place is not None and is_transposed and len(list_arguments(level.call)) == 1:
            size = f"output_size={place[0].written(level.beside)}.shape[2:]"
            yield with_keyword(place[0], level.call, size)


def suggest_resized_map(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.interpolate(x, size=skip.shape[2:])` for what was upsampled, where it
    meets a map that is some pixels larger or smaller.
    """
    op = program.trace.ops[failure.op]
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return
    text = text_and_node[0]
    places = find_tensor_expressions(program, op)
    pairs = [place[0] if place is not None else None for place in places]
    for at, (fact, place) in enumerate(zip(op.inputs, pairs, strict=False)):
        if place is None or not _is_of_decoder(program, fact):
            continue
        for by, (other, known) in enumerate(zip(op.inputs, pairs, strict=False)):
            if known is not None and other is not fact and _is_about(other, fact):
                size = f"{text.written(known)}.shape[2:]"
                fix = _write_size(text, place, None, size)
                more = []
                for level in list_other_levels(text, text_and_node[1], at, by):
                    size = f"{text.written(level.beside)}.shape[2:]"
                    more.append(_write_size(text, level.upsampled, None, size))
                yield join_levels(fix, more) if more else fix
                break
        if at > 1:
            return


def _is_multiplied(maker: Op) -> bool:
    """Return whether a call makes maps that are a whole number of times as large: what
    they miss is then a row that an odd size lost, not a padding of the layer.
    """
    pairs = zip(maker.outputs[0].shape[2:], maker.inputs[0].shape[2:], strict=False)
    return all(before and after % before == 0 for after, before in pairs)


def _is_called_itself(program: Program, maker: Op) -> bool:
    """Return whether a layer is called by its own name, not by a `Sequential`."""
    built = program.built.get(maker.module)
    text_and_call = program.call_at(built.span) if built is not None else None
    if text_and_call is None:
        return False
    text, call = text_and_call
    return not any(
        isinstance(node, ast.Call) and get_called_name(node) == "Sequential"
        for node in text.outwards(call)
    )


def _is_larger(other: Fact, fact: Fact) -> bool:
    """Return whether a map has some pixels more, and no fewer, than another."""
    same = len(other.shape) == len(fact.shape) > 2
    return (
        same
        and all(a >= b for a, b in zip(other.shape[2:], fact.shape[2:], strict=True))
        and other.shape[2:] != fact.shape[2:]
    )


def _is_about(other: Fact, fact: Fact) -> bool:
    """Return whether two maps have nearly the same number of pixels, not the same."""
    if not len(other.shape) == len(fact.shape) > 2:
        return False
    pairs = list(zip(other.shape[2:], fact.shape[2:], strict=True))
    return other.shape[2:] != fact.shape[2:] and all(
        abs(a - b) <= MOST_PIXELS and 2 * abs(a - b) < max(a, b) for a, b in pairs
    )


def _is_of_decoder(program: Program, fact: Fact) -> bool:
    """Return whether a map was upsampled after all that made it smaller."""
    for maker in iter_first_makers(program, fact, ALL_OF_A_DECODER):
        name = maker.name.rpartition(".")[2]
        if name in UPSAMPLING or "conv_transpose" in name:
            return _is_multiplied(maker)
        before = maker.inputs[0].shape if maker.inputs else ()
        if len(before) != len(fact.shape) or before[2:] > maker.outputs[0].shape[2:]:
            return False
    return False


def suggest_output_padding(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `output_padding=(0, 1, 1)` for a transposed convolution whose result is
    smaller than what it meets by less than its stride.
    """
    op = program.trace.ops[failure.op]
    for at, fact in enumerate(op.inputs):
        maker = _find_transposed(program, fact)
        built = program.built.get(maker.module) if maker is not None else None
        text_and_call = program.call_at(built.span) if built is not None else None
        for other in op.inputs[:at] + op.inputs[at + 1 :]:
            if text_and_call is None or len(other.shape) != len(fact.shape):
                continue
            lacking = [b - a for a, b in zip(fact.shape[2:], other.shape[2:],
                                             strict=True)]  # fmt: skip
            text, call = text_and_call
            if lacking and set(lacking) == {-1} and maker is not None:
                yield from _suggest_doubling(text, call, maker)
            if min(lacking) < 0 or not any(lacking):
                continue
            new = str(lacking[0]) if len(set(lacking)) == 1 else str(tuple(lacking))
            words = {word.arg: word.value for word in call.keywords}
            if "output_padding" in words:
                edit = Edit(text.span(words["output_padding"]), new)
                yield Fix("fits", f"`output_padding={new}`", (edit,))
            else:
                yield with_keyword(text, call, f"output_padding={new}")


def _suggest_doubling(text: SourceText, call: ast.Call, maker: Op) -> Iterator[Fix]:
    """Suggest `padding=1, output_padding=1` for a transposed convolution of three by
    three with a stride of two, whose result is one pixel more than twice its input.
    """
    words = {word.arg for word in call.keywords}
    came, left = maker.inputs[0].shape[2:], maker.outputs[0].shape[2:]
    kernel = maker.inputs[1].shape[2:] if len(maker.inputs) > 1 else ()
    is_doubled = all(
        size == 2 * less + 1 for less, size in zip(came, left, strict=True)
    )
    is_bare = len(call.args) < 5 and not words & {"padding", "output_padding", None}
    if set(kernel) == {3} and is_doubled and is_bare:
        yield with_keyword(text, call, "padding=1, output_padding=1")


def suggest_fitting_output_padding(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `output_padding=stride - 1` for a layer whose stride allows no more: of
    even sizes, that is what the convolution that it undoes has lost.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != OUTPUT_PADDING_TOO_LARGE:
        return
    layer = program.layer(program.trace.ops[failure.op])
    built = program.built.get(layer.path) if layer is not None else None
    text_and_call = program.call_at(built.span) if built is not None else None
    if text_and_call is None:
        return
    text, call = text_and_call
    words = {word.arg: word.value for word in call.keywords}
    padding = words.get("output_padding", call.args[5] if len(call.args) > 5 else None)
    stride = words.get("stride", call.args[3] if len(call.args) > 3 else None)
    if padding is None:
        return
    number = 1 if stride is None else evaluate_whole_number(stride)
    if number is not None:
        new = str(number - 1)
    elif isinstance(stride, ast.Name | ast.Attribute):
        new = f"{text.written(stride)} - 1"
    else:
        return
    edit = Edit(text.span(padding), new)
    yield Fix("fits", f"`output_padding={new}`", (edit,))


def suggest_all_output_paddings(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `output_padding=1` for all transposed convolutions of stride 2 behind a
    result that is smaller than what it meets: each lost a row of what came from an
    even size.
    """
    op = program.trace.ops[failure.op]
    for at, fact in enumerate(op.inputs):
        shapes = [other.shape for other in op.inputs[:at] + op.inputs[at + 1 :]]
        if not any(
            len(shape) == len(fact.shape) and fact.shape[2:] < shape[2:]
            for shape in shapes
        ):
            continue
        edits: dict[Span, Edit] = {}
        message = ""
        for layer in _iter_transposed(program, fact):
            built = program.built.get(layer)
            text_and_call = program.call_at(built.span) if built is not None else None
            if built is None or text_and_call is None:
                continue
            text, call = text_and_call
            words = {word.arg: word.value for word in call.keywords}
            at_place = call.args[3] if len(call.args) > 3 else None
            node = words.get("stride", at_place)
            stride = evaluate_whole_number(node) if node is not None else None
            if stride is None or stride < 2 or "output_padding" in words:
                continue
            fix = with_keyword(text, call, f"output_padding={stride - 1}")
            message = fix.message
            edits |= {edit.span: edit for edit in fix.edits}
        if len(edits) > 1:
            more = f" and {len(edits) - 1} more"
            yield Fix("fits", f"{message}{more}", tuple(edits.values()))


def _iter_transposed(program: Program, fact: Fact) -> Iterator[str]:
    """Yield the paths of the transposed convolutions behind a tensor."""
    for maker in iter_first_makers(program, fact, ALL_OF_A_DECODER):
        if "conv_transpose" in maker.name:
            yield maker.module


def _find_transposed(program: Program, fact: Fact) -> Op | None:
    """Return the transposed convolution that gave a tensor its size."""
    for maker in iter_first_makers(program, fact):
        if "conv_transpose" in maker.name:
            return maker
        if not maker.inputs or maker.inputs[0].shape[2:] != fact.shape[2:]:
            return None
    return None


def _find_upsampling(program: Program, fact: Fact) -> Op | None:
    """Return the call by a factor that gave a tensor its size, or None."""
    for maker in iter_first_makers(program, fact):
        if maker.name.rpartition(".")[2] in UPSAMPLING:
            arguments = dict(maker.arguments)
            by_factor = arguments.get("scale_factor", arguments.get("2")) is not None
            return maker if by_factor else None
        if not maker.inputs or maker.inputs[0].shape[2:] != fact.shape[2:]:
            return None
    return None


def _find_scaled_call(call: ast.Call) -> ast.Call | None:
    """Return the call with `scale_factor=`: of the function, or of a layer that is
    built on the spot.
    """
    for candidate in (call, call.func):
        if isinstance(candidate, ast.Call) and _get_scale(candidate) is not None:
            return candidate
    return None


def _get_scale(call: ast.Call) -> ast.keyword | None:
    words = (word for word in call.keywords if word.arg == "scale_factor")
    return next(words, None)


def _is_known(
    program: Program, op: Op, text: SourceText, call: ast.Call, other: ast.expr
) -> bool:
    """Return whether a name of the failing call has its value at the upsampling."""
    text_and_node = program.node(op.span)
    scope = text.around(call, ast.FunctionDef, ast.AsyncFunctionDef)
    if (
        text_and_node is None
        or text_and_node[0].file != text.file
        or not isinstance(other, ast.Name)
    ):
        return False
    if (
        text.around(text_and_node[1], ast.FunctionDef, ast.AsyncFunctionDef)
        is not scope
    ):
        return False
    lines = [
        target.lineno
        for target, _ in iter_assignments(scope if scope is not None else text.tree)
        if other.id in collect_names(target)
    ]
    is_parameter = isinstance(scope, Function) and other.id in _list_parameters(scope)
    return is_parameter or min(lines, default=call.lineno) < call.lineno


def _list_parameters(scope: Function) -> list[str]:
    arguments = scope.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args,
                            *arguments.kwonlyargs)]  # fmt: skip


def _list_written_sizes(text: SourceText, call: ast.Call) -> list[str]:
    """Return the sizes by which a factor was computed: `out` of `out[0] / in_h`."""
    scope = text.around(call, ast.FunctionDef, ast.AsyncFunctionDef)
    scale = _get_scale(call)
    if not isinstance(scope, Function) or scale is None:
        return []
    names = collect_names(scale.value)
    values = [scale.value]
    for target, value in iter_assignments(scope, before=call.lineno):
        if names & collect_names(target):
            values.append(value)
    parameters = _list_parameters(scope)
    indexed, plain = [], []
    for value in values:
        for node in ast.walk(value):
            dividend = node.left if isinstance(node, ast.BinOp) else None
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            for part in ast.walk(dividend) if dividend is not None else ():
                owner = part.value if isinstance(part, ast.Subscript) else None
                if isinstance(owner, ast.Name) and owner.id in parameters:
                    indexed.append(f"tuple({owner.id})")
                elif isinstance(part, ast.Name) and part.id in parameters:
                    plain.append(part.id)
    own = [f"tuple({name})" for name in plain]
    pair = [f"({', '.join(plain)})"] if len(plain) == 2 else []
    return [*indexed, *(pair if not indexed else []), *(own if not indexed else [])]


def _write_size(
    text: SourceText, call: ast.expr, scaled: ast.Call | None, size: str
) -> Fix:
    """Return the fix that writes `size=` for the factor, or resizes what a layer
    returns.
    """
    scale = _get_scale(scaled) if scaled is not None else None
    if scale is None:
        span = text.span(call)
        names = {node.id for node in text.nodes if isinstance(node, ast.Name)}
        function = "F" if "F" in names else "torch.nn.functional"
        new = f"{function}.interpolate({text.written(call)}, size={size})"
        return Fix("fits", f"`{join_lines(new)}`", (Edit(span, new),))
    end = text.span(scale.value)
    start = Span(end.file, scale.lineno, text.column(scale.lineno, scale.col_offset),
                 end.end_line, end.end_column)  # fmt: skip
    return Fix("fits", f"`size={size}`", (Edit(start, f"size={size}"),))


def suggest_spatial_size(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `size=x.shape[-2:]` for `x.shape[1:]`, which has the channels, too."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    place = program.call_at(op.span)
    if unmet is None or unmet.code != INTERPOLATED_SIZES or place is None:
        return
    text, call = place
    words = {keyword.arg: keyword.value for keyword in call.keywords}
    size = next(iter([*call.args[1:2], words.get("size")]), None)
    count = len(op.inputs[0].shape) - 2
    sizes = [
        size,
        *(find_defining(text, size.id) if isinstance(size, ast.Name) else ()),
    ]
    for value in sizes:
        inner = value.value if isinstance(value, ast.Subscript) else value
        if inner is None or get_shape_owner(inner) is None:
            continue
        new = f"{text.written(inner)}[-{count}:]"
        if isinstance(value, ast.expr) and text.written(value) != new:
            shown = new
            if value is not size:  # where the size has its name
                statement = text.line_of(text.statement_of(value))
                shown = statement.replace(text.line_of(value), new)
            yield Fix("fits", f"`{shown}`", (Edit(text.span(value), new),))


def suggest_channels_of_maps(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.interpolate(maps.unsqueeze(1), ...).squeeze(1)` for maps without
    channels, which have them for this call alone.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    place = program.call_at(op.span)
    if unmet is None or unmet.code != WRONG_RANK or place is None or not op.inputs:
        return
    text, call = place
    shape = op.inputs[0].shape
    if op.name.rpartition(".")[2] not in UPSAMPLING or not call.args:
        return
    layer = program.layer(op)
    if layer is not None and not _is_called_itself(program, op):
        return
    ranks = {"linear": 2, "bilinear": 3, "bicubic": 3, "trilinear": 4}
    modes = [ranks[str(word)] for _, word in op.arguments if str(word) in ranks]
    if modes != [len(shape)] or isinstance(call.args[0], ast.Starred):
        return
    dims = (0, 1) if shape[0] in (1, 3, 4) else (1, 0)  # of an image, of samples
    value, end = text.span(call.args[0]), text.span(call).end
    written = text.written(call.args[0])
    is_simple = isinstance(
        call.args[0], ast.Name | ast.Attribute | ast.Call | ast.Subscript
    )
    for dim in dims:
        new = f"{written if is_simple else f'({written})'}.unsqueeze({dim})"
        edits = (Edit(value, new), Edit(end, f".squeeze({dim})"))
        shown = f"{text.written(call.func)}({join_lines(new)}, ...).squeeze({dim})"
        yield Fix("fits", f"`{shown}`", edits)
