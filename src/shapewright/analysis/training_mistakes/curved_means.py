"""Find means over batches of what is no mean over samples: exponentials and roots of
losses, and measures of a whole set such as F1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.additions import (
    MEANS,
    get_addition,
    is_mean_of,
    is_same,
    is_sum_of,
    iter_divisions,
)
from shapewright.analysis.training_mistakes.batch_loops import (
    find_cut_data,
    iter_batch_loops,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.loss_averages import is_mean_loss_at
from shapewright.findings.codes import MEAN_OF_MEANS
from shapewright.findings.finding import Finding
from shapewright.program.curved_values import (
    CURVES,
    find_assigned_name,
    iter_curved_values,
)
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_name,
)
from shapewright.record.report import Moment

WHOLE_SUMS = frozenset({"sum", "fsum"})
LOGGERS = frozenset({"log", "log_dict"})
EVALUATIONS = ("validation", "test")
WHOLE_MEASURES = frozenset({
    "f1_score", "fbeta_score", "precision_score", "recall_score", "roc_auc_score",
    "average_precision_score", "r2_score", "matthews_corrcoef", "cohen_kappa_score",
    "balanced_accuracy_score", "multiclass_f1_score", "binary_f1_score",
    "binary_auroc", "multiclass_auroc", "precision_recall_fscore_support",
})  # fmt: skip
"""Functions of metrics whose mean over parts is not their value of the whole."""


@dataclass(frozen=True, slots=True)
class _Average:
    """Where a value is averaged over batches, and in words how."""

    node: ast.expr | ast.stmt
    words: str


def find_curved_means(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `total += exp(loss)` and the like, and the division by the number of
    batches.
    """
    for text in scene.program.own_texts():
        for curved in iter_curved_values(text):
            loss = _find_loss(text, curved.inner)
            if loss is None or not is_mean_loss_at(scene, text, loss):
                continue
            if curved.kind == "sqrt" and _is_root_trained(scene):
                continue
            average = _find_average(scene, text, curved.node, curved.name)
            if average is None:
                continue
            name, of_mean, larger = CURVES[curved.kind]
            yield build_finding(
                MEAN_OF_MEANS,
                f"`{text.written(curved.node)}` is averaged over batches: the mean of"
                f" {name} of losses is {larger} than {of_mean} of the mean loss",
                text.span(curved.node),
                (text.span(average.node), average.words),
                (text.span(loss), "a mean over the samples of one batch"),
            )


def find_means_of_measures(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `scores.append(f1_score(y, p))` for each batch, and the mean of them."""
    for loop in iter_batch_loops(scene):
        text = loop.text
        for call in ast.walk(loop.node):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            measure = get_called_name(call)
            if measure not in WHOLE_MEASURES or text.around(call, *LOOPS) != loop.node:
                continue
            if any(
                word.arg == "average" and _is_samples(word) for word in call.keywords
            ):
                continue
            average = _find_average(scene, text, call, find_assigned_name(text, call))
            if average is None:
                continue
            yield build_finding(
                MEAN_OF_MEANS,
                f"`{measure}` of each batch is averaged over batches, which is not"
                f" `{measure}` of the whole set: compute it once, of all labels and"
                " predictions",
                text.span(call),
                (text.span(average.node), average.words),
            )


def _is_samples(word: ast.keyword) -> bool:
    """Return whether an argument is `"samples"`: one value of each sample."""
    return isinstance(word.value, ast.Constant) and word.value.value == "samples"


def _find_loss(text: SourceText, node: ast.expr) -> ast.expr | None:
    """Return the call that computes a loss which a node names, or None."""
    for _ in range(4):
        if isinstance(node, ast.Call):
            return node
        if isinstance(node, ast.BinOp):
            return node
        is_field = isinstance(node, ast.Attribute) and node.attr == "loss"
        if is_field or isinstance(node, ast.Subscript):
            node = node.value  # type: ignore[attr-defined]
        name = node.id if isinstance(node, ast.Name) else ""
        function = text.around(node, *FUNCTIONS, ast.Module)
        values = [
            statement.value
            for statement in (ast.walk(function) if function is not None else ())
            if isinstance(statement, ast.Assign)
            and statement.lineno < node.lineno
            and any(name in collect_names(target) for target in statement.targets)
        ]
        if not values:
            return None
        node = max(values, key=lambda value: value.lineno)
    return None


def _is_root_trained(scene: RehearsalContext) -> bool:
    """Return whether the program trains the root of a loss: its mean is that of the
    losses.
    """
    roots = {
        fact.tensor
        for op in scene.program.trace.ops
        if op.name.rpartition(".")[2] in ("sqrt", "pow", "**")
        for fact in op.outputs
    }
    return any(
        fact.tensor in roots
        for op in scene.program.trace.ops
        if op.name.rpartition(".")[2] == "backward"
        for fact in op.inputs
    )


def _find_average(
    scene: RehearsalContext, text: SourceText, value: ast.expr, name: str
) -> _Average | None:
    """Return where a value, or its name if it has one, is averaged over batches, by the
    program or its logger.
    """
    names = {name} - {""}
    function = text.around(value, *FUNCTIONS, ast.Module)
    inside = list(ast.walk(function)) if function is not None else []
    for statement in inside:
        if not isinstance(statement, ast.stmt):
            continue
        total, added, is_list = get_addition(statement)
        loop = text.around(statement, *LOOPS)
        if added is None or not isinstance(loop, ast.For):
            continue
        if _has_value(added, value, names) and not _is_once(scene, text, loop):
            place = _find_division(text, loop, total, is_list)
            if place is not None:
                return _Average(place, _describe_mean(total))
    parts: ast.ListComp | ast.GeneratorExp | None
    parts = text.around(value, ast.ListComp, ast.GeneratorExp)  # type: ignore[assignment]
    if parts is not None and _has_value(parts.elt, value, names):
        return _find_mean_of_parts(text, parts, inside)
    for call in inside:
        if not isinstance(call, ast.Call):
            continue
        for at, argument in enumerate(call.args):
            entries = argument.values if isinstance(argument, ast.Dict) else [argument]
            if any(_has_value(part, value, names) for part in entries):
                average = _find_average_of_call(text, call, at)
                if average is not None:
                    return average
    return None


def _find_mean_of_parts(
    text: SourceText, parts: ast.ListComp | ast.GeneratorExp, inside: list[ast.AST]
) -> _Average | None:
    """Return where the values of a comprehension are averaged: in a call around it, or
    under the name that it is assigned.
    """
    over = parts.generators[0]
    data = find_defining(text, get_last_name(over.iter))
    loaders = [value for value in data if get_called_name(value) == "DataLoader"]
    if not loaders and find_cut_data(text, over) is None:
        return None  # one document at a time, as is meant
    outer = text.parent(parts)
    if get_called_name(outer) in MEANS if outer is not None else False:
        return _Average(outer, "the mean is taken here")  # type: ignore[arg-type]
    if outer is not None and get_called_name(outer) in WHOLE_SUMS:
        division = text.parent(outer)
        is_mean = isinstance(division, ast.BinOp) and isinstance(division.op, ast.Div)
        if is_mean and division.left is outer:  # type: ignore[union-attr]
            return _Average(division, "the mean is taken here")  # type: ignore[arg-type]
    if not isinstance(outer, ast.Assign) or len(outer.targets) != 1:
        return None
    name = text.written(outer.targets[0])
    for node in inside:
        if isinstance(node, ast.expr) and is_mean_of(node, name):
            return _Average(node, _describe_mean(name))
    return None


def _has_value(added: ast.expr, value: ast.expr, names: set[str]) -> bool:
    """Return whether what is added is a value or its name, perhaps times a count."""
    if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult):
        return any(_has_value(side, value, names) for side in (added.left, added.right))
    while added is not value and isinstance(added, ast.Call):
        func = added.func
        if isinstance(func, ast.Attribute) and not added.args:
            added = func.value
        elif get_called_name(added) == "float" and added.args:
            added = added.args[0]
        else:
            return False
    return added is value or (isinstance(added, ast.Name) and added.id in names)


def _is_once(scene: RehearsalContext, text: SourceText, loop: ast.For) -> bool:
    """Return whether a loop has one turn only: the mean is that of one batch."""
    turns = [
        moment.total
        for moment in _iter_loops(scene.rehearsal.story)
        if (moment.file, moment.line) == (text.file, loop.lineno)
    ]
    return bool(turns) and all(total == 1 for total in turns)


def _iter_loops(moment: Moment) -> Iterator[Moment]:
    """Yield the loops within an event."""
    for event in moment.inner:
        if event.kind == "loop":
            yield event
        yield from _iter_loops(event)


def _find_division(
    text: SourceText, loop: ast.For, total: str, is_list: bool
) -> ast.expr | ast.stmt | None:
    """Return where a total or a list is divided by a number below its loop, or None."""
    for place, divided, _ in iter_divisions(text, loop):
        if is_sum_of(divided, total) if is_list else is_same(divided, total):
            return place
    function = text.around(loop, *FUNCTIONS, ast.Module)
    for node in ast.walk(function) if is_list and function is not None else ():
        if isinstance(node, ast.Call) and is_mean_of(node, total):
            return node
    return None


def _find_average_of_call(text: SourceText, call: ast.Call, at: int) -> _Average | None:
    """Return where a function that is given a value averages it with others."""
    name = get_called_name(call)
    functions = [function for _, function in text.functions(name)]
    for function in functions:
        names = [argument.arg for argument in function.args.args]
        names = names[1:] if names[:1] == ["self"] else names
        if at < len(names):
            average = _find_average_of_argument(text, function, names[at])
            if average is not None:
                return average
    if functions or name not in LOGGERS or not _is_lightning(text, call):
        return None
    own = text.around(call, *FUNCTIONS)
    is_averaged = own is not None and getattr(own, "name", "").startswith(EVALUATIONS)
    for word in call.keywords:
        if word.arg == "on_epoch" and isinstance(word.value, ast.Constant):
            is_averaged = word.value.value is True
    words = f"`{name}` takes the mean over the batches of an epoch"
    return _Average(call, words) if is_averaged else None


def _is_lightning(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call is `self.log` of a `LightningModule`."""
    owner = text.around(call, ast.ClassDef)
    bases = [get_dotted_name(base) for base in owner.bases] if owner is not None else []
    is_own = get_dotted_name(call.func).startswith("self.")
    return is_own and any(base.endswith("LightningModule") for base in bases)


def _find_average_of_argument(
    text: SourceText, function: ast.stmt, name: str
) -> _Average | None:
    """Return where the class of a function divides what the function adds up of an
    argument.
    """
    for statement in ast.walk(function):
        total, added, is_list = (
            get_addition(statement)
            if isinstance(statement, ast.stmt)
            else ("", None, False)
        )
        if added is None or name not in collect_names(added):
            continue
        owner = text.around(function, ast.ClassDef, ast.Module)
        for node in ast.walk(owner) if owner is not None else ():
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            is_mean = is_same(node.left, total)
            if is_list:
                is_mean = _is_mean_of_lists(text, node, total)
            if is_mean:
                return _Average(node, _describe_mean(total))
    return None


def _describe_mean(total: str) -> str:
    """Say in words where a mean is taken."""
    return "the mean is taken here" if "(" in total else f"the mean of `{total}`"


def _is_mean_of_lists(text: SourceText, node: ast.BinOp, total: str) -> bool:
    """Return whether a division is `sum(values) / len(values)` of a list, or of those
    that a dict holds.
    """
    left, right = node.left, node.right
    if not (isinstance(left, ast.Call) and isinstance(right, ast.Call)):
        return False
    names = get_called_name(left), get_called_name(right)
    if names != ("sum", "len") or not left.args or not right.args:
        return False
    summed = ast.unparse(left.args[0])
    if summed != ast.unparse(right.args[0]):
        return False
    holder = total.split(".setdefault(")[0].split("[")[0]
    statement = text.statement_of(node)
    return summed == total or holder in ast.unparse(statement)
