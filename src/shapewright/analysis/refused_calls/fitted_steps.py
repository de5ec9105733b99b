"""Scalers and encoders of scikit-learn that are not fitted, or to other columns or
labels than they get: where they were fitted, and on what.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value, find_last_item
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    pair_targets,
)

NOT_FITTED = re.compile(r"This (\w+) instance is not fitted yet")
FEATURES = re.compile(r"X has (\d+) features?, but (\w+) is expecting (\d+) features?")
UNSEEN = re.compile(
    r"y contains previously unseen labels: (.+?)(?= \w+Error: |$)"
    r"|Found unknown categories (\[.+?\]) in column (\d+)"
)
FITTING = ("fit", "fit_transform", "partial_fit")
TRAINING = re.compile(r"(^|_)tr(ain(ing)?)?($|_)|train", re.IGNORECASE)
TESTING = re.compile(r"(^|_)(test|te|val|valid|validation|eval|dev)(?=$|_)")


def find_fitted_step(program: Program, finding: Finding) -> Explanation | None:
    """Return what a scaler or an encoder was fitted on in place of what it gets."""
    place = find_step(program, finding)
    if place is None:
        return None
    text, owner, method, taken = place
    refused = NOT_FITTED.search(finding.words)
    if refused is not None:
        return _explain_unfitted(program, text, owner, method, taken)
    features = FEATURES.search(finding.words)
    if features is not None:
        return _explain_features(program, text, owner, method, taken, features)
    unseen = UNSEEN.search(finding.words)
    if unseen is not None and taken is not None:
        return _explain_unseen(program, text, owner, method, taken, unseen)
    return None


Step = tuple[SourceText, ast.expr, ast.Attribute, ast.expr | None]


def find_step(program: Program, finding: Finding) -> Step | None:
    """Return the scaler or encoder of the call at a finding, its method and what it
    gets.
    """
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return None
    for node in text.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_there = node.lineno <= span.line <= (node.end_lineno or node.lineno)
        if is_there and node.func.attr in ("transform", "inverse_transform", "predict"):
            return text, node.func.value, node.func, next(iter(node.args), None)
    return None


def iter_fits(
    program: Program, owner: ast.expr
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the calls that fit a step of this name."""
    name = get_dotted_name(owner)
    for text in program.own_texts():
        for node in text.nodes:
            if get_called_name(node) not in FITTING or not isinstance(node, ast.Call):
                continue
            if not isinstance(node.func, ast.Attribute):
                continue
            fitted = node.func.value
            if name and get_dotted_name(fitted) == name:
                yield text, node
            elif isinstance(fitted, ast.Call):  # `enc = LabelEncoder().fit(rows)`
                statement = text.statement_of(node)
                targets = statement.targets if isinstance(statement, ast.Assign) else []
                if name and any(get_dotted_name(target) == name for target in targets):
                    yield text, node


# -- not fitted ------------------------------------------------------------------------


def _explain_unfitted(
    program: Program,
    text: SourceText,
    owner: ast.expr,
    method: ast.Attribute,
    taken: ast.expr | None,
) -> Explanation:
    """Return that nothing has fitted a step, and the edit that fits it."""
    name = text.written(owner)
    fits = list(iter_fits(program, owner))
    if fits:
        message = f"`{name}` is not fitted here: it is another one, or fitted later"
        related = tuple(
            Related(own.span(call), f"`{name}` is fitted here") for own, call in fits
        )
        return Explanation(message, related[:2], ())
    message = f"`{name}` is never fitted: `{text.written(method)}` has nothing to go by"
    fixes: tuple[Fix, ...] = ()
    if method.attr == "transform" and taken is not None:
        fixes = tuple(_suggest_fitting_transform(text, owner, method, taken))
    elif method.attr == "inverse_transform":
        fixes = tuple(_suggest_fitting_targets(text, owner, method))
    return Explanation(message, (), fixes)


def _suggest_fitting_transform(
    text: SourceText, owner: ast.expr, method: ast.Attribute, taken: ast.expr
) -> Iterator[Fix]:
    """Suggest `fit_transform` for the training data, or to fit them above."""
    shown, name = text.written(taken), text.written(owner)
    if not TESTING.search(shown.partition("[")[0]):
        end = text.span(method)
        new = f"{name}.fit_transform"
        yield Fix("fits", f"`{new}({join_lines(shown)})`", (Edit(end, new),))
        return
    trained = TESTING.sub(r"\1train", shown, count=1)
    names = {text.written(n) for n in text.nodes if isinstance(n, ast.Name)}
    if trained.partition("[")[0] in names:
        statement = text.statement_of(taken)
        new = f"{name}.fit({trained})"
        yield Fix("fits", f"`{new}` above", (write_before(text, statement, new),))


def _suggest_fitting_targets(
    text: SourceText, owner: ast.expr, method: ast.Attribute
) -> Iterator[Fix]:
    """Suggest to fit a scaler of targets, `y_scaler`, on those of the training where
    they are first there.
    """
    words = get_dotted_name(owner).rpartition(".")[2].split("_")
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or node.lineno >= method.lineno:
            continue
        if text.around(node, *FUNCTIONS) is not None:
            continue
        for target in node.targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            for part in parts:
                name = get_dotted_name(part)
                is_of = bool(set(words[:1] + words[-1:]) & set(name.split("_")))
                if name and is_of and TRAINING.search(name):
                    scaler = text.written(owner)
                    later = [
                        n
                        for n in text.nodes
                        if isinstance(n, ast.Assign)
                        and n.lineno >= node.lineno
                        and any(
                            get_dotted_name(t) == get_dotted_name(owner)
                            for pair in n.targets
                            for t, _ in pair_targets(pair, n.value)
                        )
                    ]
                    behind = max([node, *later], key=lambda n: n.lineno)
                    new = f"{scaler}.fit({name}.reshape(-1, 1))"
                    edit = write_after(text, behind, new)
                    yield Fix("fits", f"`{new}`", (edit,))
                    return


# -- other columns ---------------------------------------------------------------------


def _explain_features(
    program: Program,
    text: SourceText,
    owner: ast.expr,
    method: ast.Attribute,
    taken: ast.expr | None,
    features: re.Match[str],
) -> Explanation:
    """Return on which columns a step was fitted, and which it gets."""
    got, needed = int(features[1]), int(features[3])
    name = text.written(owner)
    shown = f" of `{text.line_of(taken)}`" if taken is not None else ""
    message = f"`{name}` gets {got} columns{shown}, and was fitted on {needed}"
    related = []
    for own, call in list(iter_fits(program, owner))[:1]:
        if call.args:
            message += f", those of `{own.line_of(call.args[0])}`"
        related.append(Related(own.span(call), f"`{name}` is fitted here"))
    fixes: tuple[Fix, ...] = ()
    if taken is not None:
        fixes = tuple(_suggest_columns(program, text, taken, got, needed))
    return Explanation(message, tuple(related), fixes)


def _suggest_columns(
    program: Program, text: SourceText, taken: ast.expr, got: int, needed: int
) -> Iterator[Fix]:
    """Suggest all columns of a table where some of them are listed."""
    sources: list[ast.AST] = [taken, find_known_value(text, taken)]
    lists = [
        part
        for source in sources
        for part in ast.walk(source)
        if isinstance(part, ast.List) and len(part.elts) == got
    ]
    for columns in _iter_columns(program):
        for part in lists:
            named = [e.value for e in part.elts if isinstance(e, ast.Constant)]
            if len(columns) != needed or len(named) != got:
                continue
            if [column for column in columns if column in named] != named:
                continue  # in another order
            new = "[" + ", ".join(f'"{column}"' for column in columns) + "]"
            yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))
            return


def _iter_columns(program: Program) -> Iterator[list[str]]:
    """Yield the columns of each table that a program makes of a dict."""
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign) or not node.targets:
                continue
            value = node.value
            if get_called_name(value) != "DataFrame" or not isinstance(value, ast.Call):
                continue
            data = value.args[0] if value.args else None
            if not isinstance(data, ast.Dict):
                continue
            table = get_dotted_name(node.targets[0])
            columns = [k.value for k in data.keys if isinstance(k, ast.Constant)]
            for later in text.nodes:
                target = later.targets[0] if isinstance(later, ast.Assign) else None
                if not isinstance(target, ast.Subscript):
                    continue
                key = target.slice
                is_column = get_dotted_name(target.value) == table
                if is_column and isinstance(key, ast.Constant):
                    columns.append(key.value)
            yield [str(column) for column in dict.fromkeys(columns)]


# -- other labels ----------------------------------------------------------------------


def _explain_unseen(
    program: Program,
    text: SourceText,
    owner: ast.expr,
    method: ast.Attribute,
    taken: ast.expr,
    unseen: re.Match[str],
) -> Explanation:
    """Return in which rows a label does not occur that an encoder gets."""
    name = text.written(owner)
    labels = (unseen[1] or unseen[2]).strip("[] ")
    where = ""
    related: tuple[Related, ...] = ()
    fixes: list[Fix] = []
    for own, call in list(iter_fits(program, owner))[:1]:
        related = (Related(own.span(call), f"`{name}` is fitted here"),)
        if call.args:
            where = f" on `{own.line_of(call.args[0])}`"
        if unseen[2]:
            fixes += _suggest_ignoring(program, owner)
        elif call.args:
            fixes += _suggest_whole(own, call)
    message = (
        f"`{text.line_of(taken)}` holds {labels}, which does not occur where `{name}`"
        f" was fitted{where}"
    )
    return Explanation(message, related, tuple(fixes))


def _suggest_whole(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest to fit an encoder on the table of which the rows of the training are a
    part.
    """
    rows = call.args[0]
    base = rows.value if isinstance(rows, ast.Subscript | ast.Attribute) else rows
    table = _find_table(text, base)
    if not table or base is rows:
        return
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    whole = text.written(rows).replace(text.written(base), table, 1)
    if get_called_name(call) == "fit":
        written = text.written(call.func)
        edits: tuple[Edit, ...] = (Edit(text.span(rows), whole),)
        yield Fix("fits", f"`{written}({whole})`", edits)
    elif owner is not None and get_dotted_name(owner):
        name, statement = text.written(owner), text.statement_of(call)
        new = f"{name}.fit({whole})"
        inner = f"{name}.transform({text.written(rows)})"
        edits = write_before(text, statement, new), Edit(text.span(call), inner)
        yield Fix("fits", f"`{new}`, then `{join_lines(inner)}`", edits)


def _find_table(text: SourceText, name: ast.expr) -> str:
    """Return the name of the table of which another name is some of the rows."""
    if not isinstance(name, ast.Name):
        return ""
    item = find_last_item(text, name, name.lineno)
    value: ast.expr | None = item[0] if item is not None else None
    if value is None:
        known = find_known_value(text, name)
        value = known if known is not name else None
    if isinstance(value, ast.Tuple):
        return ""
    if isinstance(value, ast.Call) and get_called_name(value) == "train_test_split":
        parts = [part for part in value.args if isinstance(part, ast.Name)]
        return parts[0].id if len(value.args) == 1 and parts else ""
    while isinstance(value, ast.Call | ast.Attribute | ast.Subscript):
        inner = value.func if isinstance(value, ast.Call) else value.value
        if isinstance(value, ast.Call) and get_called_name(value) not in ROWS:
            return ""
        value = inner
    return value.id if isinstance(value, ast.Name) and value.id != name.id else ""


ROWS = ("copy", "reset_index", "head", "tail", "sample", "query", "dropna")
"""Methods of a table that give some of its rows."""


def _suggest_ignoring(program: Program, owner: ast.expr) -> Iterator[Fix]:
    """Suggest an encoder of one column for each category that leaves others at zero."""
    name = get_dotted_name(owner)
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign) or node.value is None:
                continue
            for part in ast.walk(node.value):
                if get_called_name(part) not in UNKNOWN or not isinstance(
                    part, ast.Call
                ):
                    continue
                words = {word.arg for word in part.keywords}
                is_it = any(get_dotted_name(target) == name for target in node.targets)
                if is_it and "handle_unknown" not in words:
                    word = UNKNOWN[get_called_name(part)]
                    yield with_keyword(text, part, word)


UNKNOWN = {
    "OneHotEncoder": 'handle_unknown="ignore"',
    "OrdinalEncoder": 'handle_unknown="use_encoded_value", unknown_value=-1',
}
"""Encoders, each with the words by which it takes categories that it does not know."""
