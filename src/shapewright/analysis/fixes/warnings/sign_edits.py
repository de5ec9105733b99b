"""Edits of signs and of random numbers in the formulas of a loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.hazards.signed_targets import TARGETS
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_assignments,
)


def suggest_added_divergence(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the other sign of the number before a divergence, or `+` where a loss
    subtracts it.
    """
    if not isinstance(node, ast.expr):
        return
    statement = text.statement_of(node)
    value = getattr(statement, "value", None)
    for part in ast.walk(value if isinstance(value, ast.expr) else ast.Pass()):
        if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.Mult):
            continue
        number = part.left
        turned = ""
        if isinstance(number, ast.Constant):
            turned = f"-{text.written(number)}"
        elif isinstance(number, ast.UnaryOp) and isinstance(number.op, ast.USub):
            turned = text.written(number.operand)
        if turned:
            shown = f"{turned} * {text.written(part.right)}"
            edit = Edit(text.span(number), turned)
            yield Fix("fits", f"`{join_lines(shown)}`", (edit,))
            break
    names = [
        ast.unparse(target)
        for target in (statement.targets if isinstance(statement, ast.Assign) else ())
    ]
    for other in text.nodes:
        if not isinstance(other, ast.BinOp) or not isinstance(other.op, ast.Sub):
            continue
        right = other.right
        while isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult):
            right = right.right if get_dotted_name(right.right) in names else right.left
        if get_dotted_name(right) in names:
            new = f"{text.written(other.left)} + {text.written(other.right)}"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(other), new),))


def suggest_normal_noise(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `torch.randn_like(x)` for `torch.rand_like(x)`."""
    name = get_called_name(node)
    if not isinstance(node, ast.Call) or not name.startswith("rand"):
        return
    old = text.written(node.func)
    new = old[: len(old) - len(name)] + name.replace("rand", "randn", 1)
    shown = new + text.written(node).removeprefix(old)
    yield Fix("fits", f"`{join_lines(shown)}`", (Edit(text.span(node.func), new),))


def suggest_negative(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `-log_prob * advantage` for a product that is minimized."""
    is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
    if isinstance(node, ast.expr) and (is_product or isinstance(node, ast.Call)):
        new = f"-{text.written(node)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node).start, "-"),))


def suggest_order_of_returns(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `returns.insert(0, total)` for sums from the last step, and
    `reversed(rewards)` for sums from the first one.
    """
    if isinstance(node, ast.Call) and get_called_name(node) == "append":
        yield _write_insertion(text, node, ())
        return
    kept = program.node(finding.related[0].span) if finding.related else None
    if kept is None or not isinstance(node, ast.expr):
        return
    edit = Edit(text.span(node), f"reversed({text.written(node)})")
    if isinstance(kept[1], ast.Call) and get_called_name(kept[1]) == "append":
        yield _write_insertion(text, kept[1], (edit,))
    else:
        yield Fix("fits", f"`{edit.text}`", (edit,))


def _write_insertion(text: SourceText, call: ast.Call, edits: tuple[Edit, ...]) -> Fix:
    """Return the fix that keeps a sum in front of those before it."""
    assert isinstance(call.func, ast.Attribute)
    new = f"{text.written(call.func.value)}.insert(0, {text.written(call.args[0])})"
    shown = " and ".join(f"`{part}`" for part in [*(e.text for e in edits), new])
    return Fix("fits", shown, (*edits, Edit(text.span(call), new)))


def suggest_label_of_side(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the label of real data for a generator, and the other one for generated
    data; where a label is filled, another number.
    """
    label = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else None
    real = program.node(finding.related[0].span) if finding.related else None
    if label is None or not isinstance(node, ast.Call):
        return
    if "found out" in finding.message:
        meant = real[1] if real is not None and real[0] is text else None
        if isinstance(meant, ast.Call) and len(meant.args) > 1:
            new = text.written(meant.args[1])
            if new != text.written(label):
                yield Fix(
                    "fits", f"`{join_lines(new)}`", (Edit(text.span(label), new),)
                )
                return
        number = finding.message.rpartition(" is the answer")[0].rpartition(" ")[2]
    else:
        number = "0" if " is taught 1 " in finding.message else "1"
    maker = "ones" if number == "1" else "zeros"
    new = f"torch.{maker}_like({text.written(label)})"
    for target, value in iter_assignments(text.tree, unpacked=True):
        is_near = value.lineno < node.lineno and isinstance(target, ast.Name)
        if is_near and get_called_name(value).startswith(maker):
            new = text.written(target)
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(label), new),))


def suggest_values_of_actions(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `q.max(1)[0]` for `q.max(1)[1]`, `.values` for `.indices`, and
    `.max(1).values` for `.argmax(1)`.
    """
    maker_place = program.node(finding.related[0].span) if finding.related else None
    call = (
        maker_place[1] if maker_place is not None and maker_place[0] is text else None
    )
    around = text.parent(call)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    if call.func.attr == "argmax":
        owner, rest = text.written(call.func), text.written(call)
        new = f"{owner[:-6]}max{rest.removeprefix(owner)}.values"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))
    elif isinstance(around, ast.Attribute) and around.attr == "indices":
        new = f"{text.written(call)}.values"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(around), new),))
    elif isinstance(around, ast.Subscript) and text.written(around.slice) == "1":
        new = f"{text.written(call)}[0]"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(around.slice), "0"),))


def suggest_lost_overlap(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `1 - dice` for an overlap that is the loss: where a function computes it,
    where that is called for the loss.
    """
    for call in _list_calls_of_function(text, node):
        statement = text.statement_of(call)
        names = [ast.unparse(t) for t in getattr(statement, "targets", [])]
        if any("loss" in name.lower() for name in names):
            new = f"1 - {text.written(call)}"
            edit = Edit(text.span(call).start, "1 - ")
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))
            return
    if isinstance(node, ast.expr):
        new = f"1 - {text.written(node)}"
        yield Fix(
            "fits", f"`{join_lines(new)}`", (Edit(text.span(node).start, "1 - "),)
        )


def suggest_labels_first(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a metric with its two arguments exchanged, or classes or probabilities
    for what it refuses.
    """
    if not isinstance(node, ast.Call):
        return
    if "scikit-learn refuses" in finding.message:
        yield from _suggest_other_scores(program, finding, text, node)
    if "labels first" not in finding.message:
        return
    first, second = node.args[:2]
    first_text, second_text = text.written(first), text.written(second)
    edits = Edit(text.span(first), second_text), Edit(text.span(second), first_text)
    shown = f"{text.written(node.func)}({second_text}, {first_text}"
    rest = "".join(f", {text.written(part)}" for part in node.args[2:])
    rest += "".join(f", {w.arg}={text.written(w.value)}" for w in node.keywords)
    yield Fix("fits", f"`{join_lines(f'{shown}{rest})')}`", edits)


def _suggest_other_scores(
    program: Program, finding: Finding, text: SourceText, call: ast.Call
) -> Iterator[Fix]:
    """Suggest the softmax of the logits that a metric gets, or the classes of the
    probabilities.
    """
    place = program.node(finding.related[0].span) if finding.related else None
    if place is None or not isinstance(place[1], ast.Call):
        return
    if "add up to 1" in finding.message:
        yield append_method(text, place[1], ".softmax(dim=1)")
        return
    scores = call.args[1]
    values = [scores, find_known_value(text, scores)]
    ends = {get_called_name(value) for value in values}
    if ends & {"list", "tolist"} or isinstance(values[1], ast.List):
        return  # a list has no threshold
    if get_called_name(place[1]) == "sigmoid":
        written = text.written(scores)
        new = f"{written} > 0.5"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(scores), new),))
    elif not any(isinstance(value, ast.Subscript) for value in values):
        yield append_method(text, scores, ".argmax(1)")


def _list_calls_of_function(text: SourceText, node: ast.AST) -> list[ast.Call]:
    """Return the calls of the function of a file in which a node stands."""
    function = text.around(node, ast.FunctionDef)
    return [
        call
        for call in (text.nodes if function is not None else ())
        if isinstance(call, ast.Call)
        and function is not None
        and get_called_name(call) == function.name
    ]


def suggest_probabilities(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `dice(logits.sigmoid(), masks)` for an overlap of logits."""
    function = text.around(node, ast.FunctionDef)
    name = finding.message.partition("takes `")[2].partition("`")[0]
    arguments = [arg.arg for arg in function.args.args] if function is not None else []
    if "overlap with a mask" not in finding.message or name not in arguments:
        return
    at = arguments.index(name) - (arguments[0] == "self")
    edits = [
        Edit(text.span(call.args[at]).end, ".sigmoid()")
        for call in _list_calls_of_function(text, node)
        if 0 <= at < len(call.args)
        and isinstance(call.args[at], ast.Name | ast.Call | ast.Attribute)
    ]
    calls = _list_calls_of_function(text, node)
    if edits and len(edits) == len(calls):
        shown = f"{text.written(calls[0].args[at])}.sigmoid()"
        yield Fix("fits", f"`{join_lines(shown)}`", tuple(edits))


def suggest_signed_target(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `2 * same - 1` for targets of 0 and 1 that are to be -1 and 1."""
    op = program.op_at(finding.span, finding.module)
    at = TARGETS.get(op.name.rpartition(".")[2]) if op is not None else None
    if op is None or at is None or "takes 1 and -1" not in finding.message:
        return
    place = find_tensor_expressions(program, op)[at]
    if place is not None:
        written = text.written(place[0])
        simple = isinstance(place[0], ast.Name | ast.Attribute | ast.Subscript)
        simple |= isinstance(place[0], ast.Call)
        new = f"2 * {written} - 1" if simple else f"2 * ({written}) - 1"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place[0]), new),))
