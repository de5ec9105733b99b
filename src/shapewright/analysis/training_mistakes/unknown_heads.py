"""Layers that nothing calls: heads under a name that a library's model does not have,
`model.fc` of one that calls `classifier`; heads of other tasks, of which each call
chooses one; what a flag of the model switches off; a layer that another one replaces.
"""

from __future__ import annotations

import ast

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import NO_GRADIENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_line,
    get_last_name,
    get_own_attribute,
    iter_assignments,
    list_parameters,
)
from shapewright.record.report import Optimized

REPLACED = "another layer takes their place here"


def find_unknown_head(scene: RehearsalContext, layers: list[str]) -> Finding | None:
    """Return that nothing calls a layer which the program sets on a library's model, as
    its head has another name; None if the model has no other head of the same width.
    """
    root, _, name = layers[0].partition(".")
    if len(layers) != 1 or not name or "." in name:
        return None
    own = {
        node.name
        for text in scene.program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.ClassDef)
    }
    built = scene.program.built.get(layers[0])
    whole = scene.program.built.get(root)
    class_name = whole.class_name if whole is not None else root
    if built is None or class_name in own:
        return None
    width = dict(built.values).get("in_features")
    heads = [
        path
        for path, other in scene.program.built.items()
        if path.startswith(f"{root}.") and path != layers[0]
        if other.class_name == built.class_name and width is not None
        if dict(other.values).get("in_features") == width
    ]
    for text in scene.program.own_texts() if len(heads) == 1 else ():
        for target, _ in iter_assignments(text.tree):
            if not isinstance(target, ast.Attribute) or target.attr != name:
                continue
            model = text.written(target.value)
            head = heads[0].removeprefix(f"{root}.")
            return build_finding(
                NO_GRADIENT,
                f"`{model}.{name}` is no layer of `{class_name}`, and nothing calls it:"
                f" its head is `{model}.{head}`",
                text.span(target),
            )
    return None


def find_replaced_layer(
    scene: RehearsalContext, optimizer: Span | None, layers: list[str]
) -> Span | None:
    """Return where a program puts another layer in the place of the one whose
    parameters an optimizer above holds: `model.fc = nn.Linear(512, 4)`.
    """
    place = scene.program.call_at(optimizer)
    names = {layer.partition(".")[2] for layer in layers}
    if place is None or len(names) != 1:
        return None
    text, call = place
    (path,) = names
    for target, _ in iter_assignments(text.tree):
        name = get_dotted_name(target)
        is_behind = target.lineno > get_last_line(call)
        if is_behind and path and name.endswith(f".{path}"):
            owner = name.removesuffix(f".{path}")
            if owner.partition(".")[0] in collect_names(call):
                return text.span(target)
    return None


def is_head_of_other_task(scene: RehearsalContext, group: Optimized, path: str) -> bool:
    """Return whether a parameter is of one of several heads, of which the caller of the
    model chooses another: `self.heads[task](x)`.
    """
    parts = path.split(".")
    for at in range(1, len(parts) - 2):
        container = ".".join(parts[: at + 1]) + "."
        heads = {
            container + call.path.removeprefix(container).partition(".")[0]
            for call in scene.program.trace.calls
            if call.path.startswith(container)
        }
        idle = {".".join(other.split(".")[: at + 2]) for other in group.never}
        if heads - idle and _is_chosen(scene, parts[at]):
            return True
    return False


def _is_chosen(scene: RehearsalContext, name: str) -> bool:
    """Return whether the text takes a module out of a container by an index that a
    function is given, or that an attribute holds.
    """
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Subscript):
                continue
            is_container = isinstance(node.value, ast.Attribute)
            if not is_container or get_last_name(node.value) != name:
                continue
            index = node.slice
            if isinstance(index, ast.Call) and get_called_name(index) == "str":
                index = index.args[0] if index.args else index
            function = text.around(node, *FUNCTIONS)
            if isinstance(index, ast.Attribute) and get_own_attribute(index):
                return True
            if isinstance(index, ast.Name) and index.id in list_parameters(function):
                return True
    return False


def is_switched_off(scene: RehearsalContext, path: str) -> bool:
    """Return whether a layer is called only where a flag of its model says so:
    `if self.use_norm: x = self.norm(x)`.
    """
    layer = path.rpartition(".")[0]
    name = layer.rpartition(".")[2]
    if any(op.module == layer for op in scene.program.trace.ops):
        return False
    reads = [
        (text, node)
        for text in scene.program.own_texts()
        for node in text.nodes
        if get_own_attribute(node) == name and isinstance(node.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    return bool(reads) and all(_is_under_flag(text, node, name) for text, node in reads)


def _is_under_flag(text: SourceText, node: ast.AST, name: str) -> bool:
    """Return whether another attribute of the model than the one that is read decides
    if an expression is reached.
    """
    for parent in text.outwards(node):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If | ast.IfExp):
            flags = {get_own_attribute(part) for part in ast.walk(parent.test)}
            if flags - {"", name, "training"}:
                return True
    return False
