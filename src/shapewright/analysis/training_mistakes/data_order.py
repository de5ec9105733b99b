"""Find data that is put into order or changed apart: samples and labels shuffled by two
draws, parts of one data set with a transform each, items that every worker yields.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import (
    ITEMS_OF_EVERY_WORKER,
    SHARED_TRANSFORM,
    SHUFFLED_APART,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    LOOPS,
    get_called_name,
    get_dotted_name,
    get_last_name,
)

ORDERS = frozenset({"randperm", "permutation"})
"""Functions that draw an order."""
PAIRING = frozenset({"TensorDataset", "zip", "cross_entropy", "mse_loss"})
"""Functions that take the samples and the labels of one data set."""
SPLITTING = frozenset({"random_split", "Subset"})
COPYING = frozenset({"copy", "deepcopy"})
DRAWING = ("rand", "choice", "sample", "normal", "shuffle")
"""Parts of the names of functions that draw numbers: each worker draws its own."""


def _iter_texts(scene: RehearsalContext) -> Iterator[SourceText]:
    """Yield the files of a program that were run."""
    for file in scene.program.trace.sources:
        text = scene.program.text(file)
        if text is not None:
            yield text


@looks_for(SHUFFLED_APART)
def find_shuffled_apart(scene: RehearsalContext) -> Iterator[Finding]:
    """Find samples and labels that are put into two orders and used together."""
    for text in _iter_texts(scene):
        shuffled = [
            (node, name)
            for node in text.nodes
            if isinstance(node, ast.Assign) and (name := _get_shuffled_name(node))
        ]
        for first, name in shuffled:
            for second, other in shuffled:
                is_next = first.lineno < second.lineno and name != other
                is_near = text.parent(first) is text.parent(second)
                if is_next and is_near and _is_paired(text, second, name, other):
                    yield build_finding(
                        SHUFFLED_APART,
                        f"`{other}` gets an order of its own: its rows no longer belong"
                        f" to those of `{name}`",
                        text.span(second),
                        (text.span(first), f"the order of `{name}`"),
                    )


def _get_shuffled_name(node: ast.Assign) -> str:
    """Return the name of what is put into an order that is drawn on the spot, as
    `x = x[torch.randperm(len(x))]`; an empty string for other statements.
    """
    target, value = node.targets[0], node.value
    if len(node.targets) != 1 or not isinstance(value, ast.Subscript):
        return ""
    name = get_dotted_name(value.value)
    is_drawn = get_called_name(value.slice) in ORDERS
    return name if is_drawn and name == get_dotted_name(target) else ""


def _is_paired(text: SourceText, after: ast.stmt, name: str, other: str) -> bool:
    """Return whether a later call takes both of two tensors as samples and labels."""
    for node in text.nodes:
        if get_called_name(node) not in PAIRING or not isinstance(node, ast.Call):
            continue
        parts = [{get_dotted_name(n) for n in ast.walk(part)} for part in node.args[:2]]
        is_later = node.lineno > after.lineno and len(parts) == len((name, other))
        if not is_later or not all({name, other} & part for part in parts):
            continue
        if (name in parts[0]) != (other in parts[0]):
            return True
    return False


@looks_for(SHARED_TRANSFORM)
def find_shared_transforms(scene: RehearsalContext) -> Iterator[Finding]:
    """Find parts of one data set of which each is given another transform."""
    for text in _iter_texts(scene):
        written = [
            (node, *owner)
            for node in text.nodes
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and (owner := _get_owner(node.targets[0])) is not None
        ]
        for first, part, attribute in written:
            for second, other, again in written:
                if first.lineno >= second.lineno or attribute != again or part == other:
                    continue
                if text.written(first.value) == text.written(second.value):
                    continue
                if text.parent(first) is not text.parent(second):
                    continue  # one for each use
                if _is_used_between(text, first, second):
                    continue
                if _find_whole(text, part) & _find_whole(text, other):
                    yield build_finding(
                        SHARED_TRANSFORM,
                        f"`{part}` and `{other}` are parts of one data set: both get"
                        f" this `{attribute}`, and the one of line {first.lineno} is"
                        " never used",
                        text.span(second),
                        (text.span(first), f"the `{attribute}` meant for `{part}`"),
                    )


def _is_used_between(text: SourceText, first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether a loop or another data set stands between two statements, or a
    loop around them.
    """
    if text.around(first, *LOOPS) is not None:
        return True
    for node in text.nodes:
        if isinstance(node, ast.stmt) and first.lineno < node.lineno < second.lineno:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, LOOPS) or any(
                isinstance(t, ast.Attribute) and t.attr == "dataset" for t in targets
            ):
                return True
        if isinstance(node, ast.Call) and get_called_name(node) in COPYING:
            return True
    return False


def _get_owner(target: ast.expr) -> tuple[str, str] | None:
    """Return the names of `part.dataset.transform`, without `dataset`."""
    if not isinstance(target, ast.Attribute) or "transform" not in target.attr:
        return None
    whole = target.value
    if not isinstance(whole, ast.Attribute) or whole.attr != "dataset":
        return None
    part = get_dotted_name(whole.value)
    return (part, target.attr) if part else None


def _find_whole(text: SourceText, part: str) -> set[str]:
    """Return what the data sets are named of which a name is a part."""
    names: set[str] = set()
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        if get_called_name(node.value) not in SPLITTING or not node.value.args:
            continue
        targets = {get_dotted_name(n) for t in node.targets for n in ast.walk(t)}
        whole = get_dotted_name(node.value.args[0])
        if part in targets and whole:
            names.add(whole)
    return names


@looks_for(ITEMS_OF_EVERY_WORKER)
def find_items_of_every_worker(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loaders with several workers of which each yields all items of a stream."""
    for text in _iter_texts(scene):
        streams = {
            node.name: node
            for node in text.nodes
            if isinstance(node, ast.ClassDef)
            and any(get_last_name(b) == "IterableDataset" for b in node.bases)
            and not _is_shared(text, node)
        }
        for node in text.nodes:
            if not isinstance(node, ast.Call) or get_called_name(node) != "DataLoader":
                continue
            words = {word.arg: word.value for word in node.keywords}
            workers = words.get("num_workers")
            count = evaluate_whole_number(workers) if workers is not None else None
            data = node.args[0] if node.args else words.get("dataset")
            if count is None or count < 2 or data is None or "worker_init_fn" in words:
                continue
            for name in _iter_class_names(text, data):
                if name in streams:
                    yield build_finding(
                        ITEMS_OF_EVERY_WORKER,
                        f"each of the {count} workers yields all items of `{name}`: an"
                        f" epoch has each item {count} times",
                        text.span(node),
                        (
                            text.span(streams[name]).start,
                            "its `__iter__` does not ask for `get_worker_info()`",
                        ),
                    )


def _is_shared(text: SourceText, stream: ast.ClassDef) -> bool:
    """Return whether a stream may be divided among workers, or draws its items."""
    names = {
        node.id if isinstance(node, ast.Name) else get_last_name(node)
        for node in ast.walk(stream)
        if isinstance(node, ast.Name | ast.Attribute)
    }
    if any("worker" in name or "rank" in name or name == "shard" for name in names):
        return True
    iterate = [
        node
        for node in stream.body
        if isinstance(node, ast.FunctionDef) and node.name == "__iter__"
    ]
    if not iterate or any(isinstance(n, ast.While) for n in ast.walk(iterate[0])):
        return True
    called = {get_called_name(node) for node in ast.walk(iterate[0])}
    return any(part in name for name in called for part in DRAWING)


def _iter_class_names(text: SourceText, data: ast.expr) -> Iterator[str]:
    """Yield the names of the classes of which a data set may be."""
    values = find_defining(text, data.id) if isinstance(data, ast.Name) else []
    for value in (data, *values):
        if isinstance(value, ast.Call):
            yield get_called_name(value)
