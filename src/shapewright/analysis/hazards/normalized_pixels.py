"""Find pixels that `Normalize` has scaled by their deviation, and that are divided by
255 behind it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import UNSCALED_PIXELS
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    iter_assignments,
)

WHITE = 255
NORMALIZING = re.compile(r"(_|\b)(Normalize|normalize|normalise)\b")
"""How a call or a transform is named that subtracts a mean and divides."""
KEEPING = (
    operators_with("copies_if_needed", "transposes_dims", "moves_dims", "moves_device")
    | operators_with("takes_program_data")
    | {"astype", "float", "copy", "array", "asarray", "ascontiguousarray", "to"}
)
"""Calls whose pixels have the scale of those that they are given."""
OF_QUOTIENTS = 0.05
"""Numbers of a few deviations, divided by 255, are smaller than this."""
FARTHEST = 4
"""Names between a division and a normalization, or a transform and its steps."""


def find_divided_normalized(scene: HazardContext) -> Iterator[Finding]:
    """Find `normalize(image) / 255`, also in two statements, where the data that the
    program reads are as small as that, or where a library normalizes.
    """
    for text in scene.program.own_texts():
        for node in text.nodes if NORMALIZING.search(text.text) else ():
            divided = _get_divided(node)
            if divided is None or not isinstance(node, ast.expr | ast.stmt):
                continue
            call = _find_normalization(text, divided, node)
            if call is None:
                continue
            steps = _describe_steps(text, call)
            if not steps or not (
                _has_small_pixels(scene) or _is_of_library(scene, steps)
            ):
                continue
            yield Finding(
                UNSCALED_PIXELS,
                "warning",
                f"the pixels of `{text.line_of(divided)}` are normalized already, to a"
                " deviation of about 1: divided by 255, they are next to 0",
                text.span(node),
                related=(Related(text.span(call), "they are normalized here"),),
            )


def _get_divided(node: ast.AST) -> ast.expr | None:
    """Return `x` of `x / 255`, `x /= 255` and `x * (1 / 255)`, or None."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
        return node.target if _is_white(node.value) else None
    if isinstance(node, ast.Call) and get_called_name(node) in ("div", "div_"):
        is_white = len(node.args) == 1 and _is_white(node.args[0])
        return get_receiver(node) if is_white else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.left if _is_white(node.right) else None
    return None


def _is_white(node: ast.expr) -> bool:
    """Return whether an expression is the number 255."""
    return isinstance(node, ast.Constant) and node.value == WHITE


def _find_normalization(
    text: SourceText, divided: ast.expr, place: ast.AST
) -> ast.Call | None:
    """Return the call whose result a division takes, through casts and names that were
    set last before it, or None.
    """
    function = text.around(place, *FUNCTIONS)
    line = getattr(place, "lineno", 0)
    for _ in range(FARTHEST):
        divided = _strip_conversions(divided)
        if isinstance(divided, ast.Call):
            return divided
        if not isinstance(divided, ast.Name) or function is None:
            return None
        name = divided.id
        before = [
            value
            for target, value in iter_assignments(function, before=line, unpacked=True)
            if isinstance(target, ast.Name) and target.id == name
        ]
        if not before:
            return None
        divided = max(before, key=lambda value: value.lineno)
        line = divided.lineno
    return None


def _strip_conversions(node: ast.expr) -> ast.expr:
    """Return `x` of `x.astype("float32")`, `np.array(x)` and `x["image"]`."""
    while True:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            node = node.value
        elif isinstance(node, ast.Call) and get_called_name(node) in KEEPING:
            owner = get_receiver(node)
            is_module = owner is not None and ast.unparse(owner) in ("np", "torch")
            if owner is None or (is_module and not node.args):
                return node
            node = node.args[0] if is_module else owner
        else:
            return node


def _describe_steps(text: SourceText, call: ast.Call) -> list[ast.Call]:
    """Return the normalizations of a call, the last step of a transform, or none."""
    if get_called_name(call) == "Normalize":
        return [call]
    if isinstance(call.func, ast.Call):
        return _describe_steps(text, call.func)
    names, seen = [get_last_name(call.func)], set[str]()
    for _ in range(FARTHEST):
        values = [
            value
            for name in names
            if name and name not in seen
            for value in find_defining(text, name)
        ]
        seen.update(names)
        steps = [step for value in values for step in _list_last_steps(value)]
        if steps:
            return steps
        names = [get_last_name(value) for value in values]
    is_named = NORMALIZING.search(get_last_name(call.func)) is not None
    return [call] if is_named else []


def _list_last_steps(value: ast.expr) -> list[ast.Call]:
    """Return the `Normalize(...)` that a transform is, or ends with."""
    if not isinstance(value, ast.Call):
        return []
    if get_called_name(value) == "Normalize":
        return [value]
    lists = [arg for arg in value.args if isinstance(arg, ast.List | ast.Tuple)]
    last = lists[0].elts[-1:] if lists else value.args[-1:]
    if get_called_name(value) not in ("Compose", "Sequential"):
        return []
    if last and get_called_name(last[0]) == "ToTensorV2":
        last = lists[0].elts[-2:-1] if lists else []
    return [step for part in last for step in _list_last_steps(part)]


def _has_small_pixels(scene: HazardContext) -> bool:
    """Return whether the program reads images whose numbers are next to 0, on both
    sides of it.
    """
    values = scene.program.data_values
    facts = (
        fact for call in scene.calls for fact in call.op.inputs
        if fact.tensor in values and len(fact.shape) > 2
    )  # fmt: skip
    for fact in facts:
        limits = values[fact.tensor].limits
        is_float = fact.dtype.startswith("float")
        if limits is None or not is_float:
            continue
        if -OF_QUOTIENTS < limits[0] < 0 < limits[1] < OF_QUOTIENTS:
            return True
    return False


def _is_of_library(scene: HazardContext, steps: list[ast.Call]) -> bool:
    """Return whether all normalizations are those of a library with a deviation of
    their own.
    """
    texts = list(scene.program.own_texts())
    if any(text.definitions("Normalize") for text in texts):
        return False
    for step in steps:
        if get_called_name(step) != "Normalize":
            return False
        words = [word.arg for word in step.keywords]
        if "max_pixel_value" in words or {None, "normalization"} & {*words}:
            return False
        args = dict(enumerate(step.args))
        std = next((w.value for w in step.keywords if w.arg == "std"), args.get(1))
        written = ast.unparse(std) if std is not None else ""
        if std is not None and not re.search(r"0?\.\d*[1-9]", written):
            return False  # of ones, or not known
    return True
