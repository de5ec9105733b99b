"""Rows of a pandas table that are read by position, where pandas looks up labels: after
`sample`, `drop` or a split, some positions are no labels. Codes of missing values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    INDEX_OUT_OF_RANGE,
    INNER_DIM_MISMATCH,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    find_imports,
    join_lines,
)
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
    list_arguments,
)

MISSING = re.compile(r"KeyError`?: (\d+)$")


def explain_row_label(program: Program, finding: Finding) -> Finding:
    """Return the finding with its cause, if a row was looked up by a label that the
    table does not have.
    """
    number = MISSING.search(finding.message)
    places = _find_reads(program, finding)
    if number is None or places is None:
        return finding
    text, reads = places
    written = join_lines(text.written(reads[0]))
    message = (
        f"`{written}` looks up the row with the label {number[1]}, which the table does"
        " not have: a pandas column is read by its labels, not by position"
    )
    kept: tuple[Related, ...] = ()
    if _is_of_frame(program, reads[0]):
        message = (
            f"`{written}` looks up a column called {number[1]}: a pandas table gives"
            " its columns, and its rows by `iloc`"
        )
    else:
        kept = tuple(_iter_kept_labels(text, reads[0]))
    return replace(
        finding,
        message=message,
        torch_message=f"KeyError: {number[1]}",
        related=(*kept, *finding.related),
    )


def _iter_kept_labels(text: SourceText, read: ast.Subscript) -> Iterator[Related]:
    """Yield the statement that took some rows of a table, which keep their labels: that
    of the names which the class around a read is given, or of the table itself.
    """
    owner = text.around(read, ast.ClassDef)
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call)
        and owner is not None
        and get_called_name(node) == owner.name
    ]
    tables = [part for call in calls for part in list_arguments(call)]
    names = {get_dotted_name(table) for table in tables} or {
        part.id for part in ast.walk(read.value) if isinstance(part, ast.Name)
    }
    for target, value in iter_assignments(text.tree, unpacked=True):
        if not names & {get_dotted_name(part) for part in ast.walk(target)}:
            continue
        how = _describe_chosen_rows(value)
        if how:
            statement = text.statement_of(value)
            rows = join_lines(text.written(target))
            message = f"{how} keeps the labels of the rows: those of `{rows}` have gaps"
            yield Related(text.span(statement), message)
            return


CHOOSING = ("train_test_split", "sample", "drop", "dropna", "drop_duplicates", "query")
"""Calls that take some rows of a table."""
RELABELLING = ("reset_index", "ignore_index")


def _describe_chosen_rows(value: ast.expr) -> str:
    """Return the call or slice that takes some rows of a table, or nothing if the rows
    are numbered anew.
    """
    if any(word in ast.dump(value) for word in RELABELLING):
        return ""
    for node in ast.walk(value):
        called = get_called_name(node)
        of_columns = isinstance(node, ast.Call) and any(
            keyword.arg == "columns"
            or (keyword.arg == "axis" and ast.dump(keyword.value).find("0") < 0)
            for keyword in node.keywords
        )
        if called in CHOOSING and not of_columns:
            return f"`{called}`"
        if isinstance(node, ast.Subscript):
            is_rows = isinstance(node.slice, ast.Slice | ast.Compare | ast.BinOp)
            if is_rows and not _is_text(node.slice):
                return "a part of a table"
    return ""


def _is_of_frame(program: Program, read: ast.Subscript) -> bool:
    """Return whether a whole table was read, which looks up a column."""
    if isinstance(read.value, ast.Attribute) and read.value.attr in BY_LABELS:
        return False
    files = program.ending.libraries if program.ending is not None else ()
    return any(file.endswith("pandas/core/frame.py") for file in files)


def suggest_row_positions(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `self.users.iloc[i]` for all columns that a function reads at `i`, for
    those of one statement, and for the one alone that was refused.
    """
    places = _find_reads(program, finding)
    files = program.ending.libraries if program.ending is not None else ()
    if places is None or not any("pandas" in file for file in files):
        return
    text, reads = places
    tables = [read for read in reads[1:] if not _is_array(text, read.value)]
    columns = [read for read in tables if _is_column(text, read.value)]
    statement = text.statement_of(reads[0])
    beside = [read for read in tables if text.statement_of(read) is statement]
    choices = {tuple(others): None for others in (tables, columns, beside, [])}
    for others in choices:
        chosen = [reads[0], *others]
        edits = tuple(
            Edit(text.span(read), _write_position(text, read)) for read in chosen
        )
        shown = dict.fromkeys(f"`{join_lines(edit.text)}`" for edit in edits)
        yield Fix("fits", " and ".join(shown), edits)


def _write_position(text: SourceText, read: ast.Subscript) -> str:
    """Write a row by its position: `y.iloc[i]` for `y[i]` and for `y.loc[i]`,
    `table["price"].iloc[i]` for `table.loc[i, "price"]`.
    """
    owner, index = read.value, read.slice
    labels = isinstance(owner, ast.Attribute) and owner.attr in BY_LABELS
    if isinstance(owner, ast.Attribute) and labels:
        owner = owner.value
    written = text.written(owner)
    if labels and isinstance(index, ast.Tuple) and len(index.elts) == 2:
        row, column = (text.written(part) for part in index.elts)
        return f"{written}[{column}].iloc[{row}]"
    return f"{written}.iloc[{text.written(index)}]"


def _is_array(text: SourceText, owner: ast.expr) -> bool:
    """Return whether the program sets a name to a tensor, an array or a list, which are
    read by position.
    """
    values = _find_values(text, owner)
    return bool(values) and all(
        isinstance(value, ast.List | ast.ListComp | ast.Tuple)
        or (isinstance(value, ast.Attribute) and value.attr == "values")
        or get_called_name(value) in TO_ARRAYS
        or get_dotted_name(getattr(value, "func", None)).startswith(OF_ARRAYS)
        for value in values
    )


def _is_column(text: SourceText, owner: ast.expr) -> bool:
    """Return whether the program sets a name to a column of a table."""
    values = _find_values(text, owner)
    return bool(values) and all(
        any(
            isinstance(part, ast.Subscript) and _is_text(part.slice)
            for part in ast.walk(value)
        )
        for value in values
    )


def _find_values(text: SourceText, owner: ast.expr) -> list[ast.expr]:
    """Return what the program sets an attribute or a name to."""
    values = [
        value
        for target, value in iter_assignments(text.tree, unpacked=True)
        if isinstance(owner, ast.Attribute)
        and isinstance(target, ast.Attribute)
        and target.attr == owner.attr
    ]
    return values or find_defining(text, get_last_name(owner))


def _is_text(node: ast.expr) -> bool:
    """Return whether an expression is a string."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


BY_LABELS = ("loc", "at")
"""What reads rows of a table by their labels."""
BY_POSITIONS = ("iloc", "iat")
TO_ARRAYS = ("to_numpy", "tolist", "list", "reset_index", "Tensor")
OF_ARRAYS = ("torch.", "np.", "numpy.")


def suggest_columns_of_training(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `test = test.reindex(columns=train.columns, fill_value=0)` where
    `get_dummies` makes columns of two tables, and one lacks a category.
    """
    if failure.unmet is None or failure.unmet.code != INNER_DIM_MISMATCH:
        return
    for file in program.trace.sources:
        text = program.text(file)
        if text is None or "get_dummies" not in text.text:
            continue
        assigned = {
            name.id: statement
            for statement in (text.tree.body if text.tree is not None else ())
            if isinstance(statement, ast.Assign)
            for name in ast.walk(statement.targets[0])
            if isinstance(name, ast.Name)
        }
        for name, statement in assigned.items():
            for word in TWINS:
                first = name.replace(word, "train")
                if word not in name or first not in assigned:
                    continue
                new = f"{name} = {name}.reindex(columns={first}.columns, fill_value=0)"
                edit = write_after(text, statement, new)
                yield Fix("fits", f"`{new}`", (edit,))


TWINS = ("test", "valid", "val", "dev")
"""Parts of the names of tables that have a table for training beside them."""


def _find_reads(
    program: Program, finding: Finding
) -> tuple[SourceText, list[ast.Subscript]] | None:
    """Return the reads of columns at one index in the function of a `KeyError`, that
    which was refused first.
    """
    torch_message = f"KeyError`: {finding.torch_message.rpartition(': ')[2]}"
    if not (MISSING.search(finding.message) or MISSING.search(torch_message)):
        return None
    text_and_node = program.node(finding.span)
    if text_and_node is None:
        return None
    text, node = text_and_node
    imports_pandas = any(
        module.partition(".")[0] == "pandas" for module in find_imports(text).values()
    )
    if not imports_pandas or not isinstance(node, ast.Subscript):
        return None
    if not _is_read(node):
        return None
    index = text.written(_get_row(node))
    around = text.around(node, *FUNCTIONS) or text.statement_of(node)
    reads = [
        other
        for other in ast.walk(around)
        if isinstance(other, ast.Subscript)
        and other is not node
        and _is_read(other)
        and isinstance(other.ctx, ast.Load)
        and text.written(_get_row(other)) == index
    ]
    return text, [node, *reads]


def _get_row(read: ast.Subscript) -> ast.expr:
    """Return the row that is read: `i` of `y[i]` and of `table.loc[i, "price"]`."""
    labels = isinstance(read.value, ast.Attribute) and read.value.attr in BY_LABELS
    if labels and isinstance(read.slice, ast.Tuple) and len(read.slice.elts) == 2:
        return read.slice.elts[0]
    return read.slice


def _is_read(read: ast.Subscript) -> bool:
    """Return whether what is read may be a row of a table, or of a column of it."""
    owner, row = read.value, _get_row(read)
    if isinstance(owner, ast.Attribute) and owner.attr in BY_POSITIONS:
        return False
    if isinstance(owner, ast.Subscript):  # `table["price"][i]`
        if not _is_text(owner.slice):
            return False
    elif not isinstance(owner, ast.Name | ast.Attribute):
        return False
    return isinstance(row, ast.Name | ast.Call | ast.BinOp | ast.Subscript)


def suggest_shifted_codes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `codes + 1`, and one category more, for the codes of categories, of which
    pandas gives -1 to a value that is missing.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or unmet.has != -1:
        return
    for file in program.trace.sources:
        text = program.text(file)
        edits: list[Edit] = []
        for node in text.nodes if text is not None else ():
            if text is None or not isinstance(node, ast.Attribute | ast.Call):
                continue
            if isinstance(node, ast.Attribute) and node.attr == "codes":
                edits.append(Edit(text.span(_take_methods(text, node)).end, " + 1"))
            counted = isinstance(node, ast.Call) and get_called_name(node) == "len"
            if counted and text.written(node).endswith(".cat.categories)"):
                edits.append(Edit(text.span(node).end, " + 1"))
        if edits:
            yield Fix("fits", "`codes + 1`, for what is missing, too", tuple(edits))


def suggest_one_column(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `df["segment"]` for `df[["segment"]]`, a table of one column, where
    targets have one dim too many.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_TARGETS:
        return
    if not any(fact.shape[1:] == (1,) for fact in op.inputs):
        return
    for file in program.trace.sources:
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            name = _get_only_column(node)
            if text is not None and name is not None:
                assert isinstance(node, ast.Subscript)
                new = text.written(name)
                shown = f"`{text.written(node.value)}[{new}]`"
                yield Fix("fits", shown, (Edit(text.span(node.slice), new),))


def _get_only_column(node: ast.AST) -> ast.expr | None:
    """Return the name in `df[["segment"]]`, a table of one column, or None."""
    place = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(place, ast.List) or len(place.elts) != 1:
        return None
    return place.elts[0] if _is_text(place.elts[0]) else None


def describe_table_of_one(program: Program, failure: Failure) -> Related | None:
    """Return where a target with a dim of size 1 too many was taken as a table of one
    column.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_TARGETS:
        return None
    for fact in op.inputs:
        if fact.shape[1:] != (1,):
            continue
        for maker in iter_first_makers(program, fact):
            place = program.call_at(maker.span)
            if maker.name.rpartition(".")[2] not in MADE_OF_DATA or place is None:
                continue
            text, call = place
            column = _find_table_of_one(text, call, 0)
            if column is not None:
                single = f"{text.written(column.value)}[{_write_only(text, column)}]"
                words = (
                    f"`{text.written(column)}` is a table of one column, (n, 1);"
                    f" `{single}` is that column, (n,)"
                )
                return Related(text.span(column), words)
    return None


MADE_OF_DATA = operators_with("takes_program_data")
DEEPEST = 3
"""Names between a tensor and the table that its data come from."""


def _write_only(text: SourceText, column: ast.Subscript) -> str:
    """Return the name of the only column of a table as it is written."""
    name = _get_only_column(column)
    return text.written(name) if name is not None else ""


def _find_table_of_one(
    text: SourceText, node: ast.expr, depth: int
) -> ast.Subscript | None:
    """Return the only table of one column that a value is made of, or None."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript) and _get_only_column(inner) is not None:
            return inner
    taken = _get_data(node)
    name = get_last_name(taken) if taken is not None else ""
    values = find_defining(text, name) if name and depth < DEEPEST else []
    scope = text.around(node, *FUNCTIONS)
    beside = [value for value in values if text.around(value, *FUNCTIONS) is scope]
    values = [value for value in beside if not _is_keyword(text, value)] or values
    return _find_table_of_one(text, values[0], depth + 1) if len(values) == 1 else None


def _is_keyword(text: SourceText, value: ast.expr) -> bool:
    """Return whether a value is handed to a call by its name."""
    return isinstance(text.parent(value), ast.keyword)


def _get_data(node: ast.expr) -> ast.expr | None:
    """Return the name whose values a call or a method reads: `labels` of
    `torch.tensor(labels.values)`.
    """
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and node.args:
            node = node.args[0]
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                return node
            node = node.value
        else:
            return None
    return node


OF_TARGETS = frozenset({BROADCAST_MISMATCH, TARGET_SHAPE})
"""Codes of targets of another number of dims."""


def _take_methods(text: SourceText, node: ast.expr) -> ast.expr:
    """Return an expression with the attributes and calls behind it: `codes.values`."""
    while True:
        around = text.parent(node)
        is_called = isinstance(around, ast.Call) and around.func is node
        if not isinstance(around, ast.Attribute) and not is_called:
            return node
        assert isinstance(around, ast.expr)
        node = around
