"""Edits that bring the tensors of one call to one device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice, pairwise, product

from shapewright.analysis.early_states import find_early_state, suggest_earlier_move
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.module_lists import (
    find_function,
    find_module_list,
    find_own_module,
)
from shapewright.analysis.mixed_devices import (
    FACTORIES,
    Stray,
    find_dropped_move,
    find_kept_attribute,
    find_legacy_call,
    find_replacement,
    find_strays,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.unmoved_batches import (
    find_unmoved_batch,
    suggest_moved_batch,
)
from shapewright.findings.codes import MIXED_DEVICES
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_own_attribute,
    iter_own_nodes,
)
from shapewright.record.ops import Op

MOST_MOVES = 6
"""Edits that are tried for one tensor."""
MOST_TOGETHER = 16
"""Edits of several tensors that are tried together."""


def suggest_moves(program: Program, finding: Finding) -> Iterator[Fix]:
    """Yield the edits that bring the tensors of a call to one device.

    Where several are elsewhere, each edit of the first comes with edits of the others.
    """
    strays = {
        stray.path.rpartition(".")[0] or stray.fact.tensor: stray
        for stray in reversed(find_strays(program, finding.span))
    }  # the weight and the bias of a layer move together
    moves = [
        list(islice(_suggest_move(program, stray), MOST_MOVES))
        for stray in reversed(strays.values())
    ]
    if not moves or not all(moves):
        return
    yield from moves[0]
    if len(moves) > 1:
        for fixes in islice(product(*moves), MOST_TOGETHER):
            edits = {edit.span: edit for fix in fixes for edit in fix.edits}
            if _has_overlap(list(edits)):
                continue
            messages = list(dict.fromkeys(fix.message for fix in fixes))
            if len(messages) == 1:
                messages.append(f"{len(fixes) - 1} more")
            yield Fix("fits", " and ".join(messages), tuple(edits.values()))


def _has_overlap(spans: list[Span]) -> bool:
    """Return whether one of some spans lies within another one."""
    places = sorted(
        (span.file, span.line, span.column, span.end_line, span.end_column)
        for span in spans
    )
    return any(
        first[0] == second[0] and second[1:3] < first[3:]
        for first, second in pairwise(places)
    )


def _suggest_move(program: Program, stray: Stray) -> Iterator[Fix]:
    """Yield the edits that bring a tensor to the device of the others."""
    maker = stray.maker
    early = find_early_state(program, maker) if maker is not None else None
    if early is not None:
        yield suggest_earlier_move(early)
    elif stray.path:
        yield from _suggest_for_module(program, stray)
    elif maker is not None:
        yield from _suggest_for_tensor(program, stray, maker)
    else:
        yield from _suggest_for_legacy_tensor(program, stray)


def _suggest_for_legacy_tensor(program: Program, stray: Stray) -> Iterator[Fix]:
    """Yield `torch.FloatTensor(values).to(x.device)`: such a type takes no device, and
    no call of torch is recorded for it.
    """
    place = find_legacy_call(program, stray)
    if place is not None:
        text, call = place
        for device in _iter_devices(program, stray, text, call):
            new = f".to({device})"
            shown = f"`{join_lines(text.written(call))}{new}`"
            yield Fix("fits", shown, (Edit(text.span(call).end, new),))


def _suggest_for_module(program: Program, stray: Stray) -> Iterator[Fix]:
    """Yield edits that move a module with its model, or by itself."""
    replaced = find_replacement(program, stray)
    if replaced is not None:
        text, statement, _ = replaced
        for move in _iter_moves(text, stray.wanted):
            written = join_lines(text.written(statement.value)) + move
            message = f"`{join_lines(text.written(statement.targets[0]))} = {written}`"
            yield Fix("fits", message, (Edit(text.span(statement.value).end, move),))
        return
    built = program.built.get(stray.path.partition(".")[0])
    if built is None:
        return
    for fix in (
        find_module_list(program, built.span),
        find_own_module(program, built.span),
    ):
        if fix is not None:
            yield fix
    text_and_node = program.node(built.span)
    if text_and_node is not None:
        text, node = text_and_node
        for move in _iter_moves(text, stray.wanted):
            new = join_lines(text.written(node)) + move
            shown = new if len(new) <= 60 else move.lstrip(".")
            yield Fix("fits", f"`{shown}`", (Edit(text.span(node).end, move),))


def _iter_moves(text: SourceText, wanted: str) -> Iterator[str]:
    """Yield method calls that move to a device, in the program's own words."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "to" and len(node.args) == 1:
                device = get_dotted_name(node.args[0])
                if device and "." not in device:
                    yield f".to({device})"
                    return
            if node.func.attr == "cuda" and not node.args:
                yield ".cuda()"
                return
    yield f'.to("{wanted.partition(":")[0]}")'


def _suggest_for_tensor(program: Program, stray: Stray, maker: Op) -> Iterator[Fix]:
    """Yield edits that make a tensor where it is needed, or move it there."""
    attribute = find_kept_attribute(program, stray)
    batch = find_unmoved_batch(program, stray.fact)
    if batch is not None and attribute is None and stray.fact.device == "cpu":
        moved = suggest_moved_batch(batch, _iter_moves(batch.text, stray.wanted))
        at = (stray.op.span.file, stray.op.span.line) if stray.op.span else None
        operands = [
            fix
            for fix in _suggest_moving_operand(program, stray)
            if all((edit.span.file, edit.span.line) == at for edit in fix.edits)
        ]
        ways = [operands, list(moved)]
        for way in ways if batch.is_partial else reversed(ways):
            yield from way
        return
    if attribute is not None:
        text, statement, name = attribute
        if _is_of_module(text, statement):
            yield from _suggest_buffers(program, text, statement, name)
        else:
            yield from _suggest_device_argument(program, stray, maker)
    dropped = find_dropped_move(program, stray)
    if dropped is not None and isinstance(dropped[1].func, ast.Attribute):
        text, call = dropped
        name = text.written(dropped[1].func.value)
        new = f"{name} = {text.written(call)}"
        edit = Edit(text.span(call).start, f"{name} = ")
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))
    if attribute is None:
        yield from _suggest_device_argument(program, stray, maker)
    yield from _suggest_moving_operand(program, stray)


def _is_of_module(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether a statement stands in a class that has bases, as a module does."""
    owner = text.around(statement, ast.ClassDef)
    return isinstance(owner, ast.ClassDef) and bool(owner.bases)


def _suggest_buffers(
    program: Program, text: SourceText, statement: ast.stmt, name: str
) -> Iterator[Fix]:
    """Yield `register_buffer` for an attribute and for others that are made alike; for
    all of these alone, if another of them stays behind too.
    """
    if not isinstance(statement, ast.Assign):
        return
    function = find_function(text, statement)
    called = get_called_name(statement.value)
    alike = [
        assignment
        for assignment in (ast.walk(function) if function is not None else [statement])
        if isinstance(assignment, ast.Assign)
        and get_own_attribute(assignment.targets[0])
        and type(assignment.value) is type(statement.value)
        and _is_made_alike(get_called_name(assignment.value), called)
        and not isinstance(assignment.value, ast.Constant)
    ] or [statement]
    names = {get_own_attribute(assignment.targets[0]) for assignment in alike}
    left = names & _collect_kept_attributes(program)
    for chosen in (alike, [statement]) if len(left) < 2 <= len(alike) else (alike,):
        edits = tuple(
            Edit(
                text.span(assignment),
                f'self.register_buffer("{get_own_attribute(assignment.targets[0])}",'
                f" {text.written(assignment.value)})",
            )
            for assignment in chosen
        )
        more = f" and {len(chosen) - 1} more" if len(chosen) > 1 else ""
        message = f'`self.register_buffer("{name}", ...)`{more}'
        yield Fix("fits", message, edits)


def _collect_kept_attributes(program: Program) -> set[str]:
    """Return the plain attributes of modules that stay behind, in all calls that get
    tensors on two devices.
    """
    attributes = [
        find_kept_attribute(program, stray)
        for finding in program.trace.findings
        if finding.code == MIXED_DEVICES
        for stray in find_strays(program, finding.span)
        if stray.maker is not None and not stray.path
    ]
    return {attribute[2] for attribute in attributes if attribute is not None}


def _is_made_alike(called: str, other: str) -> bool:
    """Return whether two calls are of one function, or both make tensors."""
    return called == other or {called, other} <= FACTORIES


def _suggest_device_argument(
    program: Program, stray: Stray, maker: Op
) -> Iterator[Fix]:
    """Yield `device=x.device` for the factory that made a tensor."""
    text_and_call = program.call_at(maker.span)
    if text_and_call is None or maker.name.rpartition(".")[2] not in FACTORIES:
        return
    text, call = text_and_call
    alike = [
        node
        for node in ast.walk(text.statement_of(call))
        if isinstance(node, ast.Call) and get_called_name(node) == get_called_name(call)
    ]
    for device in _iter_devices(program, stray, text, call):
        edits = tuple(
            edit
            for node in alike
            for edit in with_keyword(text, node, f"device={device}").edits
            if all(word.arg != "device" for word in node.keywords)
        )
        if edits:
            message = with_keyword(text, call, f"device={device}").message
            yield Fix("fits", message, edits)


def _iter_devices(
    program: Program, stray: Stray, text: SourceText, call: ast.Call
) -> Iterator[str]:
    """Yield expressions for the device that is wanted, as they can be written at a
    call.
    """
    function = find_function(text, call)
    if function is None or function.name == "__init__":
        arguments = function.args.args if function is not None else []
        if any(parameter.arg == "device" for parameter in arguments):
            yield "device"
        yield from _iter_global_devices(text)
        return
    parameters = [
        parameter.arg for parameter in function.args.args if parameter.arg != "self"
    ]
    places = find_tensor_expressions(program, stray.op)
    own = {
        place[1]
        for fact, place in zip(stray.op.inputs, places, strict=False)
        if place is not None and fact.device == stray.wanted
    }
    stored = {
        get_dotted_name(node)
        for node in iter_own_nodes(function)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.lineno < call.lineno
    }
    for name in dict.fromkeys([*sorted(own & {*parameters, *stored}), *parameters]):
        yield f"{name}.device"
    owner = text.around(function, ast.ClassDef)
    if owner is not None and any(
        get_own_attribute(node) == "device" for node in ast.walk(owner)
    ):
        yield "self.device"
    if isinstance(owner, ast.ClassDef) and owner.bases:
        yield "next(self.parameters()).device"
    yield from _iter_global_devices(text)


def _iter_global_devices(text: SourceText) -> Iterator[str]:
    """Yield `device` if the file assigns such a name at its top."""
    for node in text.tree.body if text.tree is not None else ():
        if isinstance(node, ast.Assign) and get_dotted_name(node.targets[0]) in (
            "device", "DEVICE", "dev",
        ):  # fmt: skip
            yield get_dotted_name(node.targets[0])
            return


def _suggest_moving_operand(program: Program, stray: Stray) -> Iterator[Fix]:
    """Yield `.to(device)` of the operand, at the call or where it is passed on."""
    maker = stray.maker
    for frame in stray.op.frames:
        text_and_node = program.node(frame.span)
        if text_and_node is None:
            continue
        text, node = text_and_node
        for operand in _iter_operands(program, stray, node):
            name = get_dotted_name(operand)
            if not name and not isinstance(operand, ast.Subscript):
                continue
            written = text.written(operand)
            for move in _iter_moves(text, stray.wanted):
                new = f"{written}{move}"
                yield Fix("fits", f"`{new}`", (Edit(text.span(operand).end, move),))
    text_and_node = program.call_at(maker.span) if maker is not None else None
    if text_and_node is not None and maker is not None:
        text, call = text_and_node
        for move in _iter_moves(text, stray.wanted):
            new = join_lines(text.written(call)) + move
            shown = new if len(new) <= 60 else move.lstrip(".")
            yield Fix("fits", f"`{shown}`", (Edit(text.span(call).end, move),))


def _iter_operands(program: Program, stray: Stray, node: ast.AST) -> Iterator[ast.expr]:
    """Yield the operands of a call in the text that may be the tensor."""
    expected = stray.name.strip("`")
    if isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call):
        sides = [*node.args, *(word.value for word in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            sides.append(node.func.value)
    else:
        return
    named = [side for side in sides if get_dotted_name(side) == expected]
    yield from named or [side for side in sides if isinstance(side, ast.Name)]
