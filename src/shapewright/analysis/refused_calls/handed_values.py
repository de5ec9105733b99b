"""Values that are no tensors where a model or a loss takes one: the whole batch of a
loader, a list of numbers, an array, the number that `enumerate` counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.handed_objects import (
    explain_packed,
    explain_picture,
    explain_states,
    explain_texts,
    find_assigned,
    list_definition,
)
from shapewright.analysis.refused_calls.handed_results import explain_results
from shapewright.analysis.wrong_objects import explain_keys
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import Function, SourceText, find_defining
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_iterated,
    iter_own_nodes,
)
from shapewright.record.ops import Fact, ModuleCall

KIND = r"(list|tuple|dict|str|int|numpy\.ndarray|Image|\w+ImageFile|PackedSequence)"
NO_TENSOR = re.compile(
    rf"must be Tensor, not {KIND}\b"
    rf"|invalid combination of arguments - got \({KIND}[,)]"
    rf"|'{KIND}' object has no attribute '(\w+)'"
)
MOVES = frozenset({"to", "cuda", "cpu", "float", "long", "half", "double"})
"""Methods that a batch is given as a whole."""
CONTAINERS = ("list", "tuple", "dict")
MOST_FRAMES = 8
MOST_ITEMS = 4


@dataclass(frozen=True, slots=True)
class _Handed:
    """An expression whose value is handed on to a call, and the value where a module
    was called with it.
    """

    text: SourceText
    node: ast.expr
    value: Any = None


def find_handed_value(program: Program, finding: Finding) -> Explanation | None:
    """Return where a value that is no tensor was handed over as one, or None."""
    match = NO_TENSOR.search(finding.words)
    place = program.node(finding.span)
    if match is None or place is None:
        return None
    kind = next(group for group in match.groups()[:3] if group)
    method = match[4] or ""
    if isinstance(place[1], ast.Call) and get_called_name(place[1]) != method:
        call = _find_module_call(program, finding)
        method = method if call is None else ""  # a layer's own code reads it
    start = _find_expression(program, finding, place[1], method)
    if start is None:
        return None
    value = _find_value(program, finding) if not method else None
    handed = _follow_out(program, _Handed(place[0], start, value))
    return _explain_origin(program, handed, kind.rpartition(".")[2], method)


# -- from the call that fails out to where the value comes from ------------------------


def _find_expression(
    program: Program, finding: Finding, node: ast.AST, method: str
) -> ast.expr | None:
    """Return the argument, or the owner of a method, that is no tensor."""
    if method:
        if isinstance(node, ast.Call):
            node = node.func
        owner = node.value if isinstance(node, ast.Attribute) else None
        return owner if isinstance(owner, ast.Name) else None
    if not isinstance(node, ast.Call):
        return None
    ops = reversed(program.trace.ops)
    op = next((op for op in ops if op.span == finding.span), None)
    plain = {name for name, _ in op.arguments} if op is not None else set()
    call = _find_module_call(program, finding)
    if call is not None:
        values = enumerate(call.inputs[0])
        plain = {str(at) for at, value in values if not isinstance(value, Fact)}
    names = {
        at: argument
        for at, argument in enumerate(node.args)
        if isinstance(argument, ast.Name | ast.Call)
    }
    of_plain = [name for at, name in names.items() if str(at) in plain]
    return next(iter((*of_plain, *names.values())), None)


def _find_value(program: Program, finding: Finding) -> Any:
    """Return what a module that fails was given and is no tensor, if that is known."""
    call = _find_module_call(program, finding)
    values = call.inputs[0] if call is not None else ()
    return next((value for value in values if not isinstance(value, Fact)), None)


def _find_module_call(program: Program, finding: Finding) -> ModuleCall | None:
    """Return the last call of a module at the place of a finding."""
    calls = program.trace.calls[::-1]
    return next((call for call in calls if call.span == finding.span), None)


def _follow_out(program: Program, handed: _Handed) -> _Handed:
    """Follow a parameter to the argument that it was given, call by call."""
    for _ in range(MOST_FRAMES):
        text, node = handed.text, handed.node
        function = text.around(node, *FUNCTIONS)
        if not isinstance(node, ast.Name) or not isinstance(function, Function):
            return handed
        names = [argument.arg for argument in function.args.args]
        if node.id not in names or _is_set(function, node):
            return handed
        outer = _find_argument(program, text, function, names.index(node.id))
        if outer is None:
            return handed
        handed = outer
    return handed


def _is_set(function: ast.AST, name: ast.Name) -> bool:
    """Return whether a function sets a name above a place that reads it."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name.id
        and isinstance(node.ctx, ast.Store)
        and node.lineno < name.lineno
        for node in iter_own_nodes(function)
    )


def _find_argument(
    program: Program, text: SourceText, function: Function, at: int
) -> _Handed | None:
    """Return what a parameter of a function was given in the last call of it."""
    holder = text.around(function, ast.ClassDef)
    name = function.args.args[at].arg
    if holder is not None and function.name == "forward":
        for call in reversed(program.trace.calls):
            place = program.call_at(call.span)
            if call.class_name != holder.name or place is None:
                continue
            if is_installed(place[0].file):
                continue
            node = _get_argument(place[1], at - 1, name)
            return _Handed(place[0], node, _get_value(call, at - 1)) if node else None
    own = holder is not None
    calls = [
        (where, node)
        for where in program.own_texts()
        for node in where.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == function.name
    ]
    if len(calls) != 1 or function.name == "forward":
        return None
    where, written = calls[0]
    argument = _get_argument(written, at - own, name)
    return _Handed(where, argument) if argument is not None else None


def _get_argument(call: ast.Call, at: int, name: str) -> ast.expr | None:
    """Return the argument of a call for a parameter, by position or by name."""
    for word in call.keywords:
        if word.arg == name:
            return word.value
    return call.args[at] if 0 <= at < len(call.args) else None


def _get_value(call: ModuleCall, at: int) -> Any:
    """Return a positional argument of a module's call."""
    values = call.inputs[0]
    return values[at] if 0 <= at < len(values) else None


# -- what the value is -----------------------------------------------------------------


def _explain_origin(
    program: Program, handed: _Handed, kind: str, method: str
) -> Explanation | None:
    """Return what an expression holds, and how a tensor is made or taken of it."""
    text, node = handed.text, handed.node
    written = text.line_of(node)
    if kind == "int" and isinstance(node, ast.Name):
        return _explain_count(text, node)
    if kind == "str":
        return explain_keys(text, node)
    if kind == "PackedSequence" and isinstance(node, ast.Name):
        return explain_packed(text, node)
    if kind == "tuple" and not method:
        results = explain_results(program, text, node)
        if results is not None:
            return results
    source = _find_batches(text, node)
    if kind in CONTAINERS and source is not None:
        return _explain_batch(program, handed, kind, source, method)
    if method or not isinstance(node, ast.Name):
        return None
    value = find_assigned(text, node)
    if kind.startswith("Image") or kind.endswith("ImageFile"):
        return explain_picture(text, node)
    if kind == "tuple" and value is None:
        return explain_states(text, node) or explain_texts(program, text, node)
    if kind == "ndarray":
        shown = f"`{written}` is an array of NumPy, and no tensor"
        fixes = [
            Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
            for new in (
                f"torch.from_numpy({written})",
                f"torch.from_numpy({written}).float()",
            )
        ]
        return Explanation(shown, list_definition(text, value, written), tuple(fixes))
    if kind not in ("list", "tuple") or value is None:
        return None
    return _explain_list(text, node, value, kind)


def _find_batches(text: SourceText, node: ast.expr) -> ast.expr | None:
    """Return what a loop iterates whose batch a name is; also for
    `batch = next(iter(loader))`.
    """
    if not isinstance(node, ast.Name):
        return None
    for outer in text.outwards(node):
        if not isinstance(outer, ast.For):
            continue
        target = outer.target
        if isinstance(target, ast.Tuple) and get_called_name(outer.iter) == "enumerate":
            target = target.elts[-1]
        if isinstance(target, ast.Name) and target.id == node.id:
            return get_iterated(outer.iter)
    value = find_assigned(text, node)
    if isinstance(value, ast.Call) and get_called_name(value) == "next" and value.args:
        inner = value.args[0]
        if isinstance(inner, ast.Call) and get_called_name(inner) == "iter":
            return inner.args[0] if inner.args else None
    return None


def _explain_count(text: SourceText, node: ast.Name) -> Explanation | None:
    """Explain `for batch in enumerate(loader)` whose batch is unpacked."""
    for outer in text.outwards(node):
        if not isinstance(outer, ast.For) or not isinstance(outer.iter, ast.Call):
            continue
        if get_called_name(outer.iter) != "enumerate" or not outer.iter.args:
            continue
        whole = text.line_of(outer.iter)
        inner = text.line_of(outer.iter.args[0])
        place = Related(text.span(outer.iter), "it counts here")
        edit = Edit(text.span(outer.iter), inner)
        shown = f"`for {text.line_of(outer.target)} in {inner}`"
        fix = Fix("fits", shown, (edit,))
        heads = outer.target.elts if isinstance(outer.target, ast.Tuple) else []
        if heads and isinstance(heads[0], ast.Name) and heads[0].id == node.id:
            message = (
                f"`{node.id}` is a whole number: `{whole}` gives pairs of a count and"
                " a batch"
            )
            return Explanation(message, (place,), (fix,))
        for statement in outer.body:
            if not isinstance(statement, ast.Assign):
                continue
            target, value = statement.targets[0], statement.value
            is_pair = isinstance(target, ast.Tuple) and bool(target.elts)
            first = target.elts[0] if isinstance(target, ast.Tuple) else None
            if not is_pair or not isinstance(first, ast.Name) or first.id != node.id:
                continue
            if text.line_of(value) != text.line_of(outer.target):
                continue
            message = (
                f"`{node.id}` is a whole number: `{whole}` gives pairs of a count and"
                f" a batch, and `{text.line_of(statement)}` takes the pair apart"
            )
            return Explanation(message, (place,), (fix,))
    return None


def _explain_batch(
    program: Program, handed: _Handed, kind: str, source: ast.expr, method: str
) -> Explanation:
    """Explain a batch that is used as a whole, a list or a dict of tensors."""
    text, node, value = handed.text, handed.node, handed.value
    written = text.line_of(node)
    holds = ""
    if isinstance(value, list | tuple) and value:
        parts = ", ".join(map(_format_item, value[:MOST_ITEMS]))
        holds = f", which holds {parts}"
    elif isinstance(value, dict) and value:
        keys = ", ".join(f"`{key}`" for key in list(value)[:MOST_ITEMS])
        holds = f", with the keys {keys}"
    loader = text.line_of(source)
    message = f"`{written}` is the whole batch of `{loader}`, a {kind}{holds}"
    if not method:
        message += ": one tensor of it is meant here"
    elif method in MOVES:
        message += f", and a {kind} has no `{method}`: its tensors have"
    fixes = tuple(_suggest_items(program, handed, kind, method))
    return Explanation(message, _list_places(handed, source), fixes)


def _list_places(handed: _Handed, source: ast.expr) -> tuple[Related, ...]:
    """Return where a batch is handed over, and where it comes from."""
    text = handed.text
    places = [Related(text.span(source), "the batches come from here")]
    if isinstance(text.parent(handed.node), ast.Call):
        call = text.parent(handed.node)
        assert isinstance(call, ast.Call)
        places.insert(0, Related(text.span(call), "it is handed over here"))
    return tuple(places)


def _format_item(value: Any) -> str:
    """Return an item of a batch in words."""
    return str(value) if isinstance(value, Fact) else f"a {type(value).__name__}"


def _suggest_items(
    program: Program, handed: _Handed, kind: str, method: str
) -> Iterator[Fix]:
    """Yield the item of a batch that is meant, or each of them moved."""
    text, node = handed.text, handed.node
    written, span = text.line_of(node), text.span(node)
    call = text.parent(text.parent(node))
    loop = text.around(node, ast.For)
    is_single = isinstance(handed.value, list | tuple) and len(handed.value) < 2
    is_single = is_single or (kind == "list" and _has_single_items(text, loop))
    if is_single and isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
        new = f"({written},)"
        shown = f"`for {new} in {text.line_of(loop.iter)}`"
        if loop.target.id == written:
            yield Fix("fits", shown, (Edit(text.span(loop.target), new),))
            return
    if method:
        if method in MOVES and isinstance(call, ast.Call):
            item = text.line_of(call).replace(written, "part", 1)
            new = f"[{item} for part in {written}]"
            if kind == "dict":
                item = item.replace("part", "value", 1)
                new = f"{{key: {item} for key, value in {written}.items()}}"
            yield Fix("fits", f"`{new}`", (Edit(text.span(call), new),))
        return
    if kind == "dict":
        for key in _iter_keys(program, handed):
            new = f'{written}["{key}"]'
            yield Fix("fits", f"`{new}`", (Edit(span.end, f'["{key}"]'),))
        return
    yield Fix("fits", f"`{written}[0]`", (Edit(span.end, "[0]"),))
    if is_single:
        return
    yield Fix("fits", f"`{written}[1]`", (Edit(span.end, "[1]"),))


def _has_single_items(text: SourceText, loop: ast.AST | None) -> bool:
    """Return whether the batches of a loop hold one tensor each: its loader is built
    with a `TensorDataset` of one.
    """
    node = loop.iter if isinstance(loop, ast.For) else None
    for name in ("DataLoader", "TensorDataset"):
        if isinstance(node, ast.Name):
            values = find_defining(text, node.id)
            node = values[0] if len(values) == 1 else None
        if not isinstance(node, ast.Call) or get_called_name(node) != name:
            return False
        if name == "TensorDataset":
            return len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
        node = node.args[0] if node.args else None
    return False


def _iter_keys(program: Program, handed: _Handed) -> Iterator[str]:
    """Yield the keys of a batch, those that nothing reads first."""
    value = handed.value
    keys = [str(key) for key in value] if isinstance(value, dict) else []
    if not keys:
        for text in program.own_texts():
            for _, function in text.functions("__getitem__"):
                for node in ast.walk(function):
                    if isinstance(node, ast.Dict):
                        keys += [
                            key.value
                            for key in node.keys
                            if isinstance(key, ast.Constant)
                            and isinstance(key.value, str)
                        ]
    written = handed.text.line_of(handed.node)
    read = {
        node.slice.value
        for node in handed.text.nodes
        if isinstance(node, ast.Subscript)
        and handed.text.line_of(node.value) == written
        and isinstance(node.slice, ast.Constant)
    }
    yield from sorted(dict.fromkeys(keys), key=lambda key: key in read)


def _explain_list(
    text: SourceText, node: ast.Name, value: ast.expr, kind: str
) -> Explanation | None:
    """Explain a list of numbers, or a tensor that was made one."""
    name = node.id
    related = list_definition(text, value, name)
    message = f"`{name}` is a {kind}, and no tensor"
    if isinstance(value, ast.Call) and get_called_name(value) == "tolist":
        owner = value.func.value if isinstance(value.func, ast.Attribute) else None
        statement = text.statement_of(value)
        if owner is None:
            return None
        written = text.line_of(owner)
        message = f"`{name}` is a list: `{text.line_of(value)}` makes one of a tensor"
        if written == name:
            shown = f"without `{text.line_of(statement)}`"
            fix = Fix("fits", shown, (cut_lines(text, statement),))
        else:
            fix = Fix("fits", f"`{written}`", (Edit(text.span(value), written),))
        return Explanation(message, related, (fix,))
    depth = _get_depth(value)
    if depth is None:
        return None
    forms = [f"torch.tensor({name})"]
    if depth == 1:
        forms.append(f"torch.tensor([{name}])")
    span = text.span(node)
    fixes = [Fix("fits", f"`{new}`", (Edit(span, new),)) for new in forms]
    return Explanation(message, related, tuple(fixes))


def _get_depth(value: ast.expr) -> int | None:
    """Return how many lists of numbers lie in each other, or None for other values."""
    if isinstance(value, ast.ListComp):
        inner = _get_depth(value.elt)
        return 1 if inner is None else 1 + inner
    if not isinstance(value, ast.List | ast.Tuple) or not value.elts:
        return None
    first = value.elts[0]
    if isinstance(first, ast.List | ast.Tuple):
        inner = _get_depth(first)
        return None if inner is None else 1 + inner
    is_number = isinstance(first, ast.Constant | ast.UnaryOp | ast.Subscript)
    return 1 if is_number else None
