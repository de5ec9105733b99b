"""Find columns whose categories are numbered in the table for training, and in the one
for evaluation on their own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.batch_loops import match_arguments
from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.findings.codes import FITTED_ANEW
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
    list_reads,
)

AGREED = re.compile(
    r"categories=|CategoricalDtype|set_categories|union_categoricals|add_categories"
    r"|get_indexer|pd\.concat"
)
"""What gives two tables the same numbers for their categories."""
EVALUATED = re.compile(r"(^|_)(te|test|val|valid|validation|eval|dev)(_|\d|$)", re.I)
TRAINED = re.compile(r"(^|_)(tr|train|training|fit)(_|\d|$)", re.I)


@dataclass(frozen=True, slots=True)
class _Numbering:
    """A call that numbers the categories of a column: of which table, by which way."""

    call: ast.Call
    data: ast.expr
    table: str
    column: str
    way: str


def find_own_categories(text: SourceText) -> Iterator[Finding]:
    """Find `test[c].astype("category")` beside the same of `train[c]`, and
    `pd.factorize` or a new `LabelEncoder()` for both.
    """
    if AGREED.search(text.text) is not None:
        return
    known = read_numberings(text)
    yield from _find_encoding_functions(text, known)
    yield from _find_encoding_loops(text, known)
    for tested in known:
        if not EVALUATED.search(tested.table):
            continue
        trained = find_numbering_of_training(text, known, tested)
        if trained is None:
            continue
        yield build_finding(
            FITTED_ANEW,
            f"`{text.line_of(tested.call)}` numbers the categories that"
            f" `{tested.table}` has: where one is missing there, the same category has"
            " another number than the model is trained on",
            text.span(tested.call),
            (text.span(trained.call), "they are numbered for training here"),
        )


def find_numbering_of_training(
    text: SourceText, known: list[_Numbering], tested: _Numbering
) -> _Numbering | None:
    """Return how the same column of the table for training is numbered, or None."""
    scope = text.around(tested.call, *FUNCTIONS)
    for other in known:
        is_same = (other.column, other.way) == (tested.column, tested.way)
        is_trained = TRAINED.search(other.table) and not EVALUATED.search(other.table)
        if is_same and is_trained and text.around(other.call, *FUNCTIONS) is scope:
            return other
    return None


def _find_encoding_functions(
    text: SourceText, known: list[_Numbering]
) -> Iterator[Finding]:
    """Find functions that number the categories of what they get, called for data of
    both kinds.
    """
    seen: set[ast.AST] = set()
    for numbering in known:
        function = text.around(numbering.call, ast.FunctionDef)
        if function is None or function in seen:
            continue
        if len(text.functions(function.name)) != 1:
            continue
        calls = [
            (call, match_arguments(function, call).get(numbering.table, ""))
            for call in text.nodes
            if isinstance(call, ast.Call) and get_called_name(call) == function.name
        ]
        tested = [call for call, name in calls if EVALUATED.search(name)]
        trained = [call for call, name in calls if TRAINED.search(name)]
        others = [call for call, _ in calls if call not in trained]
        tested = tested or [call for call in others if _is_only_evaluated(text, call)]
        if tested and trained:
            seen.add(function)
            yield build_finding(
                FITTED_ANEW,
                f"`{text.line_of(tested[0])}` numbers the categories of its own table:"
                " where one is missing there, the same category has another number"
                " than the model is trained on",
                text.span(tested[0]),
                (text.span(numbering.call), "they are numbered here, in each call"),
            )


def _find_encoding_loops(
    text: SourceText, known: list[_Numbering]
) -> Iterator[Finding]:
    """Find loops over the tables of both kinds that number the categories of each."""
    for numbering in known:
        loop = text.around(numbering.call, ast.For)
        tables = getattr(getattr(loop, "iter", None), "elts", [])
        if loop is None or numbering.table not in collect_names(loop.target):
            continue
        names = [get_last_name(table) for table in tables]
        tested = [name for name in names if EVALUATED.search(name)]
        trained = [
            name for name in names if TRAINED.search(name) and name not in tested
        ]
        if tested and trained:
            yield build_finding(
                FITTED_ANEW,
                f"`{text.line_of(numbering.call)}` numbers the categories of"
                f" `{trained[0]}` and of `{tested[0]}` each on its own: where one is"
                " missing, the same category has another number",
                text.span(numbering.call),
                (text.span(loop.iter), "the loop goes over both tables"),
            )


def _is_only_evaluated(text: SourceText, call: ast.Call) -> bool:
    """Return whether what a call returns is compared with predictions, or handed to
    what measures a model, and trains nothing.
    """
    statement = text.statement_of(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    names = collect_names(statement, ast.Store)
    scope = text.around(call, *FUNCTIONS, ast.Module)
    is_evaluated = False
    for name in names:
        for read in list_reads(scope, name):
            around = [*text.outwards(read)]
            called = [get_called_name(n) for n in around if isinstance(n, ast.Call)]
            if any(map(TRAINING.search, called)):
                return False
            is_compared = any(isinstance(outer, ast.Compare) for outer in around)
            is_evaluated |= is_compared or any(map(MEASURING.search, called))
    return is_evaluated


TRAINING = re.compile(r"fit|train|loader|dataset|concat|^cat$", re.I)
MEASURING = re.compile(r"predict|eval|test|accura|score|report|confusion", re.I)
"""Parts of names of functions that train a model, and of those that measure one."""


def read_numberings(text: SourceText) -> list[_Numbering]:
    """Return the calls of a file that number categories."""
    return [n for call in text.nodes if (n := _read_numbering(text, call)) is not None]


def _read_numbering(text: SourceText, node: ast.AST) -> _Numbering | None:
    """Return what a call numbers, or None for other calls."""
    if not isinstance(node, ast.Call):
        return None
    name, data = get_called_name(node), None
    owner = get_receiver(node)
    first = node.args[0] if node.args else None
    if name == "astype":
        is_category = isinstance(first, ast.Constant) and first.value == "category"
        data = owner if is_category and ".codes" in text.text else None
    elif name == "factorize":
        is_library = isinstance(owner, ast.Name) and owner.id in ("pd", "pandas")
        data = first if is_library else owner
    elif name == "fit_transform" and isinstance(owner, ast.Call):
        is_encoder = get_called_name(owner) in ("LabelEncoder", "OrdinalEncoder")
        data = first if is_encoder and not owner.args and not owner.keywords else None
    if not isinstance(data, ast.Subscript | ast.Attribute):
        return None
    if isinstance(data, ast.Subscript):
        column = text.line_of(data.slice)
    else:
        column = repr(data.attr)
    if not isinstance(data.value, ast.Name):
        return None
    return _Numbering(node, data, data.value.id, column.replace("'", '"'), name)
