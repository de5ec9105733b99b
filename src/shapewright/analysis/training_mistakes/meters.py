"""Objects of the program that add up values and divide them: `AverageMeter`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.additions import (
    get_addition,
    is_of_all,
    strip_conversions,
)
from shapewright.analysis.training_mistakes.sample_counts import is_size
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_last_line,
    iter_assignments,
)


@dataclass(frozen=True, slots=True)
class _Meter:
    """A class whose method adds a value to a sum, and whose other code divides it.

    `name` is the class, `method` what adds, `value` its parameter; `count` is the
    parameter that is added to the number of values, empty where 1 is. `is_weighted`:
    the value is multiplied by `count`. `is_length`: the number of rows of `count` is
    added to the number of values. `divisor` is the parameter of the method
    `reading` that divides by what its caller says; empty for one that divides by its
    own number.
    """

    name: str
    method: ast.FunctionDef
    value: str
    count: str
    is_weighted: bool
    addition: ast.stmt
    division: ast.expr
    reading: str = ""
    divisor: str = ""
    is_length: bool = False


@dataclass(frozen=True, slots=True)
class MeterCall:
    """A call in a loop that adds a value: `meter.update(loss.item(), len(x))`."""

    meter: _Meter
    node: ast.Call
    statement: ast.stmt
    owner: str
    value: ast.expr
    count: ast.expr | None
    divisor: ast.expr | None


def _iter_meters(text: SourceText) -> Iterator[_Meter]:
    """Yield the meters that a text defines."""
    for node in text.nodes:
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            for method in methods:
                yield from _read_meter(text, node, method, methods)


def _read_meter(
    text: SourceText,
    kind: ast.ClassDef,
    method: ast.FunctionDef,
    methods: list[ast.FunctionDef],
) -> Iterator[_Meter]:
    parameters = {arg.arg for arg in method.args.args[1:]}
    sums: list[tuple[str, str, str, ast.stmt]] = []
    counts: dict[str, str] = {}
    lengths: set[str] = set()  # those that count the rows of a parameter
    for node in ast.walk(method):
        if not isinstance(node, ast.stmt):
            continue
        total, added, is_list = get_addition(node)
        if not total:
            total, added, is_list = *_read_entry(node), False
        if not total.startswith("self") or is_list or added is None:
            continue
        added = strip_conversions(added)
        names = collect_names(added) & parameters
        if isinstance(added, ast.Constant) and added.value == 1:
            counts[total] = ""
        elif isinstance(added, ast.Name) and names:
            counts[total] = added.id
            sums.append((total, added.id, "", node))
        elif len(names) == 1 and is_size(added, names):
            counts[total] = next(iter(names))
            lengths.add(total)
        elif (
            isinstance(added, ast.BinOp)
            and isinstance(added.op, ast.Mult)
            and len(names) == 2
            and (left := _get_factor(added.left, names))
            and (right := _get_factor(added.right, names))
        ):
            sums.append((total, left, right, node))
            sums.append((total, right, left, node))
    for total, value, weight, addition in sums:
        for reader in methods:
            for division in ast.walk(reader):
                if not isinstance(division, ast.BinOp):
                    continue
                if not isinstance(division.op, ast.Div):
                    continue
                same = ast.unparse(division.left) == total
                by = _find_count(division.right, counts)
                if same and by is not None and by != total:
                    count = counts[by]
                    if count != value and weight in ("", count):
                        yield _Meter(kind.name, method, value, count, bool(weight),
                                    addition, division,
                                    is_length=by in lengths)  # fmt: skip
                elif not weight and isinstance(division.right, ast.Name):
                    entry = same or _is_entry(text, division.left, total)
                    names = {arg.arg for arg in reader.args.args[1:]}
                    if entry and division.right.id in names:
                        yield _Meter(kind.name, method, value, "", False, addition,
                                    division, reader.name,
                                    division.right.id)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MatchCounter:
    """A class whose method adds up what it computes, counts its calls, and whose other
    code divides the one by the other.
    """

    name: str
    method: ast.FunctionDef
    addition: ast.stmt
    added: ast.expr
    division: ast.BinOp


def iter_counters(text: SourceText) -> Iterator[MatchCounter]:
    """Yield the classes that divide by the number of calls of a method."""
    for kind in text.nodes:
        if not isinstance(kind, ast.ClassDef):
            continue
        divisions = [
            (ast.unparse(node.left), ast.unparse(node.right), node)
            for node in ast.walk(kind)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        ]
        for method in kind.body if divisions else ():
            if not isinstance(method, ast.FunctionDef):
                continue
            added = {
                total: (node, value)
                for node in ast.walk(method)
                if isinstance(node, ast.stmt) and text.around(node, *LOOPS) is None
                for total, value, is_list in [get_addition(node)]
                if total.startswith("self.") and value is not None and not is_list
            }
            turns = {
                total
                for total, (_, value) in added.items()
                if isinstance(value, ast.Constant) and value.value == 1
            }
            for left, right, node in divisions:
                if left in added and right in turns:
                    yield MatchCounter(kind.name, method, *added[left], node)


def is_called_in(text: SourceText, loop: ast.For, counter: MatchCounter) -> bool:
    """Return whether a loop calls the method of a counter."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == counter.method.name
        and _is_object_of(text, node.func.value, counter.name)
        for node in ast.walk(loop)
    )


def _get_factor(factor: ast.expr, names: set[str]) -> str:
    """Return the parameter that a factor is, or whose size it is; else an empty
    string.
    """
    factor = strip_conversions(factor)
    if isinstance(factor, ast.Name):
        return factor.id
    return (
        next(iter(collect_names(factor) & names), "")
        if (is_size(factor, names))
        else ""
    )


def _read_entry(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the total and what is added of `self[key] = self.get(key, 0) + value`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.BinOp):
        return "", None
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Subscript) or not isinstance(value.op, ast.Add):
        return "", None
    for old, added in ((value.left, value.right), (value.right, value.left)):
        is_get = get_called_name(old) == "get" and isinstance(old, ast.Call)
        if is_get and isinstance(old.func, ast.Attribute):  # type: ignore[attr-defined]
            owner = ast.unparse(old.func.value)  # type: ignore[attr-defined]
            if owner == ast.unparse(target.value):
                return ast.unparse(target), added
    return "", None


def _find_count(divisor: ast.expr, counts: dict[str, str]) -> str | None:
    """Return the number that a node divides by, `self.n` of `max(self.n, 1)`."""
    while isinstance(divisor, ast.Call) and divisor.args:
        parts = [arg for arg in divisor.args if not isinstance(arg, ast.Constant)]
        if get_called_name(divisor) not in ("max", "float") or len(parts) != 1:
            return None
        divisor = parts[0]
    word = ast.unparse(divisor)
    return word if word in counts else None


def _is_entry(text: SourceText, node: ast.expr, total: str) -> bool:
    """Return whether a node is an entry of what holds a total: `v` of
    `self.items()`.
    """
    owner, bracket, _ = total.partition("[")
    if isinstance(node, ast.Subscript):
        return bool(bracket) and ast.unparse(node.value) == owner
    return is_of_all(text, node, total)


def iter_meter_calls(text: SourceText, loop: ast.For) -> Iterator[MeterCall]:
    """Yield the calls of meters that stand in a loop, and in no loop within it."""
    meters = list(_iter_meters(text))
    for node in ast.walk(loop) if meters else ():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if text.around(node, *LOOPS) is not loop:
            continue
        owner = ast.unparse(node.func.value)
        for meter in meters:
            if meter.method.name != node.func.attr:
                continue
            if not _is_object_of(text, node.func.value, meter.name):
                continue
            arguments = _match(meter.method, node)
            if meter.value not in arguments:
                continue
            divisor = None
            if meter.reading:
                divisor = _find_divisor(text, loop, owner, meter)
                if divisor is None:
                    continue
            yield MeterCall(
                meter, node, text.statement_of(node), owner, arguments[meter.value],
                arguments.get(meter.count), divisor,
            )  # fmt: skip


def _is_object_of(text: SourceText, owner: ast.expr, name: str) -> bool:
    """Return whether an expression may hold an object of a class: what it names is set
    to one, or is a parameter while another such object is built.
    """
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    word = ast.unparse(owner)
    values = []
    for target, value in iter_assignments(text.tree):
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        values += [part for aim, part in pairs if ast.unparse(aim) == word]
    if values:
        return any(
            get_called_name(part) == name
            or (get_called_name(part) == "defaultdict" and name in collect_names(part))
            for value in values
            for part in ast.walk(value)
        )
    function = text.around(owner, *FUNCTIONS)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    parameters = function.args.args if isinstance(function, kinds) else []
    return isinstance(owner, ast.Name) and owner.id in {a.arg for a in parameters}


def _match(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    parameters = [arg.arg for arg in function.args.args[1:]]
    matched = dict(zip(parameters, call.args, strict=False))
    matched.update({word.arg: word.value for word in call.keywords if word.arg})
    return matched


def _find_divisor(
    text: SourceText, loop: ast.For, owner: str, meter: _Meter
) -> ast.expr | None:
    """Return the number that is passed to the method of a meter that divides, below a
    loop.
    """
    scope = text.around(loop, ast.FunctionDef, ast.Module)
    readers = [
        part
        for _, part in text.functions(meter.reading)
        if isinstance(part, ast.FunctionDef)
    ]
    for node in ast.walk(scope) if scope is not None and readers else ():
        if get_called_name(node) != meter.reading or not isinstance(node, ast.Call):
            continue
        func = node.func
        is_own = isinstance(func, ast.Attribute) and ast.unparse(func.value) == owner
        if is_own and node.lineno > get_last_line(loop):
            return _match(readers[0], node).get(meter.divisor)
    return None
