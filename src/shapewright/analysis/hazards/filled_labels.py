"""Find label maps whose border is filled with class 0, although the loss ignores
another number: the black border of the picture is trained on as that class.

Class 0 is often the background, which a border may be. So the program must say that it
is none: by the names of its classes, in a list or in the comment beside their number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_targets import CLASS_LOSSES
from shapewright.findings.codes import PADDED_TARGETS
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    iter_assignments,
)

DEFAULT = -100
"""The label that losses of torch ignore if they are told no other."""
ENLARGING = frozenset({"expand", "pad", "copyMakeBorder"})
"""Functions that put a border around a picture, 0 if they are told no other number."""
CONVERSIONS = operators_with("takes_program_data") | {"array", "asarray"}
WORDS = ("fill", "value", "constant_values")
LABELS = re.compile(
    r"(^|_)(masks?|labels?|lbl|targets?|gt|seg|segmentation|annot\w*)\d*$"
)
NAMES = re.compile(r"class|categor|label|names", re.I)
BACKGROUND = re.compile(
    r"back|^bg$|void|unlabel|unknown|invalid|missing|blank|special|ignore|other|none"
    r"|nothing|outside|empty|clutter|misc|null|default|pad|border|rest|negative|no[_ ]",
    re.I,
)
OTHER_MODES = re.compile(r"reflect|edge|replicate|symmetric|wrap|circular", re.I)
RENUMBERED = re.compile(
    r"reduce_zero|(mask|label|lbl|target|seg|gt)\w*(\[[^\]]*\])?\s*-=?\s*1\b"
    r"|==\s*0\s*\]\s*=|where\([^)]*==\s*0|train_?id|mapping|encode_seg|\blut\b"
    r"|(valid|void)_classes|remap|convert_label",
    re.I,
)
"""What may give the labels of a file other numbers behind the border."""
FEWEST = 3


def find_filled_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find calls that fill the border of a label map with class 0."""
    losses = list(_iter_ignoring_losses(scene))
    for text in scene.program.own_texts() if len({n[:2] for n in losses}) == 1 else ():
        ignored, classes, place = losses[0]
        first = _find_first_class(text, classes)
        if first is None or BACKGROUND.search(first) or RENUMBERED.search(text.text):
            continue
        for call in _iter_label_fills(text):
            related = () if place is None else (Related(place, "the loss"),)
            yield Finding(
                PADDED_TARGETS,
                "warning",
                f"the border of the labels is filled with 0, and the loss ignores"
                f" {ignored}: the border is trained on as class 0, `{first}`",
                text.span(call),
                related=related,
            )
            return


def _iter_ignoring_losses(
    scene: HazardContext,
) -> Iterator[tuple[int, int, Span | None]]:
    """Yield, of losses over maps, the label that is ignored, which is no class, with
    the number of classes and the place.
    """
    for call in scene.calls:
        if call.name not in CLASS_LOSSES or len(call.op.inputs) < 2:
            continue
        shape = call.op.inputs[0].shape
        ignored = call.given(4, "ignore_index", default=DEFAULT)
        if len(shape) != 4 or not isinstance(ignored, int) or ignored == DEFAULT:
            continue
        if not 0 <= ignored < shape[1] and shape[1] >= FEWEST:
            yield ignored, shape[1], call.op.span


def _iter_label_fills(text: SourceText) -> Iterator[ast.Call]:
    """Yield the calls that fill the border of a label map with 0, beside a call that
    changes the picture alike.
    """
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in ENLARGING
    ]
    for call in calls:
        data = _get_data(call)
        if data is None or LABELS.search(data) is None:
            continue
        has_picture = any(
            text.around(other, *FUNCTIONS) is text.around(call, *FUNCTIONS)
            and get_called_name(other) == get_called_name(call)
            and LABELS.search(_get_data(other) or "label") is None
            for other in calls
        )
        is_plain = OTHER_MODES.search(text.written(call)) is None
        if has_picture and is_plain and _is_zero(text, get_fill(call)):
            yield call


def _get_data(call: ast.Call) -> str | None:
    """Return the name of the picture that a function enlarges."""
    owner = get_receiver(call)
    name = get_last_name(owner) if owner is not None else ""
    if get_called_name(call) == "expand" and name != "ImageOps":
        return None  # of a tensor
    data = call.args[0] if call.args else None
    while isinstance(data, ast.Call | ast.Subscript):  # `torch.from_numpy(mask)[None]`
        if isinstance(data, ast.Subscript):
            data = data.value
        elif len(data.args) == 1 and get_called_name(data) in CONVERSIONS:
            data = data.args[0]
        else:
            data = get_receiver(data)
    return get_last_name(data) if data is not None else None


def get_fill(call: ast.Call) -> ast.expr | None:
    """Return the expression of the number that fills the border, None if it is left
    out.
    """
    words = {word.arg: word.value for word in call.keywords}
    for name in WORDS:
        if name in words:
            return words[name]
    at = 6 if get_called_name(call) == "copyMakeBorder" else 2
    rest = [arg for arg in call.args[at:] if not _is_mode(arg)]
    return rest[0] if rest else None


def _is_mode(node: ast.expr) -> bool:
    """Return whether an argument says how a border is made: `"constant"`."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_zero(text: SourceText, fill: ast.expr | None) -> bool:
    """Return whether a fill is 0, also by a name all of whose values are 0."""
    if fill is None:
        return True
    if isinstance(fill, ast.Constant):
        return fill.value == 0
    name = get_last_name(fill)
    if isinstance(fill, ast.Tuple | ast.List):
        return all(_is_zero(text, part) for part in fill.elts)
    values = find_defining(text, name) if name else []
    numbers = [value for value in values if get_last_name(value) != name]
    return bool(numbers) and all(
        isinstance(value, ast.Constant) and value.value == 0 for value in numbers
    )


def _find_first_class(text: SourceText, classes: int) -> str | None:
    """Return the name of class 0, where a program lists as many names as there are
    classes, or None.
    """
    for target, value in iter_assignments(text.tree):
        if NAMES.search(get_last_name(target)) is None:
            continue
        names = _list_names(value)
        if isinstance(value, ast.Constant) and value.value == classes:
            comment = text.lines[value.lineno - 1].partition("#")[2]
            names = [name.strip() for name in comment.split(",")]
        if len(names) == classes and all(names):
            return names[0]
    return None


def _list_names(value: ast.expr) -> list[str]:
    """Return the names that a list or a dict has, in the order of their numbers."""
    if isinstance(value, ast.List | ast.Tuple):
        parts: list[ast.expr | None] = list(value.elts)
    elif isinstance(value, ast.Dict):
        numbers = [isinstance(key, ast.Constant) and key.value for key in value.keys]
        if numbers != list(range(len(numbers))):
            return []
        parts = list(value.values)
    else:
        return []
    names = [part.value for part in parts if isinstance(part, ast.Constant)]
    is_text = len(names) == len(parts) and all(isinstance(n, str) for n in names)
    return [str(name) for name in names] if is_text else []
