"""Find parameters that are moved behind `nn.Parameter(...)`: on a GPU the result of
`.to(device)` is a plain tensor, and on the CPU nothing shows it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import NOT_A_PARAMETER
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    get_own_attribute,
)

ACCELERATOR = re.compile(r"""["'](cuda|mps|xpu)\b|\bcuda\b|\bget_device\(""")
"""How a text names a device other than the CPU."""
FARTHEST = 3
"""Names between a move and the text that names its device."""
MOVES = frozenset({"to", "cuda"})
CASTS = frozenset({"half", "double", "bfloat16", "float", "requires_grad_"})
ALIKE = frozenset({"requires_grad_"})
"""Methods that return their own tensor."""


def find_moved_parameters(scene: HazardContext) -> Iterator[Finding]:
    """Find attributes of modules that are a parameter moved to a device which may be a
    GPU.
    """
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or not node.value:
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            kind = text.around(node, ast.ClassDef)
            name = get_own_attribute(target)
            if not name or kind is None or not kind.bases:
                continue
            move = get_move(node.value)
            if move is None or not _is_of_accelerator(text, move):
                continue
            own = get_parameter(move)
            if own is None or _is_made_there(text, own, move):
                continue
            shown = text.written(move)[len(text.written(own)) :]
            yield Finding(
                NOT_A_PARAMETER,
                "warning",
                f"on a GPU `self.{name}` is a plain tensor: `{shown}` behind"
                " `nn.Parameter` returns a copy, which is no parameter, and no"
                " optimizer gets it",
                text.span(node),
            )


def get_move(value: ast.expr | None) -> ast.Call | None:
    """Return the call that moves a parameter, `Parameter(...).to(device)`, or None."""
    while isinstance(value, ast.Call) and get_called_name(value) in ALIKE:
        value = get_receiver(value)
    if not isinstance(value, ast.Call) or get_parameter(value) is None:
        return None
    return value


def get_parameter(move: ast.Call) -> ast.Call | None:
    """Return the `Parameter(...)` that methods move or cast, or None."""
    owner: ast.expr | None = move
    while isinstance(owner, ast.Call) and get_called_name(owner) in MOVES | CASTS:
        owner = get_receiver(owner)
    is_parameter = isinstance(owner, ast.Call) and owner is not move
    if is_parameter and isinstance(owner, ast.Call):
        return owner if get_called_name(owner) == "Parameter" else None
    return None


def _is_of_accelerator(text: SourceText, move: ast.Call) -> bool:
    """Return whether a move may go to a GPU."""
    if get_called_name(move) == "cuda":
        return True
    words = [word.value for word in move.keywords if word.arg == "device"]
    waiting = [*move.args[:1], *words]
    for _ in range(FARTHEST):
        if any(ACCELERATOR.search(text.written(value)) for value in waiting):
            return True
        waiting = [
            other for value in waiting
            for other in find_defining(text, get_last_name(value))
        ]  # fmt: skip
    return False


def _is_made_there(text: SourceText, own: ast.Call, move: ast.Call) -> bool:
    """Return whether a parameter is made of a tensor on the device of its move: then it
    stays what it is.
    """
    for node in (part for value in own.args for part in ast.walk(value)):
        if isinstance(node, ast.keyword) and node.arg == "device":
            return True
        if isinstance(node, ast.Call) and get_called_name(node) in MOVES:
            return True
    return False
