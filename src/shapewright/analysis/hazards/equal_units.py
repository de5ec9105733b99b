"""Find weights of two layers in a row that the program sets to one number: the units
between them compute the same, get the same gradient, and stay alike.

One such layer beside a layer of random weights is harmless, and biases drawn at random
tell the units apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.makers import iter_first_makers
from shapewright.findings.codes import EQUAL_UNITS, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    get_own_attribute,
)
from shapewright.record.ops import Op

SETTING = frozenset({"constant_", "ones_", "zeros_", "fill_", "zero_"})
"""What gives all elements one number."""
KINDS = frozenset({"Linear", "Conv1d", "Conv2d", "Conv3d"})
LAYERS = frozenset({"linear"}) | operators_with("is_convolution")
PRODUCTS = operators_with("is_product") | {"linear"}
FARTHEST = 6
"""Calls between two layers in a row."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """A statement that gives weights one number, and of which layers."""

    text: SourceText
    call: ast.Call
    kinds: frozenset[str]
    attribute: str


@looks_for(EQUAL_UNITS)
def find_equal_units(scene: HazardContext) -> Iterator[Finding]:
    """Find a layer of equal weights behind another one."""
    settings = [
        setting
        for text in scene.program.own_texts()
        for setting in _iter_settings(text)
    ]
    if not settings:
        return
    kinds = {call.path: call.class_name for call in scene.program.trace.calls}
    seen: set[object] = set()
    for op in scene.program.trace.ops:
        if op.name.rpartition(".")[2] not in LAYERS or not op.inputs:
            continue
        before = _find_layer_before(scene, op)
        if before is None or before.module == op.module or before.outputs[0].ndim < 2:
            continue
        setting = _find_setting(settings, before.module, kinds)
        behind = _find_setting(settings, op.module, kinds)
        if setting is None or behind is None or setting.call in seen:
            continue
        units = before.inputs[1].shape[0] if len(before.inputs) > 1 else 0
        has_bias = len(before.inputs) > len(("input", "weight"))
        if units < 2 or (has_bias and not _has_set_biases(setting)):
            continue
        seen.add(setting.call)
        message = (
            f"all weights of `{before.module}` are one number, and so are those of"
            f" `{op.module}` behind it: its {units} units compute the same, get the"
            " same gradient, and stay alike"
        )
        place = Related(behind.text.span(behind.call), "the layer behind is set here")
        yield Finding(
            EQUAL_UNITS,
            "warning",
            message,
            setting.text.span(setting.call),
            before.module,
            related=(place,) if behind.call is not setting.call else (),
        )


def _find_layer_before(scene: HazardContext, op: Op) -> Op | None:
    """Return the layer whose output a layer reads, through activations."""
    for maker in iter_first_makers(scene.program, op.inputs[0], FARTHEST):
        name = maker.name.rpartition(".")[2]
        if name in LAYERS:
            return maker
        if name in PRODUCTS or "dropout" in name:
            return None
    return None


def _find_setting(
    settings: list[_Setting], path: str, kinds: dict[str, str]
) -> _Setting | None:
    """Return the statement that sets the weight of the layer at a path."""
    name = path.rpartition(".")[2]
    for setting in settings:
        if setting.attribute and setting.attribute == name:
            return setting
        if not setting.attribute and kinds.get(path) in setting.kinds:
            return setting
    return None


def _iter_settings(text: SourceText) -> Iterator[_Setting]:
    """Yield the statements that give the weights of layers one number, where nothing
    draws them afterwards.
    """
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) not in SETTING:
            continue
        weight = get_set_weight(text, call)
        if weight is None or weight.attr != "weight":
            continue
        attribute = get_own_attribute(weight.value)
        kinds = find_kinds(text, call, weight.value) & KINDS
        if not attribute and not kinds:
            continue
        if not _is_set_again(text, call, text.written(weight)):
            yield _Setting(text, call, kinds, attribute)


def get_set_weight(text: SourceText, call: ast.Call) -> ast.Attribute | None:
    """Return `m.weight` of `nn.init.ones_(m.weight)` and `m.weight.data.fill_(0.1)`."""
    owner = get_receiver(call)
    value: ast.expr | None = owner
    if owner is None or get_last_name(owner) == "init":
        value = call.args[0] if call.args else None
    while isinstance(value, ast.Attribute) and value.attr == "data":
        value = value.value
    return value if isinstance(value, ast.Attribute) else None


def find_kinds(text: SourceText, call: ast.Call, layer: ast.expr) -> frozenset[str]:
    """Return the classes of layers for which a statement runs: those of `isinstance`
    around it, if it is applied to all modules.
    """
    inner: ast.AST = call
    if not isinstance(layer, ast.Name):
        return frozenset()
    for outer in text.outwards(call):
        if isinstance(outer, ast.If) and inner in outer.body:
            test = outer.test
            is_of_layer = (
                isinstance(test, ast.Call)
                and get_called_name(test) == "isinstance"
                and text.written(test.args[0]) == layer.id
            )
            if is_of_layer and isinstance(test, ast.Call):
                classes = test.args[1]
                names = classes.elts if isinstance(classes, ast.Tuple) else [classes]
                kinds = frozenset(map(get_last_name, names))
                return kinds if _is_of_all(text, call, layer.id) else frozenset()
        inner = outer
    return frozenset()


def _is_of_all(text: SourceText, call: ast.Call, name: str) -> bool:
    """Return whether a statement is run for all modules: in a function that `apply` is
    given, or in a loop over `modules()`.
    """
    function = text.around(call, *FUNCTIONS)
    loops = [outer for outer in text.outwards(call) if isinstance(outer, ast.For)]
    for loop in loops:
        is_own = name == text.written(loop.target)
        if is_own and get_called_name(loop.iter) == "modules":
            return True
    return isinstance(function, ast.FunctionDef) and any(
        isinstance(node, ast.Call)
        and get_called_name(node) == "apply"
        and any(get_last_name(argument) == function.name for argument in node.args)
        for node in text.nodes
    )


def _is_set_again(text: SourceText, call: ast.Call, weight: str) -> bool:
    """Return whether a later statement of the function reads or draws the weight."""
    return any(
        isinstance(node, ast.Attribute)
        and node.lineno > call.lineno
        and text.written(node) == weight
        for node in _list_nodes(text, call)
    )


def _has_set_biases(setting: _Setting) -> bool:
    """Return whether the function that sets a weight gives the bias one number too."""
    text = setting.text
    weight = get_set_weight(text, setting.call)
    assert weight is not None
    owner = text.written(weight.value)
    for node in _list_nodes(text, setting.call):
        if not isinstance(node, ast.Call) or get_called_name(node) not in SETTING:
            continue
        bias = get_set_weight(text, node)
        if bias is not None and text.written(bias) == f"{owner}.bias":
            return True
    return False


def _list_nodes(text: SourceText, call: ast.Call) -> list[ast.AST]:
    """Return the nodes of the function that a statement belongs to, or of the file."""
    function = text.around(call, *FUNCTIONS)
    return [*text.nodes] if function is None else [*ast.walk(function)]
