"""Find data for evaluation that get the random changes of the training: parts of one
data set, two data sets with one transform, items that are changed in any case.
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
from shapewright.analysis.training_mistakes.flagged_changes import (
    find_argument,
    find_flagged_change,
)
from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.analysis.training_mistakes.random_changes import (
    find_item_change,
    is_changing_label_pairs,
    list_random_steps,
)
from shapewright.analysis.training_mistakes.twin_transforms import (
    find_twin_transforms,
)
from shapewright.findings.codes import AUGMENTED_EVALUATION, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    pair_targets,
)

OWN = re.compile(r"\bself\.(transforms?|augment\w*)\s*=(?!=)")
MEANT = re.compile(
    r"\.(transforms?|augment\w*)\s*=(?!=)|(?<!self)\.dataset\s*=(?!=)"
    r"|test[_-]?time|\btta\b",
    re.IGNORECASE,
)
"""What sets a transform or the data of a part later, or changes samples of a test on
purpose.
"""
WRAPPERS = frozenset({"DataLoader", "Subset"})
Built = tuple[str, ast.Call, "ast.expr | ast.stmt"]
"""The name of a data set or of its part, what builds it, and where it is named."""


@looks_for(AUGMENTED_EVALUATION)
def find_augmented_evaluation(scene: RehearsalContext) -> Iterator[Finding]:
    """Find data sets for evaluation whose samples are changed at random as those for
    training are.
    """
    for text in scene.program.own_texts():
        if _is_meant(text):
            continue
        twins = list(find_twin_transforms(text))
        yield from twins
        known = {finding.span for finding in twins}
        for finding in _find_in_file(text):
            if finding.span not in known:
                yield finding


def _is_meant(text: SourceText) -> bool:
    """Return whether a file sets a transform of a data set later, or evaluates with
    changed samples on purpose.
    """
    if MEANT.search(OWN.sub("", text.text)):
        return True
    return any(text.definitions(name) for name in ("random_split", "Subset"))


def _find_in_file(text: SourceText) -> Iterator[Finding]:
    """Yield the findings of one file."""
    builds = list(_iter_built(text))
    trained = [b for b in builds if TRAINED.search(b[0]) and not EVALUATED.search(b[0])]
    seen: set[ast.AST] = set()
    for name, call, place in builds:
        if not EVALUATED.search(name) or place in seen or call in seen:
            continue
        scope = text.around(call, *FUNCTIONS)
        for other, like, _ in trained:
            if get_called_name(like) != get_called_name(call):
                continue
            if text.around(like, *FUNCTIONS) is not scope:
                continue
            finding = _compare(text, (name, call, place), (other, like))
            if finding is not None:
                yield finding
                seen |= {call, place}
                break


def _compare(
    text: SourceText, built: Built, like: tuple[str, ast.Call]
) -> Finding | None:
    """Return the finding on a data set for evaluation beside that for training."""
    name, call, place = built
    other, trained = like
    is_part = call is trained
    whose = f"`{other}`, another part of one data set" if is_part else f"`{other}`"
    effect = (
        f"`{name}` is changed at random like {whose}: the model is evaluated on samples"
        " that differ in each epoch, and from those that it will meet"
    )
    for key, value in find_transforms(text, call):
        alike = [v for k, v in find_transforms(text, trained) if k == key]
        if not alike or text.written(alike[0]) != text.written(value):
            continue
        steps = list_random_steps(text, find_known_value(text, value))
        if steps and is_changing_label_pairs(text, get_called_name(call)):
            return build_finding(
                AUGMENTED_EVALUATION,
                effect,
                text.span(place if is_part else value),
                (text.span(steps[0]), "this changes each sample at random"),
            )
    flagged = find_flagged_change(text, get_called_name(call))
    if flagged is not None and not is_part:
        parameter, block, wanted = flagged
        values = [find_argument(text, built, parameter) for built in (call, trained)]
        if values[0] is not None and all(
            value is not None and ast.unparse(value) == wanted for value in values
        ):
            return build_finding(
                AUGMENTED_EVALUATION,
                effect,
                text.span(values[0]),
                (text.span(block.test), f"`{parameter}` changes samples at random"),
            )
    change = find_item_change(text, get_called_name(call))
    if change is None or _is_flagged(text, call, trained):
        return None
    return build_finding(
        AUGMENTED_EVALUATION,
        effect,
        text.span(place if is_part else call),
        (text.span(change), "this changes each sample at random, in any case"),
    )


def _is_flagged(text: SourceText, call: ast.Call, trained: ast.Call) -> bool:
    """Return whether two builds differ in a truth, as in a flag of the training."""
    flags = [
        {
            key: value
            for key, value in _match(text, built).items()
            if value in ("True", "False", "None")
        }
        for built in (call, trained)
    ]
    return flags[0] != flags[1]


def _match(text: SourceText, call: ast.Call) -> dict[str, str]:
    """Return the arguments with which a data set is built, by their names."""
    for full, function in text.functions("__init__"):
        if full == f"{get_called_name(call)}.__init__":
            shifted = ast.Call(call.func, [ast.Constant(0), *call.args], call.keywords)
            return match_arguments(function, shifted)
    return {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}


def find_transforms(text: SourceText, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the transforms with which a data set is built, with their parameters."""
    for word in call.keywords:
        if word.arg in ("transform", "transforms"):
            yield word.arg, word.value
    for full, function in text.functions("__init__"):
        if full != f"{get_called_name(call)}.__init__":
            continue
        names = [argument.arg for argument in function.args.args[1:]]
        for name, value in zip(names, call.args, strict=False):
            if "transform" in name or "aug" in name:
                yield name, value
        for word in call.keywords:
            if word.arg and "aug" in word.arg:
                yield word.arg, word.value


def _iter_built(text: SourceText) -> Iterator[Built]:
    """Yield the names that are data sets, or parts or loaders of one, if they have
    one value in their function.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        scope = text.around(node, *FUNCTIONS)
        again = [
            other
            for other in text.nodes
            if isinstance(other, ast.Assign)
            and other is not node
            and text.around(other, *FUNCTIONS) is scope
            and collect_names(other.targets[0], ast.Store)
            & (collect_names(target, ast.Store) - {"_"})
        ]
        if again:
            continue
        if get_called_name(node.value) == "random_split":
            assert isinstance(node.value, ast.Call)
            call = _find_build(text, node.value.args[0]) if node.value.args else None
            parts = target.elts if isinstance(target, ast.Tuple) else []
            for part in parts if call is not None else ():
                if isinstance(part, ast.Name) and call is not None:
                    yield part.id, call, part
            continue
        for part, value in pair_targets(target, node.value):
            call = _find_build(text, value)
            if isinstance(part, ast.Name) and call is not None:
                yield part.id, call, part


def _find_build(text: SourceText, value: ast.expr) -> ast.Call | None:
    """Return the call that builds the data set which an expression is or holds."""
    for _ in range(3):
        if isinstance(value, ast.Name):
            value = find_known_value(text, value)
        if not isinstance(value, ast.Call):
            return None
        if get_called_name(value) not in WRAPPERS:
            break
        if not value.args:
            return None
        value = value.args[0]
    is_build = isinstance(value, ast.Call) and get_called_name(value)[:1].isupper()
    return value if isinstance(value, ast.Call) and is_build else None
