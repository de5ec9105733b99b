"""Sums over batches that stand behind their loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.training.means import divided_by_samples, names_made
from shapewright.reasoning.training.scene import Loop, Scene, finding
from shapewright.source.expressions import Text


def sums(scene: Scene) -> Iterator[Finding]:
    """Those, and sums that are divided by what they are no sum of, in each loop."""
    seen: set[tuple[str, int]] = set()
    for loop in scene.loops():
        place = loop.moment.file, loop.moment.line
        if place in seen or (loop.moment.total or 2) < 2:
            continue
        seen.add(place)
        yield from behind_loop(loop)
        yield from divided_by_samples(scene, loop)


def behind_loop(loop: Loop) -> Iterator[Finding]:
    """`total += loss.item()` after the loop: only the last batch counts."""
    block = block_of(loop.text, loop.node)
    at = next((n for n, each in enumerate(block) if each is loop.node), None)
    if at is None:
        return
    made = names_made(loop.node)
    started = {
        node.id
        for each in block[:at]
        if isinstance(each, ast.Assign)
        for target in each.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    }
    grown = {
        each.target.id
        for each in ast.walk(loop.node)
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
    }
    for each in block[at + 1 :]:
        if not isinstance(each, ast.AugAssign) or not isinstance(each.op, ast.Add):
            continue
        name = each.target.id if isinstance(each.target, ast.Name) else ""
        used = {n.id for n in ast.walk(each.value) if isinstance(n, ast.Name)} & made
        if name in started - grown and used:
            batch = ", ".join(f"`{one}`" for one in sorted(used))
            yield finding(
                "sum-after-loop",
                f"`{name}` grows after the loop over batches, so only the last batch "
                f"counts in it: {batch} is of that batch",
                loop.text.span(each),
                (loop.text.span(loop.node.target), "the loop that it stands behind"),
            )


def block_of(text: Text, node: ast.stmt) -> list[ast.stmt]:
    """The statements among which one stands, those around its `with` too."""
    parent = text.parents.get(id(node))
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(each is node for each in block):
            if isinstance(parent, ast.With | ast.AsyncWith):
                around = block_of(text, parent)
                place = next(n for n, each in enumerate(around) if each is parent)
                return [*around[:place], *block, *around[place + 1 :]]
            return block
    return []
