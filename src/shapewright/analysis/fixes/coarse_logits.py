"""Maps of logits that are smaller than the masks of a loss by a factor: they are
interpolated to the size of the images.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.layer_kinds import get_nn_name
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import BROADCAST_MISMATCH, TARGET_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_shape_owner,
    iter_assignments,
    iter_own_nodes,
)
from shapewright.record.ops import Fact, ModuleCall, collect_leaves

Function = ast.FunctionDef | ast.AsyncFunctionDef
LOSSES = operators_with("is_loss")
MODES = {4: "bilinear", 5: "trilinear"}
"""How maps of as many dims are interpolated."""
LEAST_FACTOR = 1.5
"""A smaller one is of convolutions without padding."""
MOST_UNEVEN = 1.25
"""How far the factors of height and width differ at most, as sizes are rounded."""


def suggest_interpolated_logits(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.interpolate(logits, size=x.shape[-2:], ...)` where a model returns
    maps that are smaller than its images, and the masks of the loss are as large as
    these.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in (TARGET_SHAPE, BROADCAST_MISMATCH):
        return
    if op.name.rpartition(".")[2] not in LOSSES or len(op.inputs) < 2:
        return
    logits, target = op.inputs[:2]
    call = _find_model(program, logits)
    if call is None or not _is_coarse(logits, target):
        return
    sides = target.shape[-2:]
    images = [f for f in collect_leaves(call.inputs) if f.ndim in MODES]
    if not any(image.shape[-2:] == sides for image in images):
        return  # the masks are not of the size of the images
    yield from _write_in_forward(program, call)
    places = find_tensor_expressions(program, op)
    text_and_node = program.node(op.span)
    if text_and_node is None or len(places) < 2 or logits.ndim not in MODES:
        return
    if places[0] is not None and places[1] is not None:
        text, dims = text_and_node[0], logits.ndim - 2
        size = f"{text.written(places[1][0])}.shape[-{dims}:]"
        new = _write_call(text, text.written(places[0][0]), size, logits.ndim)
        edit = Edit(text.span(places[0][0]), new)
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _is_coarse(logits: Fact, target: Fact) -> bool:
    """Return whether maps are smaller than others by about one factor."""
    if logits.ndim < 3 or target.ndim < 3:
        return False
    small, large = logits.shape[-2:], target.shape[-2:]
    if 0 in small or logits.shape[0] != target.shape[0]:
        return False
    factors = [b / a for a, b in zip(small, large, strict=True)]
    return min(factors) >= LEAST_FACTOR and max(factors) <= MOST_UNEVEN * min(factors)


def _find_model(program: Program, logits: Fact) -> ModuleCall | None:
    """Return the outermost call of a module that returned maps, or what is a view of
    them.
    """
    tensors = {logits.tensor}
    for maker in iter_first_makers(program, logits):
        if not maker.inputs or maker.inputs[0].shape[-2:] != logits.shape[-2:]:
            break
        tensors.add(maker.inputs[0].tensor)
        if maker.module:
            break
    of_maps = [
        call
        for call in program.trace.calls
        if isinstance(call.output, Fact)
        and call.output.tensor in tensors
        and call.output.shape[-2:] == logits.shape[-2:]
    ]
    return min(of_maps, key=lambda call: call.depth, default=None)


def _write_in_forward(program: Program, call: ModuleCall) -> Iterator[Fix]:
    """Suggest the interpolation where the model returns its maps."""
    forwards = [
        (text, node)
        for text in program.own_texts()
        for name, node in text.functions("forward")
        if name.rpartition(".")[0].rpartition(".")[2] == call.class_name
    ]
    if len(forwards) != 1:
        return
    text, forward = forwards[0]
    returns = [n for n in iter_own_nodes(forward) if isinstance(n, ast.Return)]
    arguments = [argument.arg for argument in forward.args.args]
    if len(returns) != 1 or len(arguments) != 2 or returns[0].value is None:
        return
    value, ndim, behind = returns[0].value, call.output.ndim, ""
    if ndim == 3 and get_called_name(value) == "squeeze":
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return
        inner = value.func.value
        behind = text.at(text.span(inner).end.until(text.span(value).end))
        if behind != ".squeeze(1)":
            return
        value, ndim = inner, 4
    if ndim not in MODES or isinstance(value, ast.Tuple | ast.Dict | ast.List):
        return
    edits = []
    size = _find_known_size(text, forward, arguments[1], ndim - 2)
    if not size:
        size = "size" if "size" not in collect_names(forward) else "image_size"
        line = f"{size} = {arguments[1]}.shape[-{ndim - 2}:]"
        edits.append(write_before(text, _get_first_statement(forward), line))
    new = _write_call(text, text.written(value), size, ndim)
    edits.append(Edit(text.span(value), new))
    yield Fix("fits", f"`return {join_lines(new)}{behind}`", tuple(edits))


def _find_known_size(
    text: SourceText, forward: Function, argument: str, dims: int
) -> str:
    """Return how `forward` can write the height and width of its input where it
    returns: by a name that holds them, or of the input, if it keeps its name.
    """
    changed = [
        target.lineno
        for target, _ in iter_assignments(forward)
        if argument in collect_names(target, ast.Store)
    ]
    first = min(changed, default=None)
    for target, value in iter_assignments(forward):
        owner = (
            get_shape_owner(value.value) if isinstance(value, ast.Subscript) else None
        )
        if owner is None or not isinstance(target, ast.Name):
            continue
        is_early = first is None or target.lineno < first
        part = text.written(value.slice) if isinstance(value, ast.Subscript) else ""
        if is_early and text.written(owner) == argument and part in ("2:", f"-{dims}:"):
            return target.id
    return "" if changed else f"{argument}.shape[-{dims}:]"


def _get_first_statement(function: Function) -> ast.stmt:
    """Return the first statement of a function behind its docstring."""
    first = function.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1] if is_text and len(function.body) > 1 else first


def _write_call(text: SourceText, written: str, size: str, ndim: int) -> str:
    """Return the call that interpolates maps to a size."""
    words = f'size={size}, mode="{MODES[ndim]}", align_corners=False'
    return f"{_get_functional(text)}.interpolate({written}, {words})"


def _get_functional(text: SourceText) -> str:
    """Return how a file names `torch.nn.functional`."""
    for node in text.nodes:
        module = node.module if isinstance(node, ast.ImportFrom) else ""
        for alias in (
            node.names if isinstance(node, ast.Import | ast.ImportFrom) else ()
        ):
            full = f"{module}.{alias.name}" if module else alias.name
            if full == "torch.nn.functional" and (alias.asname or module):
                return alias.asname or alias.name
    return f"{get_nn_name(text)}.functional"
