"""Find a normalizer that takes the statistics of test data, since it is given none,
while those of the training are saved to a file for it.

Samples may each be normalized by themselves on purpose. So the object must keep what it
sees first, and the program must save what it kept of the training data.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import FITTED_ANEW
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    get_own_attribute,
    iter_assignments,
    list_parameters,
)

EVALUATED = re.compile(
    r"(^|_)(test|testing|val|valid|validation|evaluate|eval|infer|inference|predict)"
    r"(_|\d|$)",
    re.I,
)
STATISTICS = operators_with("measures_spread") | {"mean", "min", "max", "median"}
SAVING = frozenset({"dump", "save", "savez", "savez_compressed", "savetxt"})


@dataclass(frozen=True, slots=True)
class _Keeper:
    """A class whose method takes the statistics of what it gets first."""

    name: str
    method: str
    kept: frozenset[str]


def find_unused_statistics(
    scene: RehearsalContext, text: SourceText
) -> Iterator[Finding]:
    """Find normalizers of test data that are given no statistics of the training."""
    for keeper in _iter_keepers(text):
        built = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call) and get_called_name(node) == keeper.name
        ]
        for trained in built:
            saved = _find_saving(text, trained, keeper.kept)
            if saved is None or not _is_first_use(text, trained, keeper):
                continue
            for call in built:
                if not _is_in_test(text, call) or call is trained:
                    continue
                is_first = _is_first_use(text, call, keeper)
                if is_first and _is_given_nothing(scene, text, call):
                    yield _report_keeper(text, call, keeper, saved)


def _is_in_test(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call stands in a function that evaluates, by its name."""
    function = text.around(call, ast.FunctionDef)
    return function is not None and EVALUATED.search(function.name) is not None


def _report_keeper(
    text: SourceText, call: ast.Call, keeper: _Keeper, saved: ast.Call
) -> Finding:
    """Return the finding on a normalizer that is built without statistics."""
    return build_finding(
        FITTED_ANEW,
        f"this `{keeper.name}` is given no statistics, so `{keeper.method}` takes those"
        " of the data that are tested: the model was trained on values of another"
        " scale, whose statistics are saved",
        text.span(call),
        (text.span(saved), "those of the training are saved here"),
    )


def _iter_keepers(text: SourceText) -> Iterator[_Keeper]:
    """Yield the classes that keep statistics of what a method gets first."""
    for node in text.nodes:
        method = text.around(node, ast.FunctionDef)
        owner = text.around(method, ast.ClassDef)
        if not isinstance(node, ast.If) or method is None or owner is None:
            continue
        name = _get_missing(node.test)
        kept = {
            get_own_attribute(target)
            for target, value in iter_assignments(node)
            if get_own_attribute(target) and _is_statistic(value, method)
        }
        if name and name in kept:
            yield _Keeper(owner.name, method.name, frozenset(kept))


def _get_missing(test: ast.expr) -> str:
    """Return `mean` of `self.mean is None`, or an empty string."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Is):
        return ""
    is_none = isinstance(test.comparators[0], ast.Constant)
    return get_own_attribute(test.left) if is_none else ""


def _is_statistic(value: ast.expr, method: ast.FunctionDef) -> bool:
    """Return whether a value is a statistic of a parameter: `x.mean()`, `np.std(x)`."""
    names = {*list_parameters(method)} - {"self"}
    return get_called_name(value) in STATISTICS and any(
        isinstance(node, ast.Name) and node.id in names for node in ast.walk(value)
    )


def _find_saving(
    text: SourceText, built: ast.Call, kept: frozenset[str]
) -> ast.Call | None:
    """Return the call that writes the statistics of an object to a file, or None."""
    statement = text.parent(built)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    function = text.around(built, *FUNCTIONS, ast.Module)
    for node in ast.walk(function) if function is not None else ():
        if not isinstance(node, ast.Call) or get_called_name(node) not in SAVING:
            continue
        for part in ast.walk(node):
            if not isinstance(part, ast.Attribute) or part.attr not in kept:
                continue
            if get_last_name(part.value) in names:
                return node
    return None


def _is_first_use(text: SourceText, built: ast.Call, keeper: _Keeper) -> bool:
    """Return whether an object is built to normalize, and nothing else is written into
    it: its method is called, and what it keeps is read.
    """
    parent = text.parent(built)
    if isinstance(parent, ast.Attribute):
        return parent.attr == keeper.method
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return False
    function = text.around(built, *FUNCTIONS, ast.Module)
    uses = [
        text.parent(node)
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Name)
        and node.id == targets[0].id
        and node is not targets[0]
    ]
    attributes = [use for use in uses if isinstance(use, ast.Attribute)]
    is_read = all(
        use.attr == keeper.method
        or (use.attr in keeper.kept and isinstance(use.ctx, ast.Load))
        for use in attributes
    )
    is_called = any(use.attr == keeper.method for use in attributes)
    return len(attributes) == len(uses) and is_read and is_called


def _is_given_nothing(
    scene: RehearsalContext, text: SourceText, call: ast.Call
) -> bool:
    """Return whether a call has no arguments, or those of a dict that stays empty
    without an option that the run was not given.
    """
    if call.args or any(word.arg for word in call.keywords):
        return False
    options = scene.rehearsal.arguments
    for word in call.keywords:
        values = list_values(text, word.value)
        empty = [v for v in values if isinstance(v, ast.Dict) and not v.keys]
        others = [value for value in values if value not in empty]
        if not empty or not all(find_missing_option(text, v, options) for v in others):
            return False
    return True


def list_values(text: SourceText, name: ast.expr) -> list[ast.expr]:
    """Return what a name is assigned above its use, in the same function."""
    return [
        value
        for target, value in iter_assignments(text.around(name, *FUNCTIONS))
        if get_last_name(target) == get_last_name(name) != ""
    ]


def find_missing_option(
    text: SourceText, value: ast.expr, arguments: Sequence[str]
) -> ast.Call | None:
    """Return the `add_argument` of the option under which alone a value is assigned, if
    a run with these arguments has it off, or None.
    """
    choice = text.around(value, ast.If, *FUNCTIONS)
    if not isinstance(choice, ast.If) or not isinstance(choice.test, ast.Attribute):
        return None
    option = f"--{choice.test.attr}"
    is_inside = any(value in ast.walk(part) for part in choice.body)
    if not is_inside or any(word.split("=")[0] == option for word in arguments):
        return None
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "add_argument":
            continue
        words = {word.arg: word.value for word in node.keywords}
        names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        default = words.get("default", ast.Constant(None))
        is_off = isinstance(default, ast.Constant) and default.value in (None, "")
        if option in names and is_off and "action" not in words:
            return node
    return None
