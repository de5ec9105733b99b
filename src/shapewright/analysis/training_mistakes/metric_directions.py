"""Find accuracies that are waited for to fall, and losses that are waited for to rise.

A name says which of the two a number is; the mode of a scheduler, or a comparison with
the best number so far, says which way it is expected to go. Names that could be either,
such as `score - loss`, say nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.ascending_ranks import find_ascending_ranks
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import METRIC_DIRECTION, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

RISING = frozenset({
    "acc", "accs", "accuracy", "accuracies", "top1", "top5", "f1", "auc", "auroc",
    "iou", "miou", "dice", "psnr", "ssim", "bleu", "recall", "precision", "kappa",
    "mcc", "ndcg", "mrr", "rouge", "jaccard", "hits", "auprc", "r2",
})  # fmt: skip
FALLING = frozenset({
    "loss", "losses", "error", "err", "mse", "mae", "rmse", "nll", "perplexity", "ppl",
    "wer", "cer", "bce",
})  # fmt: skip
TURNED = frozenset({"neg", "negative", "minus", "inv", "inverse", "worst", "hardest"})
"""Words that turn a number round, or that ask for the worst one."""


def _read_direction(node: ast.expr) -> int:
    """Return 1 for a number that rises in training, -1 for one that falls, else 0.

    Example: 1 for ``val_acc`` and ``metrics["accuracy"]``, -1 for ``dice_loss``.
    """
    while isinstance(node, ast.Call) and get_called_name(node) in ("item", "float"):
        if isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif node.args:
            node = node.args[0]
        else:
            return 0
    name = ""
    if isinstance(node, ast.Name):
        name = node.id
    elif isinstance(node, ast.Attribute):
        name = node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        key = node.slice.value
        name = key if isinstance(key, str) else ""
    words = re.findall(
        r"[a-z]+\d*|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    )
    if TURNED & set(words):
        return 0
    rises, falls = RISING & set(words), FALLING & set(words)
    if rises and falls:  # `dice_loss`
        return -1 if words[-1] in FALLING else 0
    return 1 if rises else -1 if falls else 0


@looks_for(METRIC_DIRECTION)
def find_wrong_directions(scene: RehearsalContext) -> Iterator[Finding]:
    """Find numbers that are expected to go the other way than they do."""
    yield from find_ascending_ranks(scene)
    yield from _find_wrong_modes(scene)
    for text in scene.program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.If):
                yield from _compare_with_best(text, node)
            elif isinstance(node, ast.Assign):
                yield from _check_extreme(text, node)
            elif isinstance(node, ast.Call):
                yield from _check_key(text, node)


def _find_wrong_modes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `ReduceLROnPlateau` with the wrong mode for the number it is given."""
    for met in scene.observations("plateau"):
        text = scene.program.text(met.place[0])
        for node in text.near(met.place[1]) if text is not None else ():
            if not isinstance(node, ast.Call) or get_called_name(node) != "step":
                continue
            named = [word.value for word in node.keywords if word.arg == "metrics"]
            metric = (node.args or named)[:1]
            wanted = {"min": -1, "max": 1}.get(met.name, 0)
            if text is None or not metric or _read_direction(metric[0]) != -wanted:
                continue
            verb, way = ("fall", "rises") if wanted < 0 else ("rise", "falls")
            yield build_finding(
                METRIC_DIRECTION,
                f'`mode="{met.name}"` waits for `{text.written(metric[0])}` to {verb}:'
                f" each epoch in which it {way} counts as a bad one, and lowers the"
                " learning rate",
                text.span(node),
                (
                    scene.span(met.other, "ReduceLROnPlateau"),
                    f'the scheduler is built with `mode="{met.name}"` here',
                ),
            )


SWAPPED: dict[type[ast.cmpop], int] = {ast.Lt: -1, ast.LtE: -1, ast.Gt: 1, ast.GtE: 1}
"""The way that a number must go to become the best, by the comparison `new < best`."""


def _compare_with_best(text: SourceText, node: ast.If) -> Iterator[Finding]:
    """Yield the finding for `if acc < best_acc: best_acc = acc`."""
    for test in ast.walk(node.test):
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        way = SWAPPED.get(type(test.ops[0]), 0)
        new, best = test.left, test.comparators[0]
        if "best" in text.written(new).lower():
            new, best, way = best, new, -way
        names = text.written(new), text.written(best)
        if not way or "best" not in names[1].lower() or "best" in names[0].lower():
            continue
        kept = any(
            text.written(target) == names[1] and text.written(value) == names[0]
            for statement in node.body
            for target, value in _iter_pairs(statement)
        )
        way_of_new, way_of_best = _read_direction(new), _read_direction(best)
        if not kept or way_of_new != -way or way_of_best == way:
            continue
        if _is_negated(text, test, node):
            continue
        kind = "lowest" if way < 0 else "highest"
        yield build_finding(
            METRIC_DIRECTION,
            f"this keeps the {kind} `{names[0]}` as `{names[1]}`",
            text.span(test),
        )


def _iter_pairs(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets of an assignment with their values, also of `a, b = c, d`."""
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            yield from zip(target.elts, statement.value.elts, strict=False)
        else:
            yield target, statement.value


def _check_key(text: SourceText, call: ast.Call) -> Iterator[Finding]:
    """Yield the finding for `min(trials, key=lambda trial: trial["accuracy"])`, and for
    the first or last of such an order.
    """
    name = get_called_name(call)
    way = EXTREMES.get(name, 0) if isinstance(call.func, ast.Name) else 0
    words = {word.arg: word.value for word in call.keywords}
    key = words.get("key")
    if name == "sorted" and isinstance(outer := text.parent(call), ast.Subscript):
        is_turned = getattr(words.get("reverse"), "value", False) is True
        at = ast.unparse(outer.slice)
        way = {"0": -1, "-1": 1}.get(at, 0) * (-1 if is_turned else 1)
    statement = text.statement_of(call)
    target = ""
    if isinstance(statement, ast.Assign):
        target = text.written(statement.targets[0])
    is_worst = any(word in target.lower() for word in (*TURNED, "least", "weak"))
    if not way or not isinstance(key, ast.Lambda) or not target or is_worst:
        return
    body = key.body
    if isinstance(body, ast.Tuple) and body.elts:
        body = body.elts[0]
    if _read_direction(body) == -way:
        kind = "lowest" if way < 0 else "highest"
        yield build_finding(
            METRIC_DIRECTION,
            f"this takes the one with the {kind} `{text.written(body)}` as `{target}`",
            text.span(call),
        )


EXTREMES = {"min": -1, "argmin": -1, "max": 1, "argmax": 1}


def _check_extreme(text: SourceText, node: ast.Assign) -> Iterator[Finding]:
    """Yield the finding for `best_acc = min(best_acc, acc)` and
    `best_epoch = argmin(accs)`.
    """
    call, target = node.value, text.written(node.targets[0])
    while isinstance(call, ast.Call) and get_called_name(call) in ("int", "float"):
        if not call.args:
            return
        call = call.args[0]
    way = EXTREMES.get(get_called_name(call), 0)
    if not way or not isinstance(call, ast.Call) or "best" not in target.lower():
        return
    is_library = isinstance(call.func, ast.Name) or ast.unparse(call.func).startswith(
        ("np.", "numpy.", "torch.")
    )
    numbers = [part for part in call.args if "best" not in text.written(part).lower()]
    if call.keywords or len(numbers) != 1 or not is_library:
        return
    is_kept = len(call.args) == 2 and target in map(text.written, call.args)
    way_of_target = _read_direction(node.targets[0])
    if not (is_kept or len(call.args) == 1) or way_of_target == way:
        return
    if _read_direction(numbers[0]) == -way:
        kind = "lowest" if way < 0 else "highest"
        yield build_finding(
            METRIC_DIRECTION,
            f"this takes the {kind} `{text.written(numbers[0])}` as `{target}`",
            text.span(call),
        )


def _is_negated(text: SourceText, test: ast.Compare, node: ast.If) -> bool:
    """Return whether a `not` stands before a comparison."""
    for outer in text.outwards(test):
        if outer is node:
            return False
        if isinstance(outer, ast.UnaryOp):
            return True
    return False
