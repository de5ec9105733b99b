"""Edits that take the column that is predicted out of the features."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.label_columns import (
    LabelPair,
    find_label_pairs,
)
from shapewright.analysis.training_mistakes.table_columns import (
    get_label,
    iter_choices,
    list_names,
    list_positions,
    read_number,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_assignments,
    list_arguments,
)

LAYERS = frozenset({"Linear", "BatchNorm1d", "LayerNorm", "LazyLinear"})
LINEAR = frozenset({"linear", "Linear"})


def suggest_features_without_label(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `df.drop(columns=["price"])` or `data[:, 1:-1]`, and one input less for
    the first layer, where its size is written.
    """
    pairs = find_label_pairs(text)
    own = [pair for pair in pairs if text.span(pair.features) == finding.span][:1]
    width = _find_width(program)
    for chosen in (pairs, own) if len(pairs) > 1 else (own,):
        ways = [next(_iter_narrower(text, pair, width), None) for pair in chosen]
        known = [way for way in ways if way is not None]
        if not known or len(known) < len(chosen):
            continue
        edits = {text.span(place): new for new, places in known for place in places}
        cut = tuple(Edit(span, new) for span, new in edits.items())
        words = " and ".join(dict.fromkeys(f"`{new}`" for new in edits.values()))
        yield Fix("fits", words, cut)
        sizes = list(_iter_sizes(program, width))
        for size in [[s] for s in sizes[:2]] + [sizes] * (len(sizes) > 1):
            others = [Edit(t.span(number), str(width - 1)) for t, number in size]
            less = f"{words}, and {width - 1} inputs of the first layer"
            yield Fix("fits", less, (*cut, *others))


def _iter_narrower(
    text: SourceText, pair: LabelPair, width: int
) -> Iterator[tuple[str, list[ast.expr]]]:
    """Yield the text of a table or part that has all features but the label, and the
    expressions in whose place it is to stand.
    """
    taken, asked = pair.taken, pair.asked
    table = text.written(taken.base)
    if taken.listed is not None:
        label = get_label(text, asked)
        names = zip(list_names(text, taken), taken.listed.elts, strict=True)
        kept = [text.written(part) for name, part in names if name != label]
        yield f"[{', '.join(kept)}]", [taken.listed]
        return
    if asked.label is not None:
        label = text.written(asked.label)
        places = _list_whole(text, pair)
        is_row = _is_row(text, taken.base)
        words = f"{table}.drop({label})" if is_row else ""
        yield words or f"{table}.drop(columns=[{label}])", places
        return
    holder = _find_holder(text, taken.base, taken.index)
    for index in _iter_indices(pair, width):
        if isinstance(holder, ast.Subscript) and isinstance(holder.slice, ast.Tuple):
            owner, rows = holder.value, text.written(holder.slice.elts[0])
            yield f"{text.written(owner)}[{rows}, {index}]", [holder]
        elif taken.index is None and not taken.rows:
            place = f"{table}.iloc" if taken.is_frame else table
            yield f"{place}[:, {index}]", [taken.base]


def _list_whole(text: SourceText, pair: LabelPair) -> list[ast.expr]:
    """Return where the statement that takes the features reads the whole table."""
    base = pair.taken.base
    places: list[ast.expr] = [base]
    for node in ast.walk(text.statement_of(base)):
        if not isinstance(node, ast.Name | ast.Attribute) or node is base:
            continue
        outer = text.parent(node)
        is_part = isinstance(outer, ast.Subscript) and outer.value is node
        is_read = isinstance(node.ctx, ast.Load) and not is_part
        if is_read and get_dotted_name(node) == get_dotted_name(base) != "":
            places.append(node)
    return places


def _find_holder(
    text: SourceText, base: ast.expr, index: ast.expr | None
) -> ast.AST | None:
    """Return the expression that an index belongs to: `data[:, 1:]`."""
    for outer in text.outwards(index if index is not None else base):
        if isinstance(outer, ast.Subscript):
            return outer
        if isinstance(outer, ast.stmt):
            break
    return None


def _is_row(text: SourceText, base: ast.expr) -> bool:
    """Return whether a name stands for one row of a frame: `df.iloc[i]`."""
    value = find_known_value(text, base)
    owner = value.value if isinstance(value, ast.Subscript) else None
    return (
        isinstance(value, ast.Subscript)
        and isinstance(owner, ast.Attribute)
        and owner.attr in ("iloc", "loc")
        and not isinstance(value.slice, ast.Slice | ast.Tuple)
    )


def _iter_indices(pair: LabelPair, width: int) -> Iterator[str]:
    """Yield the index of all features but the label: for a table from which so many
    are taken, or else for each.
    """
    choices = list(iter_choices(pair.taken, pair.asked))
    choices = [choice for choice in choices if len(choice[1]) == width] or choices
    index = pair.taken.index
    if isinstance(index, ast.List):
        label = choices[-1][2]
        positions = zip(index.elts, choices[-1][1], strict=True)
        kept = [ast.unparse(number) for number, at in positions if at != label]
        yield f"[{', '.join(kept)}]"
        return
    start, end = "", ""
    if isinstance(index, ast.Slice):
        start = ast.unparse(index.lower) if index.lower is not None else ""
        end = ast.unparse(index.upper) if index.upper is not None else ""
    size, _, label = choices[-1]
    starts = [start, str(label + 1), *([str(label + 1 - size)] * (label + 1 < size))]
    ends = [end, str(label - size), str(label)]
    if pair.asked.index is not None and (read_number(pair.asked.index) or 0) >= 0:
        ends.reverse()
    for first, last in product(starts, dict.fromkeys([end, *ends])):
        written = ast.parse(f"a[{first}:{last}]", mode="eval").body
        assert isinstance(written, ast.Subscript)
        if all(
            list_positions(written.slice, size) == [n for n in taken if n != label]
            for size, taken, label in choices
            if len(taken) > 1
        ):
            yield f"{first}:{last}"
            return


def _iter_sizes(
    program: Program, width: int
) -> Iterator[tuple[SourceText, ast.Constant]]:
    """Yield where the number of inputs of the first layer is written: in the layer, in
    a call of the program's own model, or beside a name.
    """
    for text in program.own_texts() if width else ():
        own = {
            name for name, node in text.definitions() if isinstance(node, ast.ClassDef)
        }
        numbers: list[ast.AST] = []
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) in LAYERS | own:
                numbers += list_arguments(node)[:1]
        numbers += [value for _, value in iter_assignments(text.tree, unpacked=True)]
        for _, function in text.functions("__init__"):
            numbers += function.args.defaults
        for number in numbers:
            if isinstance(number, ast.Constant) and number.value == width:
                yield text, number


def _find_width(program: Program) -> int:
    """Return the number of features that the first linear layer gets, or 0."""
    for op in program.trace.ops:
        if op.name.rpartition(".")[2] in LINEAR and op.inputs and op.inputs[0].shape:
            return int(op.inputs[0].shape[-1])
    return 0
