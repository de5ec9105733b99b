"""Find masks that a function is given or makes and does not read, beside a call whose
own parameter for a mask stays None.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import Function
from shapewright.program.syntax_nodes import get_called_name, is_starred


def find_unread_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find calls without the mask that stands unread beside them."""
    classes = {
        call.span: call.class_name
        for call in scene.program.trace.calls
        if call.span is not None
    }
    for text in scene.program.own_texts():
        for _, function in text.functions():
            unread = _find_unread(function)
            if len(unread) != 1:
                continue
            (name,) = unread
            for call in ast.walk(function):
                if not isinstance(call, ast.Call) or is_starred(call):
                    continue
                if any(word.arg is None for word in call.keywords):
                    continue
                class_name = classes.get(text.span(call))
                parameter = _find_missing(scene, call, class_name)
                if parameter is None or not _is_alike(name, parameter.arg):
                    continue
                called = class_name or get_called_name(call)
                message = (
                    f"`{name}` is not read, and `{called}` hides nothing without its"
                    f" `{parameter.arg}`: padded places count in its attention"
                )
                place = Related(text.span(unread[name]), f"`{name}` is set here")
                yield Finding(
                    MASK_AXIS, "warning", message, text.span(call), related=(place,)
                )
                break


HIDING = re.compile(r"masked_fill|key_padding_mask=|attn_mask=|-inf|-1e\d|finfo")
"""What a function has that hides scores by a mask."""
OF_PADDING = re.compile(r"pad|attention|attn|valid", re.I)


def _is_alike(name: str, parameter: str) -> bool:
    """Return whether the names of two masks say that they are of one kind."""
    words = [{*part.lower().split("_")} - {"mask", ""} for part in (name, parameter)]
    return name == parameter or bool(words[0] & words[1] or OF_PADDING.search(name))


def _find_unread(function: Function) -> dict[str, ast.expr]:
    """Return the masks that a function unpacks or assigns, and does not read."""
    names: dict[str, ast.expr] = {}
    read: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
        elif isinstance(node, ast.Name) and "mask" in node.id.lower():
            names.setdefault(node.id, node)
    return {name: node for name, node in names.items() if name not in read}


def _find_missing(
    scene: HazardContext, call: ast.Call, class_name: str | None
) -> ast.arg | None:
    """Return the parameter for a mask, None by default, that a call leaves out."""
    wanted = class_name if class_name is not None else get_called_name(call)
    for text in scene.program.own_texts():
        for path, function in text.functions():
            owner, _, name = path.rpartition(".")
            is_forward = name == "forward" and owner.rpartition(".")[2] == wanted
            if not is_forward and (class_name is not None or name != wanted):
                continue
            arguments = function.args.args
            defaults = [None] * (len(arguments) - len(function.args.defaults))
            pairs = zip(arguments, [*defaults, *function.args.defaults], strict=True)
            kept = [pair for pair in pairs if pair[0].arg != "self"]
            passed = {word.arg for word in call.keywords}
            missing = [
                argument
                for argument, default in kept[len(call.args) :]
                if "mask" in argument.arg.lower()
                and isinstance(default, ast.Constant)
                and default.value is None
                and argument.arg not in passed
            ]
            body = " ".join(text.written(part) for part in function.body)
            hides = HIDING.search(body) is not None
            return missing[0] if len(missing) == 1 and hides else None
    return None
