"""Find calls of `F.dropout` that `eval()` does not switch off, and samples of a model
whose dropout it has switched off.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.explicit_dropout import (
    DROPOUTS,
    find_explicit_dropout,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import DROPOUT_ALWAYS_ON, EQUAL_SAMPLES, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    is_starred,
)
from shapewright.record.ops import ModuleCall, Op, collect_leaves


@looks_for(DROPOUT_ALWAYS_ON)
def find_constant_dropout(scene: HazardContext) -> Iterator[Finding]:
    """Find `F.dropout(x, p)` in a module, without the module's mode."""
    yield from find_explicit_dropout(scene)
    for call in scene.calls:
        if call.name not in DROPOUTS or not call.given(1, "p", default=0.5):
            continue
        if _is_new_layer(scene, call.op):
            message = (
                "this layer is built anew in each call, in training mode: its dropout"
                " drops elements in evaluation too, since `eval()` does not reach it"
            )
            yield scene.finding(DROPOUT_ALWAYS_ON, call.op, message)
        elif scene.in_user_code(call.op) and _is_without_mode(scene, call.op):
            message = (
                f"{scene.operation(call.op)} drops elements in evaluation too: without"
                " `training=self.training`, `eval()` does not switch it off"
            )
            yield scene.finding(DROPOUT_ALWAYS_ON, call.op, message)
    seen: set[object] = set()
    for call in scene.calls:
        if call.op.span in seen or not scene.in_user_code(call.op):
            continue
        is_attention = call.name == "scaled_dot_product_attention"
        drops = is_attention and call.given(4, "dropout_p", default=0)
        if drops and _is_without_mode(scene, call.op, ""):
            seen.add(call.op.span)
            message = (
                f"{scene.operation(call.op)} drops weights in evaluation too: it is a"
                " function, and `eval()` does not change its `dropout_p`"
            )
            yield scene.finding(DROPOUT_ALWAYS_ON, call.op, message)
        elif call.name in SCALING and _is_mask_by_hand(scene, call):
            seen.add(call.op.span)
            message = (
                "this drops elements by hand, in evaluation too: nothing here asks for"
                " `self.training`"
            )
            yield scene.finding(DROPOUT_ALWAYS_ON, call.op, message)


SCALING = operators_with("divides_elements") | {"*", "mul", "*=", "mul_"}
DRAWS_OF_MASKS = operators_with("compares_elements") | {"<", "floor"}
ON_PURPOSE = re.compile(r"(?i)\bmc|_mc|monte|carlo|bayes|training|diffusion|mask_ratio")
"""What the text around a draw has that is meant in evaluation, or that knows its
mode.
"""


def _is_mask_by_hand(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call is the `x * mask / keep` of dropout that a module's own
    `forward` writes or calls, where the program has an evaluation.
    """
    if not any(fact.requires_grad for fact in call.op.inputs):
        return False
    factors = _iter_factors(scene, call)
    masks = [maker for maker in factors if _is_drawn(scene, maker)]
    numbers = [maker for maker in factors if _is_by_number(maker)]
    if not masks or not numbers or not _is_in_forward(scene, call.op):
        return False
    return any(".eval()" in text.text for text in scene.program.own_texts())


def _iter_factors(scene: HazardContext, call: OperatorCall) -> list[OperatorCall]:
    """Return a product or quotient with the calls that made its factors."""
    factors, waiting = [call], [call]
    while waiting and len(factors) < 12:
        for fact in waiting.pop(0).op.inputs:
            maker = scene.maker(fact)
            if maker is None or maker.op.span is None:
                continue
            if maker.op.frames[:-1] != call.op.frames[:-1]:
                continue
            factors.append(maker)
            if maker.name in SCALING | MOVES | VIEWS:
                waiting.append(maker)
    return factors


VIEWS = operators_with("regroups_dims") | operators_with("moves_dims") | {"[]"}


def _is_by_number(call: OperatorCall) -> bool:
    """Return whether a call divides or multiplies by a number that is no tensor."""
    return call.name in SCALING and len(call.op.inputs) == 1


def _is_drawn(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call makes a mask of random numbers, without a graph."""
    out = call.op.outputs[0]
    users = scene.users.get(out.tensor, ())
    names = {call.name, *(user.name for user in users if user.op.kind == "inplace")}
    if out.requires_grad:
        return False
    if any(name.startswith("bernoulli") for name in names):
        return True
    if not {name.rstrip("_") for name in names} & DRAWS_OF_MASKS:
        return False
    for fact in call.op.inputs:
        maker = scene.maker(fact)
        while maker is not None and maker.name in ("+", "add", "-") and maker.op.inputs:
            maker = scene.maker(maker.op.inputs[0])
        if maker is not None and maker.name in RANDOM:
            return True
    return False


def _is_in_forward(scene: HazardContext, op: Op) -> bool:
    """Return whether a module's `forward` makes a call, and nothing around it knows its
    mode or means to draw.
    """
    if not any(frame.function.endswith(".forward") for frame in op.frames):
        return False
    for frame in op.frames:
        place = scene.program.node(frame.span)
        if place is None:
            continue
        text, node = place
        around = text.around(node, ast.ClassDef) or text.around(node, ast.FunctionDef)
        if around is not None and ON_PURPOSE.search(text.written(around)):
            return False
    return True


def _is_new_layer(scene: HazardContext, op: Op) -> bool:
    """Return whether a method of a module calls a layer of dropout that it has just
    built: `nn.Dropout(p)(x)`.
    """
    if op.span is None or scene.in_user_code(op):
        return False
    text_and_call = scene.program.call_at(op.span)
    if text_and_call is None or not isinstance(text_and_call[1].func, ast.Call):
        return False
    text, node = text_and_call
    function = text.around(node, ast.FunctionDef)
    method = function is not None and isinstance(text.parent(function), ast.ClassDef)
    is_dropout = get_called_name(node.func).endswith("Dropout")
    return (
        method
        and is_dropout
        and not any(
            isinstance(outer, ast.Call) and get_called_name(outer) in ("train", "eval")
            for outer in text.outwards(node)
        )
    )


def _is_without_mode(scene: HazardContext, op: Op, parameter: str = "training") -> bool:
    """Return whether a method calls dropout and says nothing of training, neither by a
    parameter nor, where there is none, in its text.
    """
    text_and_call = scene.program.call_at(op.span)
    if text_and_call is None or is_starred(text_and_call[1]):
        return False
    text, node = text_and_call
    function = text.around(node, ast.FunctionDef)
    words = {word.arg for word in node.keywords}
    if not parameter:
        kind = text.around(node, ast.ClassDef)
        return kind is not None and ON_PURPOSE.search(text.written(kind)) is None
    return (
        function is not None
        and isinstance(text.parent(function), ast.ClassDef)
        and parameter not in words
        and len(node.args) < 3
    )


JOINS = operators_with("concatenates") | {"stack"}
RANDOM = operators_with("is_random") - DROPOUTS
FARTHEST = 6
"""Calls between the output of a model and the place where it is joined to others."""


@looks_for(EQUAL_SAMPLES)
def find_equal_samples(scene: HazardContext) -> Iterator[Finding]:
    """Find the spread of several calls of one model, in evaluation, with one input."""
    for call in scene.calls:
        if call.name.partition("_")[0] not in ("std", "var") or not call.op.inputs:
            continue
        join = scene.program.producers.get(call.op.inputs[0].tensor)
        if join is None or not _is_along_samples(scene.call(join), call):
            continue
        models = [_find_model_call(scene, fact.tensor) for fact in join.inputs]
        keys = {_find_source(scene, model) for model in models if model is not None}
        first = models[0]
        if None in models or len(keys) != 1 or first is None:
            continue
        if len({model.index for model in models if model is not None}) < 2:
            continue
        if _is_only_dropout_off(scene, first):
            yield scene.finding(
                EQUAL_SAMPLES,
                call.op,
                f"these {len(models)} outputs of `{first.class_name}` are the same: its"
                " dropout is off in evaluation, and the input is one",
                (join, "they are joined here"),
            )
            return
    yield from _find_equal_passes(scene)


SPREADS = frozenset(
    {"std", "var", "nanstd", "nanvar", "stdev", "pstdev", "variance", "std_mean",
     "var_mean", "quantile", "percentile"}
)  # fmt: skip
"""Names of functions, of arrays too, that measure how far samples are apart."""
LEAST = 3
"""Calls of one line with one input before anything is said."""


def _find_equal_passes(scene: HazardContext) -> Iterator[Finding]:
    """Find a line that calls a model in evaluation again and again with one input, in
    a function that measures the spread of what it collects.
    """
    groups: dict[tuple[object, ...], list[ModuleCall]] = {}
    for call in scene.program.trace.calls:
        if call.span is not None and _is_outermost(call):
            key = (call.span, *_find_source(scene, call))
            groups.setdefault(key, []).append(call)
    for calls in groups.values():
        first, last = calls[0], calls[-1]
        ops = scene.program.trace.ops[first.ops[0] : last.ops[1]]
        if len(calls) < LEAST or not ops or not _is_measured(scene, ops[0]):
            continue
        if _is_discarded(scene, first):
            continue  # as where calls are timed
        written = any(
            op.kind == "inplace" and fact.tensor in scene.program.states
            for op in ops
            for fact in op.outputs
        )
        if written or not _is_only_dropout_off(scene, first):
            continue
        message = (
            f"all outputs of `{first.class_name}` here are the same: its dropout is off"
            " in evaluation, and the input is one"
        )
        yield Finding(EQUAL_SAMPLES, "warning", message, first.span, first.path)


def _is_discarded(scene: HazardContext, call: ModuleCall) -> bool:
    """Return whether the program does nothing with what a call returns: `model(x)`
    alone, or under a name that its function never reads.
    """
    place = scene.program.node(call.span)
    if place is None:
        return False
    text, node = place
    statement = text.statement_of(node)
    if isinstance(statement, ast.Expr):
        return statement.value is node
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return False
    names = collect_names(statement, ast.Store)
    around = text.around(statement, ast.FunctionDef) or text.tree
    return around is not None and not names & collect_names(around, ast.Load)


def _is_measured(scene: HazardContext, op: Op) -> bool:
    """Return whether a function around a call measures a spread."""
    for frame in op.frames:
        place = scene.program.call_at(frame.span)
        if place is None:
            continue
        text, node = place
        function = text.around(node, ast.FunctionDef)
        if function is None or not text.around(node, ast.For, ast.comprehension):
            continue
        for inner in ast.walk(function):
            if isinstance(inner, ast.Call) and get_called_name(inner) in SPREADS:
                return True
    return False


def _is_outermost(call: ModuleCall) -> bool:
    """Return whether the program's own text called a module."""
    return call.depth == 1 or (call.depth == 0 and call.index > 0)


def _is_along_samples(join: OperatorCall, call: OperatorCall) -> bool:
    """Return whether a spread is taken along the dim that joins single tensors."""
    if join.name not in JOINS or len(join.op.inputs) < 2:
        return False
    rank = len(join.op.outputs[0].shape)
    dim = join.given(1, "dim", "axis", default=0)
    along = call.given(1, "dim", "axis")
    if isinstance(along, list | tuple) and len(along) == 1:
        along = along[0]
    if type(dim) is not int or type(along) is not int or dim % rank != along % rank:
        return False
    shapes = [fact.shape for fact in join.op.inputs]
    return join.name == "stack" or all(shape[dim % rank] == 1 for shape in shapes)


def _find_model_call(scene: HazardContext, tensor: int) -> ModuleCall | None:
    """Return the outermost call of a module that a tensor comes from, or None."""
    for _ in range(FARTHEST):
        op = scene.program.producers.get(tensor)
        if op is None:
            return None
        for call in scene.program.trace.calls:
            if _is_outermost(call) and call.ops[0] <= op.index < call.ops[1]:
                return call
        if len(op.inputs) != 1:
            return None
        tensor = op.inputs[0].tensor
    return None


MOVES = operators_with("keeps_elements") | operators_with("keeps_weights")
MOVES |= operators_with("moves_device")


def _find_source(scene: HazardContext, call: ModuleCall) -> tuple[object, ...]:
    """Return a key of a model and of what it is given, wherever that was moved."""
    tensors = []
    for fact in collect_leaves(call.inputs):
        tensor = fact.tensor
        op = scene.program.producers.get(tensor)
        while op is not None and op.name.rpartition(".")[2] in MOVES:
            tensor = op.inputs[0].tensor
            op = scene.program.producers.get(tensor)
        tensors.append(tensor)
    return call.path, *tensors


def _is_only_dropout_off(scene: HazardContext, call: ModuleCall) -> bool:
    """Return whether a model has dropout, which is off, and draws nothing else."""
    is_off = False
    for op in scene.program.trace.ops[call.ops[0] : call.ops[1]]:
        name = op.name.rpartition(".")[2]
        if name in RANDOM:
            return False
        if name in DROPOUTS:
            arguments = dict(op.arguments)
            if arguments.get("training") is not False:
                return False
            is_off = is_off or bool(arguments.get("p"))
    return is_off
