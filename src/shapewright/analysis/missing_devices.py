"""Devices that a program asks for by a text of its own, `device = "cuda"`, on a machine
that has none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    find_imports,
    join_lines,
)
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    list_arguments,
)

AVAILABLE = {
    "cuda": "torch.cuda.is_available()",
    "mps": "torch.backends.mps.is_available()",
}
"""What a program asks for each kind of device."""
WRITTEN = re.compile(r"(cuda|mps)(:\d+)?$")
MOST_NAMES = 4
"""Names that a device is handed on by, from its text to the call."""


def find_written_device(program: Program, finding: Finding) -> Explanation | None:
    """Return the text that a missing device comes from, with the edit that asks first
    whether the machine has one, or None where the program asks already.
    """
    place = program.node(finding.span)
    if place is None:
        return None
    text, node = place
    moved = [
        call for call in ast.walk(node) if isinstance(call, ast.Call) and _is_move(call)
    ]
    if moved:
        return _explain_moves(text, moved[0], finding)
    written = [
        (constant, name)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        for argument in list_arguments(call)
        for constant, name in _iter_device_texts(text, argument, MOST_NAMES)
    ]
    constants = dict(written)
    if len(constants) != 1:
        return None
    ((constant, name),) = constants.items()
    others = [other for other in _iter_fixed_devices(text) if other is not constant]
    if not name and others:
        return None  # each of them would have to ask
    device = str(constant.value)
    asks = AVAILABLE[device.partition(":")[0]]
    new = f'{text.written(constant)} if {asks} else "cpu"'
    statement = join_lines(text.written(constant))
    if name:
        line = text.line_of(text.statement_of(constant))
        statement = line if len(line) <= LONGEST else f"{name}={statement}"
    message = f"`{statement}` asks for `{device}` whatever the machine has"
    related = (Related(text.span(constant), message),)
    fixes: tuple[Fix, ...] = ()
    imported = find_imports(text)
    called = any(isinstance(other, ast.Call) for other in others)
    if "torch" in imported and not called:
        edit = Edit(text.span(constant), new)
        fixes = (Fix("fits", f"`{new}`", (edit,)),)
    return Explanation(finding.message, related, fixes)


def _is_move(node: ast.AST) -> bool:
    """Return whether an expression is `x.cuda()`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "cuda"
        and not node.args
        and not node.keywords
    )


def _explain_moves(
    text: SourceText, move: ast.Call, finding: Finding
) -> Explanation | None:
    """Return that `x.cuda()` asks for a GPU whatever the machine has, and the edit that
    moves to the device there is, wherever the file asks in no condition.
    """
    moves = [node for node in text.nodes if isinstance(node, ast.Call)]
    moves = [node for node in moves if _is_move(node)]
    guards = {id(node): _find_guard(text, node) for node in moves}
    guard = next((name for name in guards.values() if name), "")
    bare = [node for node in moves if not guards[id(node)]]
    if move not in bare:
        return None
    message = f"`{text.line_of(move)}` asks for `cuda` whatever the machine has"
    if guard:
        message += f"; elsewhere `if {guard}:` asks first"
    related = (Related(text.span(move), message),)
    device = f'"cuda" if {guard} else "cpu"'
    edits: list[Edit] = []
    if not guard:
        imports = [
            node
            for node in (text.tree.body if text.tree is not None else ())
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        is_used = any(isinstance(n, ast.Name) and n.id == "device" for n in text.nodes)
        asks = AVAILABLE["cuda"]
        if not imports or is_used or "import torch\n" not in text.text:
            return Explanation(finding.message, related, ())
        line = f'device = torch.device("cuda" if {asks} else "cpu")'
        edits.append(write_after(text, imports[-1], f"\n{line}"))
        device = "device"
    for node in bare:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node
        end = text.span(owner).end
        edits.append(
            Edit(
                replace(text.span(node), line=end.line, column=end.column),
                f".to({device})",
            )
        )
    more = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
    shown = f"`.to({device})` for `.cuda()`{more}"
    return Explanation(finding.message, related, (Fix("fits", shown, tuple(edits)),))


def _find_guard(text: SourceText, node: ast.AST) -> str:
    """Return the condition that asks whether there is a GPU around a call, or ""."""
    for outer in text.outwards(node):
        if not isinstance(outer, ast.If | ast.IfExp):
            continue
        written = text.written(outer.test)
        values = find_defining(text, get_last_name(outer.test))
        asks = [written, *map(text.written, values)]
        if any(AVAILABLE["cuda"].removeprefix("torch.") in ask for ask in asks):
            return written
    return ""


LONGEST = 60
"""Characters of a statement that is shown whole."""


def _iter_device_texts(
    text: SourceText, value: ast.expr, steps: int, name: str = ""
) -> Iterator[tuple[ast.Constant, str]]:
    """Yield the texts of devices that an argument comes from, each with the name that
    it is set to.
    """
    if isinstance(value, ast.Constant):
        if _is_device(value):
            yield value, name
    elif isinstance(value, ast.Call):
        if get_called_name(value) == "device":
            for argument in list_arguments(value):
                yield from _iter_device_texts(text, argument, steps, name)
        elif get_called_name(value) == "add_argument":
            for keyword in value.keywords:
                if keyword.arg == "default":
                    yield from _iter_device_texts(text, keyword.value, steps, name)
    elif isinstance(value, ast.Name | ast.Attribute | ast.Subscript) and steps:
        last = get_last_name(value)
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            last = str(value.slice.value)
        for other in (*find_defining(text, last), *_iter_options(text, value)):
            if other is not value:
                yield from _iter_device_texts(text, other, steps - 1, last)


def _iter_options(text: SourceText, value: ast.expr) -> Iterator[ast.Call]:
    """Yield the option of a command line that an attribute such as `args.device` is."""
    if not isinstance(value, ast.Attribute):
        return
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "add_argument":
            names = [part.value for part in node.args if isinstance(part, ast.Constant)]
            words = [str(name).lstrip("-").replace("-", "_") for name in names]
            if value.attr in words:
                yield node


def _is_device(node: ast.AST) -> bool:
    """Return whether a text names a kind of device."""
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and WRITTEN.match(node.value) is not None
    )


def _iter_fixed_devices(text: SourceText) -> Iterator[ast.expr]:
    """Yield what else asks for a device: its texts, and calls of `cuda()`."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in AVAILABLE and not node.args:
                yield node
        elif isinstance(node, ast.Constant) and _is_device(node):
            around = text.parent(node)
            if not isinstance(around, ast.Compare | ast.IfExp):
                yield node
