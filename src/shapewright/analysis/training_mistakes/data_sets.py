"""Find mistakes with data sets: weights that are not one for each sample, items that
are changed where they are stored, and splits whose part for training is not used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.masked_items import find_masked_items
from shapewright.analysis.training_mistakes.unread_loaders import find_unread_loaders
from shapewright.analysis.training_mistakes.unused_parts import (
    find_unused_masks,
    find_unused_parts,
)
from shapewright.findings.codes import (
    ITEM_WRITTEN,
    SAMPLER_WEIGHTS,
    UNUSED_SPLIT,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.report import Place


@looks_for(SAMPLER_WEIGHTS)
def find_sampler_weights(scene: RehearsalContext) -> Iterator[Finding]:
    """Find samplers that have more or fewer weights than there are samples."""
    for met in scene.observations("sampler-weights"):
        name, count, size = met.name.split()
        if _is_of_repeated_indices(scene, name):
            continue
        drawn = f"only samples 0 to {int(count) - 1} are ever drawn"
        if int(count) > int(size):
            drawn = "indices are drawn that it does not have"
        loader = scene.span(met.place, "DataLoader")
        sampler = _find_sampler(scene, met.place)
        yield build_finding(
            SAMPLER_WEIGHTS,
            f"the sampler has {count} weights and `{name}` has {size} samples: it"
            f" takes a weight for each sample, so {drawn}",
            sampler or loader,
            (loader, "the loader draws with it here"),
        )


def _find_sampler(scene: RehearsalContext, place: Place) -> Span | None:
    """Return the call that builds the only weighted sampler of a file, or None."""
    text = scene.program.text(place[0])
    calls = [
        node
        for node in (text.nodes if text is not None else ())
        if isinstance(node, ast.Call)
        and get_called_name(node) == "WeightedRandomSampler"
    ]
    return text.span(calls[0]) if text is not None and len(calls) == 1 else None


def _is_of_repeated_indices(scene: RehearsalContext, class_name: str) -> bool:
    """Return whether a data set takes its indices modulo its real size."""
    for text in scene.program.own_texts():
        for full, function in text.functions("__getitem__"):
            if full == f"{class_name}.__getitem__":
                return any(isinstance(node, ast.Mod) for node in ast.walk(function))
    return False


@looks_for(ITEM_WRITTEN)
def find_written_items(scene: RehearsalContext) -> Iterator[Finding]:
    """Find data sets that change in place what they store and return."""
    seen: set[Span | None] = set()
    for met in scene.observations("item-written"):
        text = scene.program.text(met.place[0])
        nodes = text.near(met.place[1]) if text is not None else ()
        if text is None or any(_is_done_once(text, node) for node in nodes):
            continue
        seen.add(scene.span(met.place))
        yield build_finding(ITEM_WRITTEN, ONCE_MORE, scene.span(met.place))
    for text, write, taken in find_masked_items(scene):
        place = (text.span(taken), "this is a view of what is stored")
        is_met = any(span is not None and span.line == write.lineno for span in seen)
        if not is_met and not _is_done_once(text, write):
            yield build_finding(ITEM_WRITTEN, ONCE_MORE, text.span(write), place)


ONCE_MORE = (
    "this changes the stored data itself: an item that is read again, in the"
    " next epoch, is changed once more"
)


def _is_done_once(text: SourceText, node: ast.AST) -> bool:
    """Return whether a condition on the state of its object guards a statement."""
    for outer in text.outwards(node):
        if isinstance(outer, ast.If):
            kinds = [type(part) for part in ast.walk(outer.test)]
            if "self." in text.written(outer.test) and (
                ast.Not in kinds or ast.NotIn in kinds
            ):
                return True
    return False


@looks_for(UNUSED_SPLIT, of_whole_runs=True)
def find_unused_splits(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loaders that train on a whole data set though its parts were made."""
    is_met = False
    for met in scene.observations("whole-set"):
        number, common, size = map(int, met.name.split())
        name = _find_part_name(scene, met.other, number)
        if not name:
            continue
        is_met = True
        yield build_finding(
            UNUSED_SPLIT,
            f"this loader trains on the whole data set: {common} of the {size} samples"
            f" that are evaluated are among them, and `{name}` is never used",
            scene.span(met.place, "DataLoader"),
            (scene.span(met.other, "random_split", "Subset"), f"`{name}` is made here"),
        )
    if not is_met:
        yield from find_unused_parts(scene)
        yield from find_unused_masks(scene)
        yield from find_unread_loaders(scene)


def _find_part_name(scene: RehearsalContext, place: Place | None, number: int) -> str:
    """Return the name of a part that the text uses for its length at most, or an empty
    string.
    """
    text = scene.program.text(place[0]) if place is not None else None
    if text is None or place is None:
        return ""
    for statement in text.near(place[1]):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if number < len(targets):
            written = text.written(targets[number])
            return "" if _is_read(text, targets[number]) else written
    return ""


def _is_read(text: SourceText, target: ast.expr) -> bool:
    """Return whether a name is read for more than its length, or means nothing."""
    written = text.written(target)
    if written.startswith("_") or not isinstance(target, ast.Name | ast.Attribute):
        return True
    for node in text.nodes:
        if type(node) is not type(target) or not isinstance(node, ast.expr):
            continue
        if not isinstance(node.ctx, ast.Load) or text.written(node) != written:
            continue
        parent = text.parent(node)
        if not isinstance(parent, ast.Call) or get_called_name(parent) != "len":
            return True
    return False
