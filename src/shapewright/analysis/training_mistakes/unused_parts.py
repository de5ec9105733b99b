"""Find parts of data that were split off for training and that nothing reads, beside
the whole data that are read in their place, and losses of all rows of which a mask
names those that are trained on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import UNUSED_SPLIT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
)

SPLITTING = frozenset({"train_test_split", "random_split", "tensor_split", "split"})
SHOWING = frozenset({"len", "print", "shape", "size"})


def find_unused_parts(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `fit(x, y)` behind `x_train, x_test, ... = train_test_split(x, y)`."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            value = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(node, ast.Assign) or not isinstance(value, ast.Call):
                continue
            target = node.targets[0]
            if get_called_name(value) not in SPLITTING or _is_of_words(value):
                continue
            if isinstance(target, ast.Tuple) and len(target.elts) > 1:
                yield from _check_split(text, node, target.elts, value)


def find_unused_masks(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `loss_fn(out, labels)` of all rows beside `labels[test_mask]`, where a
    `train_mask` says which rows are trained on.
    """
    for text in scene.program.own_texts():
        if "backward" not in text.text or not OF_TRAINING.search(text.text):
            continue
        for node in text.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                yield from _check_loss(text, node, node.value)


def _check_loss(
    text: SourceText, statement: ast.Assign, call: ast.Call
) -> Iterator[Finding]:
    """Yield the finding for a loss of whole tensors whose rows are evaluated apart."""
    loss, names = (
        get_dotted_name(statement.targets[0]),
        list(map(get_dotted_name, call.args)),
    )
    if len(names) != 2 or not all(names) or not loss or "loss" not in loss:
        return
    rows: dict[str, list[str]] = {}
    losses = False
    for node in text.nodes:
        if not isinstance(node, ast.Subscript):
            continue
        owner, mask = get_dotted_name(node.value), get_dotted_name(node.slice)
        if owner in (names[1], loss) and mask:
            rows.setdefault(owner, []).append(mask)
        if isinstance(text.parent(node), ast.Call) and OF_TRAINING.fullmatch(
            mask.rpartition(".")[2]
        ):
            around = text.parent(text.parent(node))
            losses |= isinstance(around, ast.Assign) and "loss" in text.written(around)
    apart = [
        m for m in rows.get(names[1], []) if OF_TEST.fullmatch(m.rpartition(".")[2])
    ]
    masks = [
        name
        for node in text.nodes
        if isinstance(node, ast.Name | ast.Attribute)
        and (name := get_dotted_name(node))
        and OF_TRAINING.fullmatch(name.rpartition(".")[2])
        and name.rpartition(".")[0] == (apart[0].rpartition(".")[0] if apart else "")
    ]
    if not OF_LABELS.search(names[1]) or loss in rows or losses:
        return  # what is reconstructed may be of all rows
    if not apart or not masks:
        return
    yield build_finding(
        UNUSED_SPLIT,
        f"this loss is of all rows of `{names[1]}`, those of `{apart[0]}` among them:"
        f" `[{masks[0]}]` takes those to train on",
        text.span(call),
    )


OF_TRAINING = re.compile(r"(train|trn|training)_?(mask|idx|index|indices|ids|nodes)")
OF_TEST = re.compile(r"(test|val|valid|validation)_?(mask|idx|index|indices|ids|nodes)")
"""How the rows of a part are called."""
OF_LABELS = re.compile(r"(^|[._])(y|ys|labels?|targets?|classes)(_|$)", re.I)


def _is_of_words(call: ast.Call) -> bool:
    """Return whether a call may split a string: a `split` of no library."""
    owner = get_receiver(call)
    of_library = isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "torch")
    return get_called_name(call) == "split" and not of_library


def _check_split(
    text: SourceText, statement: ast.Assign, names: list[ast.expr], call: ast.Call
) -> Iterator[Finding]:
    """Yield the finding for the parts of one split."""
    pairs = get_called_name(call) == "train_test_split" and len(call.args) > 1
    wholes = list(call.args) if pairs else [get_receiver(call), *call.args[:1]]
    if get_called_name(call) in ("random_split", "train_test_split") and not pairs:
        wholes = list(call.args[:1])
    parts = [text.written(name) for name in names]
    for at, part in enumerate(parts[: None if pairs else 1]):
        if pairs and at % 2:
            continue
        place = at // 2 if pairs else 0
        whole = wholes[place] if place < len(wholes) else None
        others = parts[at + 1 : at + 2] if pairs else parts[1:]
        if whole is None or not isinstance(whole, ast.Name | ast.Attribute):
            continue
        if part.startswith("_"):
            continue
        if _list_reads(text, part, statement):
            continue
        if not any(_list_reads(text, other, statement) for other in others):
            continue
        reads = _list_reads(text, text.written(whole), statement)
        if reads:
            yield build_finding(
                UNUSED_SPLIT,
                f"`{text.written(whole)}` is read here, the samples that are evaluated"
                f" among it, and `{part}` is never used",
                text.span(reads[0]),
                (text.span(statement), f"`{part}` is made here"),
            )
            return


def _list_reads(text: SourceText, name: str, split: ast.Assign) -> list[ast.expr]:
    """Return where a name is read behind a split, for more than its length; an
    attribute also in other functions.
    """
    function = text.around(split, *FUNCTIONS)
    reads: list[ast.expr] = []
    for node in text.nodes:
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        if not isinstance(node.ctx, ast.Load) or ast.unparse(node) != name:
            continue
        inside = text.around(node, *FUNCTIONS) is function
        if inside and node.lineno <= (split.end_lineno or split.lineno):
            continue
        if not inside and not name.startswith("self.") and function is not None:
            continue
        around = text.parent(node)
        shown = get_called_name(around) if isinstance(around, ast.Call) else ""
        if isinstance(around, ast.Attribute) and around.attr in SHOWING:
            continue
        if shown in SHOWING or isinstance(around, ast.FormattedValue):
            continue
        reads.append(node)
    return reads
