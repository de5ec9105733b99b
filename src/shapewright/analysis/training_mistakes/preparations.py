"""Find scalers that are fitted on the data for training, and on the test data again,
and columns that each table has of its own values.
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
from shapewright.analysis.training_mistakes.own_categories import find_own_categories
from shapewright.analysis.training_mistakes.unused_statistics import (
    find_unused_statistics,
)
from shapewright.findings.codes import FITTED_ANEW, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
)

EVALUATED = re.compile(
    r"(^|_)(te|test|val|valid|validation|eval|dev|infer)(_|\d|$)", re.I
)
TRAINED = re.compile(r"(^|_)(tr|train|training|aug\w*|fit)(_|\d|$)", re.I)
FITTING = frozenset({"fit_transform", "fit"})


@looks_for(FITTED_ANEW)
def find_refitted_scalers(scene: RehearsalContext) -> Iterator[Finding]:
    """Find scalers that are fitted on the data for training, and on others again."""
    for text in scene.program.own_texts():
        first: dict[tuple[ast.AST | None, str], ast.Call] = {}
        for call in _list_calls(text, FITTING):
            owner = get_receiver(call)
            alone = len(call.args) == 1 and not call.keywords  # no labels to learn
            if owner is None or not alone:
                continue
            written = text.written(owner)
            scope = text.around(call, *FUNCTIONS)
            if written.startswith("self."):  # the same object in other methods
                scope = text.around(call, ast.ClassDef) or scope
            earlier = first.setdefault((scope, written), call)
            if earlier is call or _is_built_between(text, written, earlier, call):
                first[scope, written] = call
                continue
            trained, tested = (_name_data(text, c) for c in (earlier, call))
            is_late = tested != trained and _is_behind_training(text, earlier, call)
            if is_late or (EVALUATED.search(tested) and not EVALUATED.search(trained)):
                yield build_finding(
                    FITTED_ANEW,
                    f"`{written}` is fitted again, on `{tested}`: the model is trained"
                    " on values of one scale and evaluated on those of another",
                    text.span(call),
                    (text.span(earlier), f"it is fitted on `{trained}` here"),
                )
        yield from _find_refitting_functions(text)
        yield from _find_own_columns(text)
        yield from find_own_categories(text)
        yield from find_unused_statistics(scene, text)


def _is_behind_training(text: SourceText, earlier: ast.Call, call: ast.Call) -> bool:
    """Return whether all backward passes of a file stand between two calls that are in
    no loop and in no function.
    """
    if text.around(call, *FUNCTIONS, *LOOPS) or text.around(earlier, *LOOPS):
        return False
    passes = [node.lineno for node in _list_calls(text, PASSES)]
    if any(text.around(c, *FUNCTIONS) for c in _list_calls(text, PASSES)):
        return False
    return bool(passes) and earlier.lineno < min(passes) <= max(passes) < call.lineno


PASSES = frozenset({"backward"})


def _find_own_columns(text: SourceText) -> Iterator[Finding]:
    """Find tables for evaluation whose columns are those of their own values, made by
    `pd.get_dummies` as those for training were.
    """
    if AGREED.search(text.text) is not None:
        return
    names = {DUMMIES} | {
        function.name
        for _, function in text.functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
        and node.value is not None
        and get_called_name(node.value) == DUMMIES
    }
    calls = [
        call
        for call in _list_calls(text, frozenset(names))
        if call.args and not isinstance(text.parent(call), ast.Return)
    ]
    trained = [call for call in calls if _is_of_training(_name_data(text, call))]
    tested = [call for call in calls if _is_of_tests(_name_data(text, call))]
    for call in tested:
        scope = text.around(call, *FUNCTIONS)
        before = [
            other
            for other in trained
            if other.lineno < call.lineno
            and text.around(other, *FUNCTIONS) is scope
            and get_called_name(other) == get_called_name(call)
        ]
        if not before:
            continue
        yield build_finding(
            FITTED_ANEW,
            f"`{text.line_of(call)}` has a column for each value that is there: other"
            " columns, or others in their place, than those that the model is trained"
            " on",
            text.span(call),
            (text.span(before[-1]), "the columns for training are made here"),
        )


DUMMIES = "get_dummies"
AGREED = re.compile(r"reindex|\.align\(|[Cc]ategor(y|ical)|\.columns|intersection")
"""What gives two tables the same columns."""


def _find_refitting_functions(text: SourceText) -> Iterator[Finding]:
    """Yield the findings for functions that fit a scaler of others on what they get,
    and that are called for data of both kinds.
    """
    for call in _list_calls(text, FITTING):
        function = text.around(call, ast.FunctionDef)
        owner = get_receiver(call)
        alone = len(call.args) == 1 and not call.keywords
        if function is None or owner is None or not alone:
            continue
        if text.written(owner) == "self":
            continue  # of the scaler's own class
        inside = text.written(owner).partition(".")[0]
        built = any(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            and node.id == inside
            for node in ast.walk(function)
        )  # fmt: skip
        data = collect_names(call.args[0])
        is_chosen = text.around(call, ast.If, ast.IfExp) is not None
        calls = _list_calls(text, frozenset({function.name}))
        if built or is_chosen or len(text.functions(function.name)) != 1:
            continue
        words = [
            [passed.get(name, "") for name in sorted(data)]
            for passed in (match_arguments(function, other) for other in calls)
        ]
        names = [" ".join(re.findall(r"\w+", " ".join(word))) for word in words]
        tested = [n for n, name in enumerate(names) if _is_of_tests(name)]
        trained = [n for n, name in enumerate(names) if _is_of_training(name)]
        if tested and trained and min(trained) < min(tested):
            other = calls[min(tested)]
            yield build_finding(
                FITTED_ANEW,
                f"`{text.written(owner)}` is fitted again, on what this call passes:"
                " the model is trained on values of one scale and evaluated on those"
                " of another",
                text.span(other),
                (text.span(call), "each call fits it here"),
                (text.span(calls[min(trained)]), "it is fitted for training here"),
            )


def _is_of_tests(names: str) -> bool:
    return any(EVALUATED.search(name) for name in names.split())


def _is_of_training(names: str) -> bool:
    return any(TRAINED.search(name) for name in names.split()) and not _is_of_tests(
        names
    )


def _list_calls(text: SourceText, names: frozenset[str]) -> list[ast.Call]:
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) in names
    ]
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _name_data(text: SourceText, call: ast.Call) -> str:
    """Return the name of what a scaler is fitted on."""
    names = [node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)]
    marked = [name for name in names if EVALUATED.search(name)]
    return (marked or names or [text.written(call.args[0])])[0]


def _is_built_between(
    text: SourceText, name: str, first: ast.Call, second: ast.Call
) -> bool:
    """Return whether a name is given another object between two calls."""
    return any(
        isinstance(node, ast.Assign)
        and first.lineno < node.lineno <= second.lineno
        and any(text.written(target) == name for target in node.targets)
        for node in text.nodes
    )
