"""Find sizes of layers that are set as attributes, which leaves their weights as they
are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.early_settings import find_early_settings
from shapewright.analysis.training_mistakes.late_settings import find_late_settings
from shapewright.findings.codes import SIZE_ATTRIBUTE_SET, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.attribute_writes import AttributeWrite, iter_attribute_writes
from shapewright.program.source_text import SourceText


@looks_for(SIZE_ATTRIBUTE_SET)
def find_set_sizes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find assignments such as `model.fc.out_features = 3`, and attributes that are set
    behind what the base class builds of them.
    """
    yield from find_late_settings(scene)
    yield from find_early_settings(scene)
    layers: dict[str, list[tuple[str, str, str]]] = {}
    for met in scene.observations("size-attribute"):
        path, kind, name, shape = met.name.split()
        layers.setdefault(path, []).append((kind, name, shape))
    reported: set[ast.stmt] = set()
    for path, entries in layers.items():
        kind, _, shape = entries[0]
        writes = [_find_write(scene, path, name) for _, name, _ in entries]
        places = [place for place in writes if place is not None]
        if not places or places[0][1].statement in reported:
            continue
        reported.update(write.statement for _, write in places)
        text, write = places[0]
        sizes = shape.replace("x", ", ") + ("" if "x" in shape else ",")
        first = path.partition(".")[0]
        yield build_finding(
            SIZE_ATTRIBUTE_SET,
            f"`{text.written(write.statement)}` sets an attribute of `nn.{kind}`, which"
            f" builds nothing anew: its weight stays ({sizes})",
            text.span(write.statement),
            (scene.built(f"{path}.weight"), f"the layer of `{first}` is built here"),
            *(
                (other.span(more.statement), "set beside it")
                for other, more in places[1:]
            ),
            module=path,
        )


def _find_write(
    scene: RehearsalContext, path: str, name: str
) -> tuple[SourceText, AttributeWrite] | None:
    """Return the assignment to an attribute of the layer at a path, or None.

    One whose owner is called as the layer is in its path comes before one whose owner
    has a name of its own.
    """
    last = path.rpartition(".")[2]
    possible = []
    for text in scene.program.own_texts():
        for write in iter_attribute_writes(text, name):
            owner = write.owner
            if isinstance(owner, ast.Attribute) and owner.attr == last:
                return text, write
            if isinstance(owner, ast.Subscript) and _is_key(owner.slice, last):
                return text, write
            is_self = isinstance(owner, ast.Name) and owner.id == "self"
            if not is_self and not isinstance(owner, ast.Attribute):
                possible.append((text, write))
    return possible[0] if possible else None


def _is_key(node: ast.expr, name: str) -> bool:
    """Return whether an index picks the part of a container with a name."""
    return isinstance(node, ast.Constant) and str(node.value) == name
