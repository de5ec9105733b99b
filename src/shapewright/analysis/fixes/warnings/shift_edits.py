"""Edits for targets that are to be one step later: tokens, values of a series."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from shapewright.analysis.hazards.window_targets import (
    get_end_of_window,
    get_first_item,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

LOSSES = operators_with("is_loss")
FLATTENING = operators_with("regroups_dims")
TURNING = operators_with("transposes_dims", "moves_dims")


def suggest_shifted_items(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `return tokens[:-1], tokens[1:]` in a data set whose items have the same
    tokens twice, and slices one place later for targets that are cut like the inputs;
    for the last value of a window the one behind it.
    """
    if "the last value of the window" in finding.message:
        yield from _suggest_next_value(program, finding, text, node)
        return
    fixes = [*_suggest_later_items(program)]
    yield from fixes
    if isinstance(node, ast.Call) and not fixes:
        yield from _suggest_shifted_scores(text, node)


def _suggest_later_items(program: Program) -> Iterator[Fix]:
    """Suggest targets one step later where the data make them."""
    for file in program.trace.sources:
        source = program.text(file)
        functions = source.functions("__getitem__") if source is not None else ()
        for _, function in functions:
            last = function.body[-1]
            value = last.value if isinstance(last, ast.Return) else None
            if source is None or not isinstance(value, ast.Tuple):
                continue
            parts = [source.written(part) for part in value.elts]
            if (
                len(parts) != 2
                or parts[0] != parts[1]
                or not parts[1].endswith("[:-1]")
            ):
                continue
            new = f"{parts[1].removesuffix('[:-1]')}[1:]"
            edit = Edit(source.span(value.elts[1]), new)
            yield Fix("fits", f"`return {parts[0]}, {new}`", (edit,))

    for source in program.own_texts():
        yield from _suggest_later_slices(source)


def _suggest_shifted_scores(text: SourceText, loss: ast.Call) -> Iterator[Fix]:
    """Suggest the scores without those of the last step, and the targets without the
    first token: `cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:])`.
    """
    if len(loss.args) < 2:
        return
    scores, targets = loss.args[:2]
    name = get_called_name(scores)
    is_flat = name in FLATTENING and get_called_name(targets) in FLATTENING
    is_turned = name in TURNING and isinstance(targets, ast.Name | ast.Attribute)
    if not is_flat and not is_turned:
        return
    new = [_write_cut(text, scores, ":-1"), _write_cut(text, targets, "1:")]
    if not all(new):
        return
    words = [text.line_of(value) for value in loss.args[2:]]
    words += [f"{w.arg}={text.line_of(w.value)}" for w in loss.keywords if w.arg]
    shown = f"{text.written(loss.func)}({', '.join([*new, *words])})"
    edits = (Edit(text.span(scores), new[0]), Edit(text.span(targets), new[1]))
    yield Fix("fits", f"`{shown}`", edits)


def suggest_previous_steps(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `y[:, :-1]` for the zeros that a decoder reads, and `y[:, 1:]` for the
    target `y` of its loss.
    """
    source = program.op_at(finding.span, finding.module)
    if source is None or not source.outputs or not isinstance(node, ast.expr):
        return
    shape = source.outputs[0].shape
    for op in program.trace.ops[source.index :]:
        if op.name.rpartition(".")[2] not in LOSSES or len(op.inputs) < 2:
            continue
        place = program.node(op.span)
        call = place[1] if place is not None and place[0] is text else None
        if not isinstance(call, ast.Call) or len(call.args) < 2:
            return
        target = call.args[1]
        same = text.around(call, *FUNCTIONS) is text.around(node, *FUNCTIONS)
        if op.inputs[1].shape != shape or not isinstance(target, ast.Name) or not same:
            return
        steps = int(finding.message.split()[1])
        front = "" if shape[0] == steps != shape[1] else ":, "
        read = f"{target.id}[{front}:-1]"
        later = f"{target.id}[{front}1:]"
        edits = (Edit(text.span(node), read), Edit(text.span(target), later))
        yield Fix("fits", f"`{read}` here, and `{later}` as the target", edits)
        return


def _write_cut(text: SourceText, node: ast.expr, steps: str) -> str:
    """Return an expression with only some steps of what it flattens or turns; an empty
    string if it is of slices already.
    """
    owner = get_receiver(node) if isinstance(node, ast.Call) else None
    whole = owner if owner is not None else node
    if isinstance(whole, ast.Name) and whole.id == "torch":
        return ""
    if not isinstance(whole, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return ""
    if isinstance(whole, ast.Subscript) and not isinstance(whole.slice, ast.Constant):
        return ""
    cut = f"{text.line_of(whole)}[:, {steps}]"
    if owner is None or not isinstance(node, ast.Call):
        return cut
    name = get_called_name(node)
    name = "reshape" if name == "view" else name
    words = ", ".join(map(text.line_of, node.args))
    return f"{cut}.{name}({words})"


def _suggest_next_value(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `series[i + n]` for `series[i + n - 1]`, and one window less where there
    is no value behind the last one.
    """
    place = program.node(finding.related[0].span) if finding.related else None
    window = place[1] if place is not None else None
    if not isinstance(node, ast.Subscript) or not isinstance(window, ast.Subscript):
        return
    end = get_end_of_window(window, node)
    if end is None:
        return
    item = get_first_item(node)
    edit = Edit(text.span(item), text.written(end))
    new = text.line_of(node).replace(text.line_of(item), text.line_of(end), 1)
    yield Fix("fits", f"`{new}`", (edit,))
    loop, owner = text.around(node, ast.For), text.around(node, ast.ClassDef)
    ends: list[ast.expr] = [loop.iter] if loop is not None else []
    for part in ast.walk(owner) if owner is not None else ():
        if isinstance(part, ast.FunctionDef) and part.name == "__len__":
            ends += [
                n.value
                for n in ast.walk(part)
                if isinstance(n, ast.Return) and n.value is not None
            ]
    sums = [
        part
        for whole in ends
        for part in ast.walk(whole)
        if isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Add)
        and text.written(part.right) == "1"
    ]
    if len(sums) == 1:
        fewer = Edit(text.span(sums[0]), text.written(sums[0].left))
        shown = f"`{new}` and `{text.line_of(sums[0].left)}`"
        yield Fix("fits", shown, (edit, fewer))


def _suggest_later_slices(text: SourceText) -> Iterator[Fix]:
    """Suggest `data[s + 1:s + n + 1]` where targets are cut in the same way as inputs:
    `y = torch.stack([data[s:s + n] for s in starts])`.
    """
    for node in text.nodes:
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        lines = [
            line
            for line in body
            if isinstance(line, ast.Assign)
            and len(line.targets) == 1
            and isinstance(line.targets[0], ast.Name)
        ]
        for first, second in pairwise(lines):
            if ast.dump(first.value) != ast.dump(second.value):
                continue
            slices = [
                part for part in ast.walk(second.value) if isinstance(part, ast.Slice)
            ]
            if len(slices) != 1 or slices[0].step is not None:
                continue
            (cut,) = slices
            lower = f"{text.written(cut.lower)} + 1" if cut.lower is not None else "1"
            upper = text.written(cut.upper) if cut.upper is not None else ""
            if upper == "-1" and cut.lower is None:
                upper = ""
            elif upper.startswith("-"):
                continue
            elif upper:
                upper += " + 1"
            whole = text.parent(cut)
            if cut.lower is None and cut.upper is None:
                continue
            if isinstance(whole, ast.Subscript) and whole.slice is cut:
                new = f"{text.written(whole.value)}[{lower}:{upper}]"
                yield Fix("fits", f"`{new}`", (Edit(text.span(whole), new),))
