"""A new layer that is set on a finished model, whose `forward` never calls it:
`model.classifier = nn.Linear(512, 2)` on a network that ends in `fc`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_dotted_name
from shapewright.record.ops import collect_leaves

LAST = ("Linear", "Conv2d", "Conv1d")
"""Layers that a network ends in."""


@dataclass(frozen=True, slots=True)
class _UnusedHead:
    """The statement that sets the layer, its name, each place of it, the name that the
    model reads, empty if none is known.
    """

    text: SourceText
    statement: ast.Assign
    written: str
    meant: str
    places: tuple[ast.Attribute, ...]


def find_unused_head(program: Program) -> _UnusedHead | None:
    """Find a layer that is set on a model from outside and that no call reads."""
    called = {call.path for call in program.trace.calls}
    for file in program.trace.sources:
        text = program.text(file)
        for statement in text.nodes if text is not None else ():
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if text is None or not isinstance(statement, ast.Assign):
                continue
            if not isinstance(target, ast.Attribute) or not _is_layer(statement.value):
                continue
            written = get_dotted_name(target)
            owner, _, name = written.rpartition(".")
            if not owner or owner.startswith("self") or "." in owner:
                continue
            if any(name in path.split(".")[1:] for path in called):
                continue
            meant = _find_last_layer(program)
            places = [
                node
                for node in text.nodes
                if isinstance(node, ast.Attribute) and get_dotted_name(node) == written
            ]
            new = f"{owner}.{meant}" if meant else ""
            return _UnusedHead(text, statement, written, new, tuple(places))
    return None


def _is_layer(node: ast.expr) -> bool:
    """Return whether an expression builds layers of `nn`."""
    return isinstance(node, ast.Call) and get_dotted_name(node.func).startswith(
        ("nn.", "torch.nn.")
    )


def _find_last_layer(program: Program) -> str:
    """Return the name, within the model, of the layer whose result it returns; empty
    if it returns another thing, such as the mean of a map.
    """
    returned = {
        fact.tensor
        for call in program.trace.calls
        if "." not in call.path
        for fact in collect_leaves([call.output])
    }
    last = ""
    for call in program.trace.calls:
        if call.class_name in LAST and "." in call.path:
            results = {fact.tensor for fact in collect_leaves([call.output])}
            last = call.path.partition(".")[2] if results & returned else last
    first, *rest = last.split(".") if last else [""]
    for part in rest:
        first += f"[{part}]" if part.isdigit() else f".{part}"
    return first
