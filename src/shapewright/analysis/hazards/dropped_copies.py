"""Find copies of arrays, tables and lists that are thrown away:
`rng.permutation(names)`, `np.append(values, x)`, `table.dropna()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import RESULT_DROPPED
from shapewright.findings.finding import Finding, Related
from shapewright.program.notebooks import is_notebook
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_line,
    get_last_name,
)

OF_LIBRARIES = frozenset({
    "np.append", "np.clip", "np.concatenate", "np.delete", "np.expand_dims", "np.flip",
    "np.fliplr", "np.flipud", "np.insert", "np.nan_to_num", "np.pad", "np.repeat",
    "np.reshape", "np.roll", "np.rot90", "np.sort", "np.squeeze", "np.swapaxes",
    "np.tile", "np.transpose", "np.unique", "np.where",
    "cv2.cvtColor", "cv2.flip", "cv2.resize", "cv2.rotate",
})  # fmt: skip
"""Functions that return a copy, or a view, of their first argument."""
BUILT_IN = frozenset({"reversed", "sorted"})
METHODS = frozenset({
    "astype", "drop_duplicates", "dropna", "fillna", "reset_index", "set_index",
    "sort_index", "sort_values",
})  # fmt: skip
"""Methods of arrays and tables that return a changed copy."""
OF_TABLES = frozenset({"drop", "rename", "replace", "sample", "merge", "join"})
"""Methods that return a changed copy of a table, and change other objects in place."""
OF_IMAGES = frozenset({"convert", "crop", "resize", "rotate", "transpose"})
MAKERS_OF_TABLES = frozenset({"DataFrame", "read_csv", "read_parquet", "read_excel"})
MAKERS_OF_IMAGES = frozenset({"open", "fromarray", *OF_IMAGES})


def find_dropped_copies(program: Program) -> Iterator[Finding]:
    """Find statements that are only a call whose copy was meant to be kept, where what
    was copied is read below.
    """
    for text in program.own_texts():
        if is_notebook(text.file):
            continue
        for call in text.nodes:
            statement = text.parent(call)
            if not isinstance(call, ast.Call) or not isinstance(statement, ast.Expr):
                continue
            value = find_copied_value(text, call)
            read = _find_later_read(text, statement, value) if value else None
            if value is None or read is None:
                continue
            written = text.line_of(value)
            yield Finding(
                RESULT_DROPPED,
                "warning",
                f"`{text.line_of(call.func)}` returns a new value, which is thrown"
                f" away: `{written}` stays as it was",
                text.span(call),
                related=(Related(text.span(read), f"`{written}` is read here"),),
            )


def find_copied_value(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the name that a call is meant to change, if it returns a copy instead."""
    name, owner = get_called_name(call), get_receiver(call)
    words = {word.arg for word in call.keywords}
    if words & {"inplace", "out", "dst"} or text.functions(name):
        return None
    first = call.args[0] if call.args else None
    owned_by = get_last_name(owner).replace("numpy", "np") if owner is not None else ""
    value: ast.expr | None = None
    if owner is None:
        value = first if name in BUILT_IN else None
    elif name == "permutation" or f"{owned_by}.{name}" in OF_LIBRARIES:
        value = first
    elif name in METHODS or (
        isinstance(owner, ast.Name) and _is_made_by(text, owner, name)
    ):
        value = owner
    is_named = isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
    return value if is_named else None


def _is_made_by(text: SourceText, owner: ast.Name, name: str) -> bool:
    """Return whether a name is that of a table, or of a picture, which a method of both
    kinds of objects copies.
    """
    makers: frozenset[str] = frozenset()
    if name in OF_TABLES:
        makers = MAKERS_OF_TABLES
    elif name in OF_IMAGES:
        makers = MAKERS_OF_IMAGES
    values = find_defining(text, owner.id) if makers else ()
    kinds = [get_called_name(value) for value in values]
    return bool(kinds) and all(kind in makers for kind in kinds)


def _find_later_read(
    text: SourceText, statement: ast.stmt, value: ast.expr
) -> ast.expr | None:
    """Return where what was copied is first read below a statement, in the same
    function, before it gets another value.
    """
    function = text.around(statement, *FUNCTIONS)
    nodes = ast.walk(function) if function is not None else iter(text.nodes)
    written = text.written(value)
    uses = [
        node
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and node.lineno > get_last_line(statement)
        and text.written(node) == written
    ]
    first = min(uses, key=lambda node: (node.lineno, node.col_offset), default=None)
    return first if first is not None and isinstance(first.ctx, ast.Load) else None
