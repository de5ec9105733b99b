"""Find tables of features that still hold the column that is predicted.

y = torch.tensor(df["price"].values)
x = torch.tensor(df.values)  # `price` is among the features
loss = criterion(model(x), y)

The text says it: both come from the same table, which nothing changes between them, and
a loss compares the label with what a model makes of the features. Of series it says
nothing: there the past of a column is what predicts its future.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.label_uses import (
    SHOWN,
    LabelUses,
    has_label_loss,
)
from shapewright.analysis.training_mistakes.table_columns import (
    TableColumns,
    get_label,
    is_single,
    iter_choices,
    list_names,
    read_columns,
    trace_table,
)
from shapewright.findings.codes import LABEL_AMONG_FEATURES, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_name,
    list_arguments,
    pair_targets,
)

LABELS = re.compile(r"^(y|ys|labels?|targets?)(_|\d|$)|_(y|labels?|targets?)$", re.I)
FEATURES = re.compile(
    r"^(x|xs|features?|feats|inputs?|data)(_|\d|$)|_(x|features?|inputs?)$", re.I
)
SEQUENCES = re.compile(
    r"(^|_)(seqs?|sequences?|windows?|windowed|lag|lags|lagged|horizon|lookback|look_back"
    r"|forecast|forecasts|timesteps?|time_steps?|series|tokens?|token_ids|words?)(_|$)"
    r"|^(shift|rolling|unfold|pct_change|LSTM|GRU|RNN|LSTMCell|GRUCell|Embedding)$",
    re.I,
)
"""Names of programs whose columns are steps in time, or whose rows are."""
CHANGING = frozenset({"pop", "drop", "insert", "rename", "set_index", "filter"})
"""Methods that may take a column out of a table in its place."""
INTEGERS = frozenset({"randint", "integers", "choice"})


@dataclass(frozen=True, slots=True)
class LabelPair:
    """The features and the label of one table: their expressions, names and columns."""

    features: ast.expr
    label: ast.expr
    names: tuple[str, str]
    taken: TableColumns
    asked: TableColumns


@looks_for(LABEL_AMONG_FEATURES)
def find_labels_among_features(scene: RehearsalContext) -> Iterator[Finding]:
    """Find features that hold the column that is predicted."""
    texts = list(scene.program.own_texts())
    if not any(map(has_label_loss, texts)):
        return
    for text in texts:
        for pair in find_label_pairs(text):
            yield build_finding(
                LABEL_AMONG_FEATURES,
                _describe(text, pair),
                text.span(pair.features),
                (text.span(pair.label), "the label is taken here"),
            )


def _describe(text: SourceText, pair: LabelPair) -> str:
    """Write what a finding says of features that hold their label."""
    features, label = text.line_of(pair.features), text.line_of(pair.label)
    held = f"`{features}` holds `{label}`"
    if pair.asked.label is not None:
        column = get_label(text, pair.asked)
        whole = f"every column of `{pair.taken.table}`, "
        held = f"`{features}` holds {whole * pair.taken.is_whole}`{column}`"
    name = f"`{pair.names[1]}`" if pair.names[1] else "the label"
    return f"{held} too, which {name} is: the answer is among the features"


def find_label_pairs(text: SourceText) -> list[LabelPair]:
    """Return the features of a file that hold the label that a loss asks for."""
    if text.tree is None or _is_about_sequences(text):
        return []
    pairs: dict[tuple[ast.expr, ast.expr], LabelPair] = {}
    for pair in _iter_overlaps(text):
        uses = LabelUses(text, (pair.features, pair.label), list(pair.names))
        if uses.are_paired():
            pairs.setdefault((pair.taken.base, pair.label), pair)
    return list(pairs.values())


def _is_about_sequences(text: SourceText) -> bool:
    """Return whether the names of a file are those of series or of words."""
    for node in text.nodes:
        name = get_last_name(node) if isinstance(node, ast.expr) else ""
        if isinstance(node, ast.arg | ast.keyword):
            name = node.arg or ""
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", node.name)
        if name and SEQUENCES.search(name):
            return True
    return False


def _iter_overlaps(text: SourceText) -> Iterator[LabelPair]:
    """Yield features and labels of one table in one block where the label's column is
    among the features, whatever the width of the table.
    """
    bound = list(_iter_bound(text))
    handed = list(_iter_handed(text))
    places = {get_dotted_name(label) for _, label in handed} - {""}
    labels = [
        pair for pair in bound if _is_name_of(pair[0], LABELS) or pair[0] in places
    ]
    labels += [("", label) for _, label in handed]
    features = [
        pair
        for pair in bound
        if _is_name_of(pair[0], FEATURES) and not _is_name_of(pair[0], LABELS)
    ]
    features += [("", value) for value, _ in handed]
    for label_name, label in labels:
        asked = read_columns(text, label, of_label=True)
        if asked is None or not is_single(asked):
            continue
        for name, value in features:
            taken = read_columns(text, value)
            if taken is None or not _is_same_block(text, value, label):
                continue
            for known in {taken: 0, trace_table(text, taken): 0}:
                pair = LabelPair(value, label, (name, label_name), known, asked)
                if _is_certain(text, pair):
                    yield pair
                    break
                pair = replace(pair, asked=trace_table(text, asked))
                if pair.asked is not asked and _is_certain(text, pair):
                    yield pair
                    break


def _is_certain(text: SourceText, pair: LabelPair) -> bool:
    """Return whether features hold their label, of a table that nothing changes."""
    return (
        _is_label_among(text, pair)
        and not _is_changed_between(text, pair)
        and not _is_coordinate(text, pair)
    )


def _is_coordinate(text: SourceText, pair: LabelPair) -> bool:
    """Return whether a column that is called y stands beside one that is called x."""
    if pair.names[1].rpartition(".")[2].lower() not in ("y", "ys"):
        return False
    for name, value in _iter_bound(text):
        if name.rpartition(".")[2].lower() not in ("x", "xs"):
            continue
        other = read_columns(text, value, of_label=True)
        if other is None or not is_single(other):
            continue
        if pair.asked.table in (other.table, trace_table(text, other).table):
            return True
    return False


def _is_name_of(name: str, kind: re.Pattern[str]) -> bool:
    return kind.search(name.rpartition(".")[2]) is not None


def _iter_handed(text: SourceText) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield features and label that are told by their places: those of a data set of
    tensors, of a split, and of an item that a data set returns.
    """
    for node in text.nodes:
        parts: list[ast.expr] = []
        if get_called_name(node) in ("TensorDataset", "train_test_split"):
            parts = node.args if isinstance(node, ast.Call) else []
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            function = text.around(node, ast.FunctionDef)
            is_item = function is not None and function.name == "__getitem__"
            parts = node.value.elts if is_item else []
        if len(parts) == 2:
            yield parts[0], parts[1]


def _iter_bound(text: SourceText) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names and attributes that a file assigns, with their values."""
    for node in text.nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part, value in pair_targets(target, node.value):
                    name = get_dotted_name(part)
                    if name:
                        yield name, value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            name = get_dotted_name(node.target)
            if name:
                yield name, node.value


def _is_same_block(text: SourceText, first: ast.expr, second: ast.expr) -> bool:
    """Return whether the statements of two expressions stand in one block."""
    statements = [text.statement_of(first), text.statement_of(second)]
    outer = text.parent(statements[0])
    return any(
        isinstance(block, list) and all(s in block for s in statements)
        for block in (getattr(outer, name, None) for name in ("body", "orelse"))
    )


def _is_label_among(text: SourceText, pair: LabelPair) -> bool:
    """Return whether the columns of a label are certainly among those of features."""
    taken, asked = pair.taken, pair.asked
    if (taken.table, taken.rows) != (asked.table, asked.rows):
        return False
    if asked.label is not None:
        if taken.listed is not None:
            return get_label(text, asked) in list_names(text, taken)
        is_table = taken.is_frame or _is_scaled(pair.features) or _is_frame(text, taken)
        return taken.is_whole and is_table
    if taken.label is not None or taken.listed is not None:
        return False
    if taken.is_frame != asked.is_frame:
        return False
    if taken.is_whole and _is_drawn(text, taken.base):
        return False
    choices = list(iter_choices(taken, asked))
    return bool(choices) and all(column in columns for _, columns, column in choices)


def _is_scaled(features: ast.expr) -> bool:
    """Return whether an expression is what a scaler makes of a table."""
    return any(
        get_called_name(node) in ("fit_transform", "transform")
        for node in ast.walk(features)
    )


def _is_frame(text: SourceText, columns: TableColumns) -> bool:
    """Return whether pandas makes a table."""
    value = find_known_value(text, columns.base)
    while isinstance(value, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(value, ast.Call):
            name = get_called_name(value)
            if name == "DataFrame" or name.startswith("read_"):
                return True
            value = value.func
        else:
            value = value.value
    return False


def _is_drawn(text: SourceText, base: ast.expr) -> bool:
    """Return whether a table holds whole numbers that are drawn: symbols of which the
    first or last is to be remembered.
    """
    value = find_known_value(text, base)
    return any(get_called_name(node) in INTEGERS for node in ast.walk(value))


def _is_changed_between(text: SourceText, pair: LabelPair) -> bool:
    """Return whether a table gets other columns, or a name another table, between the
    statements that take features and label of it.
    """
    parts = (pair.features, pair.label, pair.taken.base, pair.asked.base)
    statements = sorted(map(text.statement_of, parts), key=lambda s: s.lineno)
    first, last = statements[0], statements[-1]
    if first is last:
        return False
    table, scope = pair.taken.table, text.around(first, *FUNCTIONS)
    for node in text.nodes:
        line = getattr(node, "lineno", 0)
        if not first.lineno <= line < last.lineno:
            continue
        if text.around(node, *FUNCTIONS) is not scope:
            continue
        if _is_changing(node, table) or _is_handed_over(text, node, table):
            return True
    return False


def _is_changing(node: ast.AST, table: str) -> bool:
    """Return whether a statement assigns a table, or a call takes columns out of it."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        parts = [part for target in targets for part in ast.walk(target)]
        return any(get_dotted_name(part) == table for part in parts)
    if isinstance(node, ast.Delete):
        return any(table.partition(".")[0] in collect_names(t) for t in node.targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_own = get_dotted_name(node.func.value) == table
        is_in_place = node.func.attr == "pop" or any(
            word.arg == "inplace" for word in node.keywords
        )
        return is_own and node.func.attr in CHANGING and is_in_place
    return False


def _is_handed_over(text: SourceText, node: ast.AST, table: str) -> bool:
    """Return whether a statement calls a function with a table, or a method of the
    object that has it, which may change it.
    """
    if not isinstance(node, ast.Call) or not isinstance(text.parent(node), ast.Expr):
        return False
    if get_called_name(node) in SHOWN:
        return False
    owner = get_dotted_name(node.func).rpartition(".")[0]
    is_method = table.startswith("self.") and owner == "self"
    return is_method or any(get_dotted_name(v) == table for v in list_arguments(node))
