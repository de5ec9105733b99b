"""How many values a batch or a call has: `step(batch)` of a function that takes the two
values of the batch, `for x, y in loader` of batches with three.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import UNPACKED_SIZES
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import Function, SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_iterated,
    get_last_name,
    get_own_attribute,
    is_starred,
    iter_assignments,
    iter_own_nodes,
)

MISSING = re.compile(r"(\w+)\(\) missing (\d+) required positional arguments?")
TOO_MANY = re.compile(r"too many values to unpack")
TOO_FEW = re.compile(r"not enough values to unpack")
MOST = 8
"""Values that a batch may have."""


@dataclass(frozen=True, slots=True)
class _Returned:
    """A place that returns several values, and what returns them."""

    span: Span
    name: str
    count: int


def find_whole_batch(program: Program, finding: Finding) -> Explanation | None:
    """Return which argument holds the values that a function takes, or None."""
    match = MISSING.search(finding.words)
    place = program.call_at(finding.span)
    if match is None or place is None or program.ending is None:
        return None
    text, call = place
    if is_starred(call) or call.keywords:
        return None
    called = match[1] if match[1] != "forward" else text.written(call.func)
    takes = len(call.args) + int(match[2])
    for argument in call.args:
        name = text.line_of(argument)
        count = _count_items(program, name)
        if not isinstance(argument, ast.Name | ast.Attribute) or count < 2:
            continue
        if len(call.args) - 1 + count != takes:
            continue
        edit = Edit(text.span(argument).start, "*")
        written, outer = text.written(call), text.span(call)
        at = text.span(argument).column - outer.column
        is_on_line = outer.line == text.span(argument).line
        shown = f"{written[:at]}*{written[at:]}" if is_on_line else f"*{name}"
        message = (
            f"`{name}` is one argument that holds {count} values, and `{called}` takes"
            f" {takes}: `*` hands them on one by one"
        )
        fix = Fix("fits", f"`{' '.join(shown.split())}`", (edit,))
        return Explanation(message, (), (fix,))
    return None


def _count_items(program: Program, name: str) -> int:
    """Return how many items a list or tuple had at the end, or 0 if that is unknown."""
    ending = program.ending
    if ending is None or name in ending.tensors:
        return 0
    known = {*ending.tensors, *ending.values}
    if isinstance(ending.values.get(name), str):
        return 0
    return next((n for n in range(MOST) if f"{name}[{n}]" not in known), 0)


def find_unread_values(program: Program, finding: Finding) -> Explanation | None:
    """Return where more or fewer values are returned than a statement unpacks."""
    is_many = TOO_MANY.search(finding.words) is not None
    place = program.node(finding.span)
    if place is None or finding.code == UNPACKED_SIZES:
        return None
    if not is_many and not TOO_FEW.search(finding.words):
        return None
    text, target = place
    if not isinstance(target, ast.Tuple | ast.List) or not target.elts:
        return None
    if any(isinstance(part, ast.Starred) for part in target.elts):
        return None
    counted = _explain_counted(text, target)
    if counted is not None:
        return counted
    source = _find_source(text, target)
    own = len(target.elts)
    if source is None:
        return None
    if is_many:
        single = _explain_single_item(program, text, target)
        if single is not None:
            return single
    sources = [
        returned
        for returned in _iter_returned(program, text, source)
        if (returned.count > own) is is_many and returned.count != own
    ]
    if len({returned.count for returned in sources}) != 1:
        return None
    returned = sources[0]
    written = text.line_of(target)
    message = (
        f"`{written}` takes {own} values, and `{returned.name}` gives {returned.count}"
    )
    related = (Related(returned.span, f"{returned.count} values are given here"),)
    fixes: tuple[Fix, ...] = ()
    if is_many:
        rest = ", _" * (returned.count - own)
        edit = Edit(text.span(target.elts[-1]).end, rest)
        fixes = (Fix("fits", f"`{_write_longer(text, target, rest)}`", (edit,)),)
    return Explanation(message, related, fixes)


def _explain_single_item(
    program: Program, text: SourceText, target: ast.Tuple | ast.List
) -> Explanation | None:
    """Explain `for x, y in loader` over a data set whose items are one value."""
    holder = text.parent(target)
    if not isinstance(holder, ast.For) or len(target.elts) != 2:
        return None
    sets = [
        (own, owner, value)
        for own in program.own_texts()
        for _, function in own.functions("__getitem__")
        if (owner := own.around(function, ast.ClassDef)) is not None
        and (value := _get_only_item(function)) is not None
    ]
    if len(sets) != 1:
        return None
    own, owner, value = sets[0]
    kept = get_own_attribute(value.value)
    if not kept:
        return None
    message = (
        f"`{text.line_of(target)}` takes two values, and `{owner.name}` gives one for"
        f" each item: `{own.line_of(value)}`"
    )
    related = (Related(own.span(value), "one value is returned here"),)
    read = {
        name
        for node in own.nodes
        if isinstance(getattr(node, "ctx", None), ast.Load)
        and (name := get_own_attribute(node))
    }
    others = [
        name
        for name, _ in _iter_set_attributes(owner)
        if name not in read and name != kept
    ]
    fixes: tuple[Fix, ...] = ()
    if len(others) == 1:
        index = own.written(value.slice)
        new = f", self.{others[0]}[{index}]"
        shown = f"`return {own.line_of(value)}{new}`"
        fixes = (Fix("fits", shown, (Edit(own.span(value).end, new),)),)
    return Explanation(message, related, fixes)


def _get_only_item(function: Function) -> ast.Subscript | None:
    """Return the item that a function returns at its only `return`."""
    returned = [n.value for n in iter_own_nodes(function) if isinstance(n, ast.Return)]
    value = returned[0] if len(returned) == 1 else None
    return value if isinstance(value, ast.Subscript) else None


def _iter_set_attributes(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that the constructor of a class sets."""
    for part in owner.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            for target, value in iter_assignments(part):
                name = get_own_attribute(target)
                if name:
                    yield name, value


def _explain_counted(
    text: SourceText, target: ast.Tuple | ast.List
) -> Explanation | None:
    """Explain `for i, x, y in enumerate(loader)`, whose batches are pairs."""
    holder = text.parent(target)
    if not isinstance(holder, ast.For | ast.comprehension) or len(target.elts) < 3:
        return None
    if get_called_name(holder.iter) != "enumerate":
        return None
    names = [text.written(part) for part in target.elts]
    if any(isinstance(part, ast.Tuple | ast.List) for part in target.elts):
        return None
    message = (
        f"`{text.line_of(holder.iter)}` gives pairs of a count and a batch, and"
        f" `{text.line_of(target)}` takes {len(names)} values"
    )
    new = f"{names[0]}, ({', '.join(names[1:])})"
    fix = Fix("fits", f"`for {new} in {text.line_of(holder.iter)}`",
              (Edit(text.span(target), new),))  # fmt: skip
    return Explanation(message, (), (fix,))


def _write_longer(text: SourceText, target: ast.Tuple | ast.List, rest: str) -> str:
    """Return the head of the loop, or the assignment, with more names."""
    last = text.span(target.elts[-1])
    statement = text.around(target, ast.stmt)
    line = text.lines[last.end_line - 1]
    longer = line[: last.end_column - 1] + rest + line[last.end_column - 1 :]
    is_on_line = isinstance(statement, ast.For) or (
        statement is not None and statement.lineno == statement.end_lineno
    )
    if statement is None or not is_on_line or statement.lineno != last.end_line:
        return f"{text.line_of(target)}{rest}"
    return longer[statement.col_offset :].strip().removesuffix(":")


def _find_source(text: SourceText, target: ast.expr) -> ast.expr | None:
    """Return what a loop or an assignment unpacks: `loader` of `for i, (x, y) in
    enumerate(loader)`.
    """
    holder = text.parent(target)
    if isinstance(holder, ast.Assign):
        value = holder.value
        if isinstance(value, ast.Name):
            loop = next(
                (
                    node
                    for node in text.outwards(holder)
                    if isinstance(node, ast.For) and _has_target(node, value.id)
                ),
                None,
            )
            return get_iterated(loop.iter) if loop is not None else value
        return get_iterated(value)
    if isinstance(holder, ast.Tuple):
        holder = text.parent(holder)
    if isinstance(holder, ast.For | ast.comprehension):
        return get_iterated(holder.iter)
    return None


def _has_target(loop: ast.For, name: str) -> bool:
    """Return whether a loop sets a name."""
    return any(
        isinstance(node, ast.Name) and node.id == name for node in ast.walk(loop.target)
    )


def _iter_returned(
    program: Program, text: SourceText, source: ast.expr
) -> Iterator[_Returned]:
    """Yield the places that return the values of what is unpacked."""
    name = get_called_name(source)
    if isinstance(source, ast.Call) and name == "zip":
        if not any(isinstance(part, ast.Starred) for part in source.args):
            yield _Returned(text.span(source), "zip", len(source.args))
        return
    if name:
        functions = [
            (own, function)
            for own in program.own_texts()
            for _, function in own.functions(name)
        ]
        for own, function in functions if len(functions) == 1 else ():
            yield from _iter_tuples(own, function, name)
        if functions:
            return
    if isinstance(source, ast.Call) and name != "DataLoader":
        return
    yield from _iter_of_loaders(program, text, source)


def _iter_of_loaders(
    program: Program, text: SourceText, source: ast.expr
) -> Iterator[_Returned]:
    """Yield the places that return the items of the program's data sets."""
    last = text.line_of(source).rpartition(".")[2].lower()
    defined = find_defining(text, last)
    is_loader = "load" in last or last.endswith(("dl", "batches", "data", "set"))
    if not is_loader and "DataLoader" not in map(get_called_name, defined):
        return
    for own in program.own_texts():
        collating = {
            text.written(node.value).rpartition(".")[2]
            for node in own.nodes
            if isinstance(node, ast.keyword) and node.arg == "collate_fn"
        }
        names = sorted(collating) or ["__getitem__"]
        for name in names:
            for full, function in own.functions(name):
                yield from _iter_tuples(own, function, full)
        for node in own.nodes if not collating else ():
            if not isinstance(node, ast.Call) or is_starred(node):
                continue
            if get_called_name(node) == "TensorDataset":
                yield _Returned(own.span(node), "TensorDataset", len(node.args))


def _iter_tuples(
    text: SourceText, function: Function, name: str
) -> Iterator[_Returned]:
    """Yield the tuples that a function returns, or yields."""
    for node in iter_own_nodes(function):
        if not isinstance(node, ast.Return | ast.Yield):
            continue
        value = node.value
        if isinstance(value, ast.Tuple) and not any(
            isinstance(part, ast.Starred) for part in value.elts
        ):
            yield _Returned(text.span(node), name, len(value.elts))


KEYED = re.compile(r"(?:tuple|list) indices must be integers or slices, not str")


def find_keyed_tuple(program: Program, finding: Finding) -> Explanation | None:
    """Return which data set returns the tuple that is read by keys, or None."""
    place = program.node(finding.span)
    if not KEYED.search(finding.words) or place is None:
        return None
    text, node = place
    reads = [part for part in ast.walk(node) if _get_key(part)]
    if not reads:
        return None
    base = text.written(reads[0].value)  # type: ignore[attr-defined]
    scope = text.around(node, *FUNCTIONS) or text.tree
    keys = [
        _get_key(part)
        for part in (ast.walk(scope) if scope is not None else ())
        if _get_key(part) and text.written(part.value) == base  # type: ignore[attr-defined]
    ]
    for own in program.own_texts():
        for _, method in own.functions("__getitem__"):
            for part in ast.walk(method):
                value = part.value if isinstance(part, ast.Return) else None
                if not isinstance(value, ast.Tuple):
                    continue
                names = [get_last_name(item) for item in value.elts]
                written = ", ".join(own.written(item) for item in value.elts)
                message = (
                    f"`{base}` is a tuple, `({written})` of the data set, and is read"
                    f" by the key `{keys[0]}` as a dict"
                )
                where = Related(own.span(value), "the data set returns it here")
                if set(names) != set(keys):
                    return Explanation(message, (where,), ())
                items = [
                    f'"{name}": {own.written(item)}'
                    for name, item in zip(names, value.elts, strict=True)
                ]
                new = f"{{{', '.join(items)}}}"
                fix = Fix("fits", f"`return {new}`", (Edit(own.span(value), new),))
                return Explanation(message, (where,), (fix,))
    return None


def _get_key(node: ast.AST) -> str:
    """Return the text that a subscript reads by, or an empty string."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return ""
    return node.slice.value if isinstance(node.slice.value, str) else ""
