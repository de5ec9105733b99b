"""Edits for data that are cut into parts while they lie sorted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.own_categories import (
    find_numbering_of_training,
    read_numberings,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    find_imports,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

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
    tested = next((other for other in known if other.call is node), None)
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
