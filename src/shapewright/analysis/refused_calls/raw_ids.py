"""Ids of a table that an embedding looks up as they are, where it has a row for each
different id: `nn.Embedding(ratings["user"].nunique(), 16)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

READ = re.compile(r"reads rows 0 to (\d+) of .* is (\d+)$")
NUMBERED = re.compile(
    r"factorize|\.codes|LabelEncoder|OrdinalEncoder|\.map\(|return_inverse|\.replace\("
    r"|get_indexer|ngroup\("
)
"""What numbers the ids of a column from 0."""
COUNTING = frozenset({"nunique"})
SETS = frozenset({"unique", "set"})
"""What gives each different value of a column once."""
MOST_NAMES = 5
"""Names and arguments between an embedding and the count of its rows."""


def find_raw_ids(program: Program, finding: Finding) -> Explanation | None:
    """Return which column holds ids that are not 0 to n - 1, and the codes in their
    place; None where the rows of an embedding are no count of a column.
    """
    read = READ.search(finding.message)
    if finding.code != INDEX_OUT_OF_RANGE or read is None:
        return None
    if int(read[2]) <= int(read[1]) + 1:
        return None
    if any(NUMBERED.search(text.text) for text in program.own_texts()):
        return None
    counted = _find_count(program, finding)
    if counted is None:
        return None
    text, count, column = counted
    fix = _suggest_codes(text, column)
    written = join_lines(text.written(column))
    rows = int(read[1]) + 1
    message = (
        f"the ids of `{written}` are not 0 to n - 1: the embedding has {rows}"
        f" rows, one for each different id, and is given the id {read[2]}"
    )
    place = Related(text.span(count), "the different ids are counted here")
    return Explanation(message, (place,), (fix,) if fix is not None else ())


def _find_count(
    program: Program, finding: Finding
) -> tuple[SourceText, ast.expr, ast.expr] | None:
    """Return the count of a column's different values that an embedding's rows are, and
    the column.
    """
    op = program.op_at(finding.span, finding.module)
    layer = program.layer(op) if op is not None else None
    built = program.built.get(layer.path) if layer is not None else None
    place = program.call_at(built.span) if built is not None else None
    if place is None or get_called_name(place[1]) != "Embedding" or not place[1].args:
        return None
    text = place[0]
    values: list[ast.expr] = [place[1].args[0]]
    for _ in range(MOST_NAMES):
        for value in values:
            for node in ast.walk(value):
                column = _read_count(node)
                if column is not None and isinstance(node, ast.expr):
                    return text, node, column
        names = {get_dotted_name(value).rpartition(".")[2] for value in values}
        values = [new for name in names if name for new in find_defining(text, name)]
    return None


def _read_count(node: ast.AST) -> ast.expr | None:
    """Return the column whose different values an expression counts, or None."""
    if not isinstance(node, ast.Call):
        return None
    name = get_called_name(node)
    if name in COUNTING and isinstance(node.func, ast.Attribute) and not node.args:
        return _get_column(node.func.value)
    inner = node.args[0] if name == "len" and len(node.args) == 1 else None
    if not isinstance(inner, ast.Call) or get_called_name(inner) not in SETS:
        return None
    if inner.args:
        return _get_column(inner.args[0])
    return _get_column(inner.func.value) if isinstance(
        inner.func, ast.Attribute
    ) else None  # fmt: skip


def _get_column(node: ast.expr) -> ast.expr | None:
    """Return an expression if it is a column of a table in a name, `df["user"]` or
    `df.user`, without `.values`.
    """
    if isinstance(node, ast.Attribute) and node.attr == "values":
        node = node.value
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        is_text = isinstance(node.slice.value, str)
        return node if is_text and isinstance(node.value, ast.Name) else None
    is_plain = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return node if is_plain and get_dotted_name(node)[:5] != "self." else None


def _suggest_codes(text: SourceText, column: ast.expr) -> Fix | None:
    """Return the edits that number the ids of each counted column of a table, where
    they are given another name, or behind the table's last change.
    """
    table = get_dotted_name(getattr(column, "value", None))
    columns: dict[str, ast.expr] = {}
    for node in text.nodes:
        other = _read_count(node)
        owner = getattr(other, "value", None)
        if other is not None and owner is not None and get_dotted_name(owner) == table:
            columns.setdefault(text.written(other), other)
    edits: list[Edit] = []
    shown: list[str] = []
    inserted: list[str] = []
    last = _find_last_change(text, table, column)
    for written in columns:
        copies = list(_iter_copies(text, written))
        codes = f'{written}.astype("category").cat.codes'
        if copies:
            for place, is_cast in copies:
                new = codes if is_cast else f'{codes}.astype("int64")'
                edits.append(Edit(text.span(place), new))
                shown.append(f"`{new}`")
            continue
        if last is None:
            return None
        inserted.append(f'{written} = {codes}.astype("int64")')
        shown.append(f"`{inserted[-1]}`")
    if inserted and last is not None:
        indent = text.lines[last.lineno - 1][: last.col_offset]
        edits.append(write_after(text, last, f"\n{indent}".join(inserted)))
    return Fix("fits", " and ".join(shown), tuple(edits)) if edits else None


def _iter_copies(text: SourceText, written: str) -> Iterator[tuple[ast.expr, bool]]:
    """Yield where another column is set to the ids as they are, and whether they are
    converted there: `df["user"] = df["user_id"].astype(int)`.
    """
    for target, value in iter_assignments(text.tree):
        if not isinstance(target, ast.Subscript) or text.written(target) == written:
            continue
        is_cast = get_called_name(value) == "astype"
        source = value.func.value if isinstance(value, ast.Call) and isinstance(
            value.func, ast.Attribute
        ) and is_cast else value  # fmt: skip
        if text.written(source) == written:
            yield source, is_cast


def _find_last_change(
    text: SourceText, table: str, column: ast.expr
) -> ast.stmt | None:
    """Return the last statement that sets a table or a column of it, before one makes
    another table or an array of it.
    """
    scope = text.around(column, *FUNCTIONS)
    last: ast.stmt | None = None
    for target, value in iter_assignments(text.tree, unpacked=True):
        if text.around(value, *FUNCTIONS) is not scope:
            continue
        statement = text.statement_of(value)
        owner = target.value if isinstance(target, ast.Subscript) else target
        is_top = text.parent(statement) is (scope or text.tree)
        if get_dotted_name(owner) == table and is_top:
            last = statement
            continue
        names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        counts = any(_read_count(node) is not None for node in ast.walk(value))
        if last is not None and table in names and not counts:
            break
    return last
