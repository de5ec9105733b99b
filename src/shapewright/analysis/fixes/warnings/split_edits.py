"""Edits for data that are cut into parts while they lie sorted, or that are scaled
before they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import cut_lines, write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.batch_loops import match_arguments
from shapewright.analysis.training_mistakes.early_weights import (
    EarlyWeight,
    iter_early_weights,
)
from shapewright.analysis.training_mistakes.own_categories import (
    TRAINED,
    find_numbering_of_training,
    read_numberings,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    find_imports,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
    iter_assignments,
    list_reads,
)

LISTS = frozenset({"sorted", "list", "listdir", "glob", "rglob", "walk"})
TENSORS = operators_with("takes_program_data", "joins_tensors", "is_factory")


def suggest_shuffled_data(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `random.shuffle(files)` before a list is cut, or one permutation of all
    tensors before these are.
    """
    cuts = _list_cuts(text)
    if not cuts:
        return
    scope = text.around(cuts[0], *FUNCTIONS)
    cuts = [cut for cut in cuts if text.around(cut, *FUNCTIONS) is scope]
    names = list(dict.fromkeys(text.written(cut.value) for cut in cuts))
    kinds = {_get_kind(text, name) for name in names} - {""}
    first = text.statement_of(cuts[0])
    if kinds in ({"list"}, {"array"}) and len(names) == 1:
        imported = find_imports(text)
        is_array = kinds == {"array"} or "random" not in imported
        if is_array and "np" in imported:
            new = f"np.random.shuffle({names[0]})"
        else:
            new = f"random.shuffle({names[0]})"
        edits = [write_before(text, first, new)]
        if new.startswith("random.") and "random" not in imported:
            edits.append(_add_import(text, "random"))
        yield Fix("fits", f"`{new}` before the cut", tuple(edits))
    elif kinds == {"tensor"}:
        picked = ", ".join(f"{name}[order]" for name in names)
        lines = f"order = torch.randperm(len({names[0]}))"
        indent = " " * first.col_offset
        new = f"{lines}\n{indent}{', '.join(names)} = {picked}"
        edit = write_before(text, first, new)
        yield Fix("fits", f"`{', '.join(names)} = {picked}` before the cut", (edit,))


def _list_cuts(text: SourceText) -> list[ast.Subscript]:
    """Return the first parts of names that are cut in two: `x[:n]` beside `x[n:]`."""
    slices = [
        node
        for node in text.nodes
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and isinstance(node.slice, ast.Slice)
        and node.slice.step is None
    ]
    rests = {
        (text.written(part.value), text.written(part.slice.lower))
        for part in slices
        if isinstance(part.slice, ast.Slice)
        and part.slice.lower is not None
        and part.slice.upper is None
    }
    return [
        part
        for part in slices
        if isinstance(part.slice, ast.Slice)
        and part.slice.lower is None
        and part.slice.upper is not None
        and (text.written(part.value), text.written(part.slice.upper)) in rests
    ]


def _get_kind(text: SourceText, name: str) -> str:
    """Return whether a name is assigned a list, an array or a tensor, as far as its
    calls say.
    """
    for value in find_defining(text, name):
        owner = get_receiver(value) if isinstance(value, ast.Call) else None
        if owner is not None and text.written(owner) in ("np", "np.random"):
            return "array"
        is_display = isinstance(value, ast.List | ast.ListComp)
        if is_display or get_called_name(value) in LISTS:
            return "list"
        if TENSORS & {get_called_name(part) for part in ast.walk(value)}:
            return "tensor"
    return ""


def _add_import(text: SourceText, module: str) -> Edit:
    """Return the edit that imports a module before the first other import."""
    imports = [n for n in text.nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    first = next(n for n in imports if getattr(n, "module", "") != "__future__")
    return write_before(text, first, f"import {module}")


def suggest_training_columns(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `.reindex(columns=train_x.columns, fill_value=0)` for the columns that a
    table for evaluation has of its own values.
    """
    place = program.node(finding.related[0].span) if finding.related else None
    holder = text.parent(place[1]) if place is not None else None
    target = holder.targets[0] if isinstance(holder, ast.Assign) else None
    if not isinstance(target, ast.Name) or not isinstance(node, ast.Call):
        return
    if "has a column for each value" not in finding.message:
        return
    new = f".reindex(columns={target.id}.columns, fill_value=0)"
    shown = f"`{text.line_of(node)}{new}`"
    yield Fix("fits", shown, (Edit(text.span(node).end, new),))


def suggest_training_categories(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `pd.Categorical(test[c], categories=train[c].cat.categories)` for
    `test[c].astype("category")`.
    """
    known = read_numberings(text)
    if "numbers the categories of its own table" in finding.message:
        yield from _suggest_categories_of_training(program, finding, text)
        return
    tested = next((other for other in known if other.call is node), None)
    if "each on its own" in finding.message and tested is not None:
        yield from _suggest_encoder_of_training(finding, text, tested.call)
        return
    if tested is None or tested.way != "astype":
        return
    trained = find_numbering_of_training(text, known, tested)
    statement = text.statement_of(trained.call) if trained is not None else None
    if trained is None or not isinstance(statement, ast.Assign):
        return
    table = text.written(trained.data)
    is_kept = statement.value is trained.call
    if text.written(statement.targets[0]) == table and not is_kept:
        return  # its codes are in the place of its values then
    categories = table if is_kept else text.written(trained.call)
    name = text.written(tested.data)
    new = f"pd.Categorical({name}, categories={categories}.cat.categories)"
    outer = text.parent(text.parent(node))
    is_chain = isinstance(outer, ast.Attribute) and outer.attr == "codes"
    place: ast.expr = tested.call
    if is_chain and isinstance(outer, ast.Attribute):
        place, new = outer, f"{new}.codes"
        values = text.parent(outer)
        if isinstance(values, ast.Attribute) and values.attr == "values":
            place = values
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place), new),))


def _suggest_encoder_of_training(
    finding: Finding, text: SourceText, call: ast.Call
) -> Iterator[Fix]:
    """Suggest an encoder that is fitted to the table for training, before the loop over
    both.
    """
    loop, encoder = text.around(call, ast.For), get_receiver(call)
    if loop is None or not isinstance(encoder, ast.Call) or len(call.args) != 1:
        return
    table, trained = get_last_name(loop.target), finding.message.split("`")[3]
    column = re.sub(rf"\b{table}\b", trained, text.written(call.args[0]))
    new = f"encoder = {text.written(encoder)}.fit({column})"
    later = f"encoder.transform({text.written(call.args[0])})"
    edits = (write_before(text, loop, new), Edit(text.span(call), later))
    yield Fix("fits", f"`{new}` before the loop, `{join_lines(later)}`", edits)


def _suggest_categories_of_training(
    program: Program, finding: Finding, text: SourceText
) -> Iterator[Fix]:
    """Suggest `table[c].astype(pd.CategoricalDtype(sorted(train[c].unique())))` in a
    function that numbers the categories of what it gets, for a table of the module.
    """
    spans = [related.span for related in finding.related]
    for numbering in read_numberings(text):
        call, data = numbering.call, numbering.data
        function = text.around(call, ast.FunctionDef)
        is_told = text.span(call) in spans and numbering.way == "astype"
        if not is_told or function is None or "pd" not in find_imports(text):
            continue
        tables = [
            match_arguments(function, other).get(numbering.table, "")
            for other in text.nodes
            if isinstance(other, ast.Call) and get_called_name(other) == function.name
            if text.around(other, *FUNCTIONS) is None
        ]
        table = next((name for name in tables if TRAINED.search(name)), "")
        if not table.isidentifier() or not isinstance(data, ast.Subscript):
            continue
        column = text.written(data.slice)
        new = f"pd.CategoricalDtype(sorted({table}[{column}].unique()))"
        yield Fix("fits", f"`{new}`", (Edit(text.span(call.args[0]), new),))


def suggest_later_scaler(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a scaler that is fitted on the rows for training, behind the split."""
    place = program.call_at(finding.related[0].span) if finding.related else None
    for early in iter_early_weights(text):
        if early.statistic is node and isinstance(early.first.slice, ast.Slice):
            yield from _suggest_training_rows(text, early)
            return
    if isinstance(node, ast.Call) and get_called_name(node) == "fit_transform":
        yield from _suggest_first_rows(program, finding, text, node)
    scaling = text.statement_of(node) if isinstance(node, ast.expr) else None
    split = text.statement_of(place[1]) if place and place[0] is text else None
    if not isinstance(scaling, ast.Assign) or not isinstance(split, ast.Assign):
        return
    target, parts = scaling.targets[0], split.targets[0]
    if not isinstance(target, ast.Name) or scaling.value is not node or place is None:
        return
    at = [n for n, v in enumerate(place[1].args) if ast.unparse(v) == target.id]
    is_split = get_called_name(place[1]) == "train_test_split"
    if not isinstance(parts, ast.Tuple) or len(at) != 1 or not is_split:
        return
    function = text.around(scaling, *FUNCTIONS)
    reads = [
        name for name in list_reads(function or text.tree, target.id)
        if name.lineno > scaling.lineno
    ]  # fmt: skip
    names = [text.written(part) for part in parts.elts[2 * at[0] :][:2]]
    rows = place[1].args[at[0]]
    if [read for read in reads if read is not rows] or len(names) < 2:
        return
    lines = _write_scaling(text, node, names)
    raw = _find_raw_rows(node)
    if not lines or raw is None:
        return
    indent = text.lines[split.lineno - 1][: split.col_offset]
    edits = [cut_lines(text, scaling)]
    if text.written(raw) != target.id:
        edits.append(Edit(text.span(rows), text.written(raw)))
    edits.append(write_after(text, split, f"\n{indent}".join(lines)))
    shown = " and ".join(f"`{line}`" for line in lines)
    yield Fix("fits", f"{shown} behind the split", tuple(edits))


def _suggest_training_rows(text: SourceText, early: EarlyWeight) -> Iterator[Fix]:
    """Suggest `y[:n].std(0)` for `y.std(0)`, where `n` is known above it."""
    rows = early.first.slice
    count = rows.upper if isinstance(rows, ast.Slice) else None
    names = collect_names(count) if count is not None else set()
    scope = text.around(early.statistic, *FUNCTIONS) or text.tree
    late = {
        target.id
        for target, value in iter_assignments(scope)
        if isinstance(target, ast.Name) and value.lineno >= early.statistic.lineno
    }
    if not names & late:
        new = text.written(early.first)
        yield Fix("fits", f"`{new}`", (Edit(text.span(early.table), new),))


def _suggest_first_rows(
    program: Program, finding: Finding, text: SourceText, node: ast.Call
) -> Iterator[Fix]:
    """Suggest `scaler.fit(data[:n]).transform(data)` where a condition keeps the first
    `n` rows for training.
    """
    place = program.node(finding.related[0].span) if finding.related else None
    part = place[1] if place is not None and place[0] is text else None
    rows = part.slice if isinstance(part, ast.Subscript) else None
    is_first = isinstance(rows, ast.Slice) and rows.lower is None
    if not is_first or not isinstance(rows, ast.Slice) or rows.upper is None:
        return
    count = rows.upper
    value = find_last_value(text, count, count.lineno)
    if value is not None and value.lineno > node.lineno:
        count = value
    scaling, raw = text.statement_of(node), node.args[0]
    names = collect_names(scaling, ast.Store) - {text.written(raw)}
    if not isinstance(node.func, ast.Attribute) or collect_names(count) & names:
        return
    if not isinstance(raw, ast.Name | ast.Attribute) or len(node.args) != 1:
        return
    written, owner = text.written(raw), text.owner_span(node.func)
    new = f".fit({written}[:{text.written(count)}]).transform({written})"
    edit = Edit(Span(owner.file, *_get_ends(owner, text.span(node))), new)
    yield Fix("fits", f"`{text.at(owner)}{new}`", (edit,))


def _get_ends(span: Span, other: Span) -> tuple[int, int, int, int]:
    """Return the lines and columns at which two spans end."""
    return span.end_line, span.end_column, other.end_line, other.end_column


def _find_raw_rows(node: ast.AST) -> ast.expr | None:
    """Return the rows that an expression scales."""
    if isinstance(node, ast.Call):
        return node.args[0] if node.args else None
    left = node.left if isinstance(node, ast.BinOp) else None
    return left.left if isinstance(left, ast.BinOp) else None


def _write_scaling(text: SourceText, node: ast.AST, names: list[str]) -> list[str]:
    """Return the statements that scale two parts by the statistics of the first."""
    train, test = names
    owner = get_receiver(node) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and owner is not None:
        if get_called_name(node) != "fit_transform":
            return []
        scaler, lines = text.written(owner), list[str]()
        if isinstance(owner, ast.Call):
            scaler, lines = "scaler", [f"scaler = {text.line_of(owner)}"]
        lines.append(f"{train} = {scaler}.fit_transform({train})")
        return [*lines, f"{test} = {scaler}.transform({test})"]
    raw = _find_raw_rows(node)
    if raw is None or not isinstance(node, ast.BinOp):
        return []
    parts = [node.left.right if isinstance(node.left, ast.BinOp) else None, node.right]
    is_inline = all(isinstance(part, ast.Call) for part in parts)
    if not is_inline or text.tree is None or {"mean", "std"} & collect_names(text.tree):
        return []
    own = rf"\b{re.escape(text.written(raw))}\b"
    values = [re.sub(own, train, text.line_of(part)) for part in parts if part]
    lines = [f"mean, std = {values[0]}, {values[1]}"]
    return [*lines, *(f"{name} = ({name} - mean) / std" for name in names)]
