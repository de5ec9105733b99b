"""Read which columns of a table an expression holds.

torch.tensor(df["price"].values)   # the column "price" of `df`
scaler.fit_transform(df)           # all columns of `df`
data[:, 1:]                        # the columns of `data` from 1 on
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_known_value, find_last_value
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

MAKERS = operators_with("takes_program_data") | {
    "tensor", "as_tensor", "from_numpy", "array", "asarray", "Tensor", "FloatTensor",
    "LongTensor", "DoubleTensor", "float32", "ascontiguousarray",
}  # fmt: skip
"""Functions that make a tensor or an array of a table."""
SCALING = frozenset({"fit_transform", "transform"})
KEEPING = (
    (operators_with("keeps_elements") - operators_with("regroups_dims"))
    | operators_with("moves_device")
    | {"astype", "copy", "numpy", "to_numpy", "fillna", "detach", "unsqueeze"}
)
"""Methods whose result has the same columns."""
FLATTENING = operators_with("regroups_dims") | {"squeeze", "tolist"}
"""Methods whose result has the numbers of a single column still."""
WIDEST = 48
DEEPEST = 12


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Columns of a table: all, those of an index by position, or one with a name.

    `table` is the name of the table, `base` the node that reads it, `rows` the text of
    the rows that are taken, `index` what chooses columns by their positions, `label`
    what names a column, `listed` the list of names that chooses columns. `is_frame`
    says that pandas is certain.
    """

    table: str
    base: ast.expr
    rows: str = ""
    index: ast.expr | None = None
    label: ast.expr | None = None
    is_frame: bool = False
    listed: ast.List | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether no columns are chosen."""
        return self.index is None and self.label is None and self.listed is None


def strip_conversions(
    node: ast.expr, of_label: bool = False, depth: int = 0
) -> ast.expr:
    """Return what an expression converts, scales or moves, all columns of it."""
    if depth > DEEPEST:
        return node
    inner: ast.expr | None = None
    if isinstance(node, ast.Attribute) and node.attr == "values":
        inner = node.value
    elif isinstance(node, ast.BinOp):
        is_kept = not of_label or _is_statistic(node.right)
        arithmetic = ast.Sub | ast.Div
        inner = node.left if is_kept and isinstance(node.op, arithmetic) else None
    elif isinstance(node, ast.Call):
        name, owner = get_called_name(node), get_receiver(node)
        methods = KEEPING | FLATTENING if of_label else KEEPING
        is_library = isinstance(owner, ast.Name) and owner.id in LIBRARIES
        is_made = name in MAKERS and (owner is None or is_library)
        is_scaled = name in SCALING and len(node.args) == 1 and owner is not None
        if node.args and (is_made or is_scaled):
            inner = node.args[0]
        elif name in methods and owner is not None and not is_library:
            inner = owner
    return node if inner is None else strip_conversions(inner, of_label, depth + 1)


def _is_statistic(node: ast.expr) -> bool:
    """Return whether an expression is a number by which a column is scaled."""
    name = get_called_name(node) or get_dotted_name(node)
    return isinstance(node, ast.Constant) or STATISTICS.search(name) is not None


STATISTICS = re.compile(r"mean|avg|std|dev|min|max|scale|(^|_)(mu|sd|sigma)$")
LIBRARIES = ("torch", "np", "numpy", "jnp", "T")


def read_columns(
    text: SourceText, node: ast.expr, of_label: bool = False
) -> TableColumns | None:
    """Return which columns of which table an expression holds, or None if that is not
    certain.
    """
    core = strip_conversions(node, of_label)
    is_frame = _is_from_frame(node, core)
    name = get_dotted_name(core)
    if name and not name.endswith((".T", ".shape", ".index", ".columns")):
        return TableColumns(name, core, is_frame=is_frame)
    if not isinstance(core, ast.Subscript):
        return None
    return _read_subscript(text, core, is_frame)


def _is_from_frame(node: ast.expr, core: ast.expr) -> bool:
    """Return whether `.values` or `.to_numpy()` stands between two expressions."""
    return any(
        (isinstance(part, ast.Attribute) and part.attr in ("values", "to_numpy"))
        for part in ast.walk(node)
        if part is not core and not _is_within(part, core)
    )


def _is_within(part: ast.AST, whole: ast.AST) -> bool:
    return any(node is part for node in ast.walk(whole))


def _read_subscript(
    text: SourceText, core: ast.Subscript, is_frame: bool
) -> TableColumns | None:
    """Return the columns of `table[...]`, `table.iloc[...]` and `table.loc[...]`."""
    owner, index, access = core.value, core.slice, ""
    is_array = get_called_name(owner) == "to_numpy"
    if isinstance(owner, ast.Attribute):
        is_array = owner.attr == "values"
        if owner.attr in ("iloc", "loc"):
            access, owner, is_frame = owner.attr, owner.value, True
    is_frame = is_frame or is_array
    base = strip_conversions(owner)
    table = get_dotted_name(base)
    if not table:
        return None if access else _read_rows(text, owner, index)
    if isinstance(index, ast.Tuple):
        if len(index.elts) != 2 or (not is_array and is_frame and not access):
            return None
        rows, columns = index.elts
        words = "" if _is_all(rows) else ast.unparse(rows)
        if _is_all(columns):
            return TableColumns(table, base, words, None, None, is_frame)
        if access == "loc":
            label = _read_label(text, columns)
            if label is None:
                return None
            return TableColumns(table, base, words, None, label, True)
        if not _is_known_index(columns):
            return None
        return TableColumns(table, base, words, columns, None, is_frame)
    label = _read_label(text, index)
    if label is not None:
        is_plain = not access and not is_array
        return TableColumns(table, base, "", None, label, True) if is_plain else None
    if not access and not is_array:
        listed = _read_list(text, table, index)
        if isinstance(listed, ast.List):
            return TableColumns(table, base, "", None, None, True, listed)
        if listed is not None:
            return TableColumns(table, core, is_frame=True)
    if isinstance(index, ast.Slice) or access == "iloc" or is_array:
        words = "" if _is_all(index) else ast.unparse(index)
        return TableColumns(table, base, words, None, None, is_frame)
    return None


def _read_label(text: SourceText, index: ast.expr) -> ast.expr | None:
    """Return the name of the single column that an index asks for: "price", ["price"],
    or a name that stands for it.
    """
    if isinstance(index, ast.List) and len(index.elts) == 1:
        index = index.elts[0]
    return index if _list_texts(text, index) else None


def _read_rows(
    text: SourceText, owner: ast.expr, index: ast.expr
) -> TableColumns | None:
    """Return the columns of some rows of an expression: `df["price"].values[:80]`."""
    columns = read_columns(text, owner, of_label=True)
    is_array = isinstance(owner, ast.Attribute | ast.Call)
    if columns is None or columns.rows or isinstance(index, ast.Tuple) or not is_array:
        return None
    return replace(columns, rows="" if _is_all(index) else ast.unparse(index))


def _read_list(text: SourceText, table: str, index: ast.expr) -> ast.expr | None:
    """Return the list of names by which an index chooses columns, as it is written, or
    the expression for all columns of the table; None for others, and for a list that
    the program changes.
    """
    value = index
    if isinstance(index, ast.Name):
        value = find_known_value(text, index)
        if any(get_dotted_name(owner) == index.id for owner in _iter_changed(text)):
            return None
    if isinstance(value, ast.List):
        texts = [_list_texts(text, part) for part in value.elts]
        return value if texts and all(texts) else None
    if isinstance(value, ast.Call):
        owner = get_receiver(value) if get_called_name(value) == "tolist" else None
        is_list = get_called_name(value) == "list" and len(value.args) == 1
        value = value.args[0] if is_list else owner if owner is not None else value
    return value if get_dotted_name(value) == f"{table}.columns" else None


def _iter_changed(text: SourceText) -> Iterator[ast.expr]:
    """Yield the lists that a method changes in their place."""
    for node in text.nodes:
        owner = get_receiver(node) if isinstance(node, ast.Call) else None
        if owner is not None and get_called_name(node) in LIST_METHODS:
            yield owner
        if isinstance(node, ast.Delete | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Delete) else [node.target]
            yield from (t.value for t in targets if isinstance(t, ast.Subscript))
            yield from (t for t in targets if not isinstance(t, ast.Subscript))


LIST_METHODS = frozenset({"remove", "pop", "append", "extend", "insert", "clear"})


def list_names(text: SourceText, columns: TableColumns) -> list[str]:
    """Return the names of the columns that a list chooses, as the table has them."""
    parts = columns.listed.elts if columns.listed is not None else []
    return [(_list_texts(text, part) or [""])[0] for part in parts]


def trace_table(text: SourceText, columns: TableColumns) -> TableColumns:
    """Return columns as those of the table that was converted: of `df`, where
    `array = df.values` stands above.
    """
    value = find_last_value(text, columns.base, columns.base.lineno)
    if value is None or isinstance(value, ast.Tuple):
        return columns
    origin = read_columns(text, value)
    is_plain = origin is not None and origin.is_whole and not origin.rows
    if origin is None or not is_plain or origin.table == columns.table:
        return columns
    if text.around(value, ast.If) is not text.around(columns.base, ast.If):
        return columns
    return replace(
        columns,
        table=origin.table,
        base=origin.base,
        is_frame=origin.is_frame or columns.is_frame,
    )


def _list_texts(text: SourceText, index: ast.expr) -> list[str]:
    """Return the strings that an expression may stand for, none if it may be others."""
    values = [index]
    if isinstance(index, ast.Name):
        known = find_known_value(text, index)
        values = find_defining(text, index.id) if known is index else [known]
    texts = [
        value.value
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]
    return texts if len(texts) == len(values) else []


def get_label(text: SourceText, columns: TableColumns) -> str:
    """Return the name of a single column as the table has it, or that which stands for
    several.
    """
    if columns.label is None:
        return ""
    texts = set(_list_texts(text, columns.label))
    return texts.pop() if len(texts) == 1 else text.written(columns.label)


def _is_all(index: ast.expr) -> bool:
    """Return whether an index takes everything: `:`."""
    parts = (
        (index.lower, index.upper, index.step) if isinstance(index, ast.Slice) else (1,)
    )
    return parts == (None, None, None)


def _is_known_index(index: ast.expr) -> bool:
    """Return whether an index is of numbers that are written."""
    bounds: list[ast.expr | None] = [index]
    if isinstance(index, ast.Slice):
        bounds = [index.lower, index.upper, index.step]
    elif isinstance(index, ast.List):
        bounds = list(index.elts)
    return all(bound is None or read_number(bound) is not None for bound in bounds)


def read_number(node: ast.expr | None) -> int | None:
    """Return a whole number that is written, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = read_number(node.operand)
        return None if number is None else -number
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int):
        return None
    return None if isinstance(node.value, bool) else node.value


def list_positions(index: ast.expr | None, width: int) -> list[int] | None:
    """Return the columns that an index takes of a table of some width, or None if it
    has not so many.
    """
    every = range(width)
    if index is None:
        return list(every)
    if isinstance(index, ast.Slice):
        bounds = slice(*map(read_number, (index.lower, index.upper, index.step)))
        reaching = [
            bound
            for bound in (bounds.start, bounds.stop)
            if bound is not None and not -width <= bound <= width
        ]
        return None if reaching or bounds.step == 0 else list(every[bounds])
    numbers = index.elts if isinstance(index, ast.List) else [index]
    taken = [read_number(number) for number in numbers]
    if any(n is None or not -width <= n < width for n in taken):
        return None
    return [every[n] for n in taken if n is not None]


def iter_choices(
    features: TableColumns, label: TableColumns
) -> Iterator[tuple[int, list[int], int]]:
    """Yield the widths that a table may have, the columns that are features then, and
    the one that is the label.
    """
    for width in range(1, WIDEST):
        taken = list_positions(features.index, width)
        asked = list_positions(label.index, width)
        if taken and asked and len(asked) == 1 and taken != asked:
            yield width, taken, asked[0]


def is_single(columns: TableColumns) -> bool:
    """Return whether columns are a single one, whatever the width of the table."""
    if columns.label is not None:
        return True
    if columns.index is None or isinstance(columns.index, ast.Slice):
        sizes = {
            len(taken)
            for width in range(2, WIDEST)
            if columns.index is not None
            for taken in [list_positions(columns.index, width)]
            if taken is not None
        }
        # `4:` is one column of a table of 5 alone
        return sizes == {1}
    return not isinstance(columns.index, ast.List) or len(columns.index.elts) == 1
