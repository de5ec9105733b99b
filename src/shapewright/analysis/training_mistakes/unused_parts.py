"""Find parts of data that were split off for training and that nothing reads, beside
the whole data that are read in their place, and losses of all rows of which a mask
names those that are trained on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.batch_loops import match_arguments
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
    list_parameters,
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
    loss = get_dotted_name(statement.targets[0])
    names = list(map(get_dotted_name, call.args))
    if len(names) != 2 or not all(names) or not loss or "loss" not in loss:
        return
    if not OF_LABELS.search(names[1]) or _is_reduced_later(call):
        return  # what is reconstructed may be of all rows
    rows = [(owner, mask) for owner, mask in _iter_rows(text) if owner]
    apart = [mask for owner, mask in rows if owner == names[1] and _is_of_test(mask)]
    is_of_rows = loss in [owner for owner, _ in rows] or _has_training_loss(text)
    if not apart or is_of_rows or _is_written_at_rows(text, names[1]):
        return
    mask = _find_training_mask(text, apart[0])
    if not mask:
        return
    yield build_finding(
        UNUSED_SPLIT,
        f"this loss is of all rows of `{names[1]}`, those of `{apart[0]}` among them:"
        f" `[{mask}]` takes those to train on",
        text.span(call),
    )


def _is_reduced_later(call: ast.Call) -> bool:
    """Return whether a mask may weigh the loss of each row."""
    return any(
        word.arg == "reduction" or "mask" in ast.unparse(word.value)
        for word in call.keywords
    )


def _iter_rows(text: SourceText) -> Iterator[tuple[str, str]]:
    """Yield what is read at the rows of a mask, and that mask; those of the parameters
    of a function by the names that its callers have for them.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Subscript) or isinstance(node.ctx, ast.Store):
            continue
        owner, mask = get_dotted_name(node.value), get_dotted_name(node.slice)
        if not owner or not mask:
            continue
        yield owner, mask
        function = text.around(node, ast.FunctionDef)
        if function is None or mask not in list_parameters(function):
            continue
        root, _, rest = owner.partition(".")
        for call in text.nodes:
            if isinstance(call, ast.Call) and get_called_name(call) == function.name:
                passed = match_arguments(function, call)
                first = passed.get(root, root)
                yield f"{first}.{rest}" if rest else first, passed.get(mask, "")


def _is_of_test(mask: str) -> bool:
    return OF_TEST.fullmatch(mask.rpartition(".")[2]) is not None


def _has_training_loss(text: SourceText) -> bool:
    """Return whether a loss takes the rows of a mask for training."""
    for node in text.nodes:
        call = text.parent(node)
        if not isinstance(node, ast.Subscript) or not isinstance(call, ast.Call):
            continue
        mask = get_dotted_name(node.slice).rpartition(".")[2]
        around = text.parent(call)
        is_loss = isinstance(around, ast.Assign) and "loss" in text.written(around)
        if is_loss and OF_TRAINING.fullmatch(mask):
            return True
    return False


def _is_written_at_rows(text: SourceText, name: str) -> bool:
    """Return whether rows of labels are overwritten, as those that no loss counts."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and get_dotted_name(node.value) == name
        for node in text.nodes
    )


def _find_training_mask(text: SourceText, apart: str) -> str:
    """Return the name of the mask for training beside one for evaluation, or an empty
    string: `graph.train_mask`, of what an object sets in its own methods as well.
    """
    owner, _, _ = apart.rpartition(".")
    for node in text.nodes:
        name = get_dotted_name(node) if isinstance(node, ast.expr) else ""
        first, _, last = name.rpartition(".")
        if OF_TRAINING.fullmatch(last) and (first == owner or (owner and first)):
            return f"{owner}.{last}" if owner else last
    return ""


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
