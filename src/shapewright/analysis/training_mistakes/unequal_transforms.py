"""Find data for training and for evaluation that are normalized in one of the two only:
by the steps of two transforms, in functions of a kind, in an item of a data set.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.analysis.training_mistakes.raw_comparisons import (
    find_raw_comparisons,
)
from shapewright.analysis.training_mistakes.raw_inference import find_raw_inference
from shapewright.analysis.training_mistakes.scaled_arguments import (
    find_scaled_arguments,
)
from shapewright.findings.codes import UNEQUAL_TRANSFORMS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
)

NORMALIZING = re.compile(r"normali[sz]e|standardi[sz]e|z_?score|rescale", re.I)
"""Names of what takes the mean away and divides by the deviation."""
PREPARING = re.compile(r"transform|prepar|preprocess|augment|pipeline|load|to_", re.I)
"""Parts of names of functions that prepare samples."""
COMPOSING = re.compile(r"compose|sequential|pipeline|chain", re.I)
PLAIN = re.compile(r"(^|_)(plain|basic|clean|simple|center)(_|\d|$)", re.I)
"""Names of what is done without augmentation, beside what is done with it."""
SCALE = "the model is trained on values of one scale and evaluated on those of another"


@looks_for(UNEQUAL_TRANSFORMS)
def find_unequal_transforms(scene: RehearsalContext) -> Iterator[Finding]:
    """Find transforms of the two parts of the data of which one does not normalize."""
    yield from find_raw_comparisons(scene)
    for text in scene.program.own_texts():
        yield from _compare_transforms(text, dict(_iter_composed(text)))
        yield from _compare_transforms(text, dict(_iter_functions(text)))
        yield from _compare_branches(text)
        yield from _find_training_items(text)
        yield from _find_plain_inference(text)
        yield from find_raw_inference(text, _is_normalizing)
    yield from find_scaled_arguments(scene)


def _compare_transforms(
    text: SourceText, transforms: Mapping[str, ast.expr | ast.stmt]
) -> Iterator[Finding]:
    """Yield the transforms that do not normalize though their counterpart does."""
    normalizing = {n: t for n, t in transforms.items() if _is_normalizing(text, t)}
    for name, transform in transforms.items():
        other = None if name in normalizing else _find_counterpart(name, normalizing)
        if other is None:
            continue
        known = _list_step_names(transform)
        more = _list_step_names(normalizing[other])
        making = {step for step in known if NORMALIZING.search(step) is None}
        if isinstance(transform, ast.Call) and not making & set(more):
            continue  # nothing shows that both make the same of a sample
        what = "`Normalize`" if "Normalize" in more else "normalization"
        yield build_finding(
            UNEQUAL_TRANSFORMS,
            f"`{name}` has no {what}, as `{other}` has: {SCALE}",
            text.span(transform),
            (text.span(normalizing[other]), f"`{other}` normalizes here"),
        )


def _compare_branches(text: SourceText) -> Iterator[Finding]:
    """Yield the transforms of one side of `if train:` that do not normalize though
    those of the other side do.
    """
    for node in text.nodes:
        if not isinstance(node, ast.If) or not FLAG.search(text.written(node.test)):
            continue
        sides = [_find_composed(part) for part in (node.body, _list_else(text, node))]
        if any(len(side) != 1 for side in sides):
            continue
        (first,), (second,) = sides
        pair = [_is_normalizing(text, call) for call in (first, second)]
        if pair not in ([True, False], [False, True]):
            continue
        bare, other = (second, first) if pair[0] else (first, second)
        making = {s for s in _list_step_names(bare) if NORMALIZING.search(s) is None}
        if not making & set(_list_step_names(other)):
            continue
        flag = text.written(node.test)
        yield build_finding(
            UNEQUAL_TRANSFORMS,
            f"of the two transforms that `{flag}` chooses, one does not normalize:"
            f" {SCALE}",
            text.span(bare),
            (text.span(other), "the other normalizes here"),
        )


FLAG = re.compile(r"train|eval|valid|test|augment|split|phase|mode|stage", re.I)
"""What says for which part of the data a transform is."""


def _list_else(text: SourceText, node: ast.If) -> list[ast.stmt]:
    """Return the statements that run where a test is false: those behind it, too, if
    the others return.
    """
    if node.orelse or not isinstance(node.body[-1], ast.Return):
        return node.orelse
    block: list[ast.stmt] = getattr(text.parent(node), "body", [])
    return block[block.index(node) + 1 :] if node in block else []


def _find_composed(statements: list[ast.stmt]) -> list[ast.Call]:
    """Return the lists of steps that statements build, but none within another."""
    return [
        value
        for statement in statements
        for value in (getattr(statement, "value", None),)
        if isinstance(value, ast.Call) and COMPOSING.search(get_called_name(value))
    ]


def _iter_composed(text: SourceText) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Yield the lists of steps of a file, each with its name or its key."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and COMPOSING.search(get_called_name(node)):
            name = _find_name(text, node)
            if name and _list_step_names(node):
                yield name, node


def list_steps(call: ast.AST) -> list[ast.expr]:
    """Return the steps that are passed one by one, or in a list, as to `Compose`."""
    items = call.args if isinstance(call, ast.Call) else []
    if len(items) == 1 and isinstance(items[0], ast.List | ast.Tuple):
        return items[0].elts
    return items


def _list_step_names(call: ast.AST) -> list[str]:
    """Return the names of the steps of a transform."""
    names = [get_called_name(step) or get_last_name(step) for step in list_steps(call)]
    return [name for name in names if name]


def _find_name(text: SourceText, call: ast.Call) -> str:
    """Return the name or the key that a transform is given, or the name of the data set
    that is built with it.
    """
    child: ast.AST = call
    parent = text.parent(call)
    while isinstance(parent, ast.Call | ast.keyword):
        child, parent = parent, text.parent(parent)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
        return parent.targets[0].attr
    if isinstance(parent, ast.Dict) and child in parent.values:
        key = parent.keys[parent.values.index(child)]
        return str(key.value) if isinstance(key, ast.Constant) else ""
    return ""


def _iter_functions(text: SourceText) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Yield the functions of a file that prepare samples and return them."""
    for _, function in text.functions():
        prepares = PREPARING.search(function.name) is not None
        if prepares and any(isinstance(n, ast.Return) for n in ast.walk(function)):
            yield function.name, function


def _is_normalizing(text: SourceText, transform: ast.AST) -> bool:
    """Return whether a transform takes a mean away and divides by a deviation, in what
    it calls of the file's too.
    """
    steps = _list_step_names(transform)
    nodes: list[ast.AST] = []
    if not isinstance(transform, ast.Call):
        nodes = list(ast.walk(transform))
        steps = [get_called_name(n) for n in nodes if isinstance(n, ast.Call)]
    for node in text.nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in steps:
            nodes += ast.walk(node)
    return any(map(NORMALIZING.search, steps)) or any(map(_is_normalization, nodes))


def _is_normalization(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        left = node.left
        return isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub)
    name = get_called_name(node) if isinstance(node, ast.Call) else ""
    return NORMALIZING.search(name) is not None or "scale" in name.lower().split("_")


def _find_counterpart(name: str, others: Mapping[str, ast.AST]) -> str | None:
    """Return the transform of the other part of the data: `train_tf` for `val_tf`."""
    mine, theirs = (EVALUATED, TRAINED)
    if TRAINED.search(name):
        mine, theirs = TRAINED, EVALUATED
    elif PLAIN.search(name):
        mine = PLAIN
    if not mine.search(name):
        return None
    alike = [other for other in others if theirs.search(other)]
    rest = mine.sub("", name).strip("_")
    same = [other for other in alike if theirs.sub("", other).strip("_") == rest]
    return next(iter(same or alike), None)


def _find_training_items(text: SourceText) -> Iterator[Finding]:
    """Yield what an item of a data set gets in training only."""
    for _, function in text.functions("__getitem__"):
        for node in ast.walk(function):
            if not isinstance(node, ast.If) or node.orelse:
                continue
            names = " ".join(
                [*collect_names(node.test)]
                + [n.attr for n in ast.walk(node.test) if isinstance(n, ast.Attribute)]
                + [
                    n.value
                    for n in ast.walk(node.test)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                ]
            )
            is_negated = isinstance(node.test, ast.UnaryOp)
            for statement in () if is_negated else node.body:
                is_normal = any(map(_is_normalization, ast.walk(statement)))
                if is_normal and any(map(TRAINED.search, names.split())):
                    yield build_finding(
                        UNEQUAL_TRANSFORMS,
                        f"samples are normalized where `{text.line_of(node.test)}`"
                        f" holds, and nowhere else: {SCALE}",
                        text.span(statement),
                        (text.span(node.test), "only then"),
                    )


INFERRING = re.compile(
    r"(^|_)(infer\w*|predict\w*|classify|recogni[sz]e|demo)(_|$)", re.I
)
"""Names of functions that ask a trained model about a new sample."""
MODEL = re.compile(r"model|net|classifier|clf", re.I)
CONVERTING = operators_with("takes_program_data") | {"to_tensor", "ToTensor"}
BRIGHTEST = 255


def _find_plain_inference(text: SourceText) -> Iterator[Finding]:
    """Yield where a function asks a model about an image that it scales as the items of
    a data set are scaled, and leaves out what normalizes these.
    """
    normalizer = next(_iter_item_normalizers(text), None)
    for _, function in text.functions() if normalizer is not None else ():
        if not isinstance(function, ast.FunctionDef) or normalizer is None:
            continue
        if not INFERRING.search(function.name) or _is_normalizing(text, function):
            continue
        parameters = {argument.arg for argument in function.args.args}
        nodes = list(ast.walk(function))
        called = {get_called_name(n) for n in nodes if isinstance(n, ast.Call)}
        models = [name for name in called & parameters if MODEL.search(name)]
        is_scaled = any(map(_is_scaling, nodes))
        tensors = [
            node
            for node in nodes
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and any(
                isinstance(part, ast.Call) and get_called_name(part) in CONVERTING
                for part in ast.walk(node.value)
            )
        ]
        if not models or called & parameters != {*models}:
            continue
        if not is_scaled or len(tensors) != 1:
            continue
        name = text.written(normalizer.func)
        yield build_finding(
            UNEQUAL_TRANSFORMS,
            f"`{name}` normalizes the samples of the training, and `{function.name}`"
            f" leaves it out: {SCALE}",
            text.span(tensors[0]),
            (text.span(normalizer), "the samples of the training are normalized here"),
        )


def _iter_item_normalizers(text: SourceText) -> Iterator[ast.Call]:
    """Yield the calls that normalize the items of a data set which are scaled before:
    of an object of the file that is a `Normalize`.
    """
    known = {
        target.id
        for node in (text.tree.body if text.tree is not None else ())
        if isinstance(node, ast.Assign) and get_called_name(node.value) == "Normalize"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for _, function in text.functions("__getitem__"):
        nodes = list(ast.walk(function))
        if any(isinstance(node, ast.If) for node in nodes):
            continue
        for node in nodes if any(map(_is_scaling, nodes)) else ():
            if isinstance(node, ast.Call) and get_called_name(node) in known:
                yield node


def _is_scaling(node: ast.AST) -> bool:
    """Return whether a node scales bytes to numbers up to 1."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return isinstance(node.right, ast.Constant) and node.right.value == BRIGHTEST
    return isinstance(node, ast.Call) and get_called_name(node) == "to_tensor"
