"""Edits for losses of decisions: the scores of which they were made, in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.fixes.autograd.carried_states import is_same_function
from shapewright.analysis.fixes.autograd.class_losses import suggest_class_loss
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name
from shapewright.record.ops import Op

DECIDING = operators_with(
    "leaves_graph", "returns_indices", "has_zero_gradient",
    "returns_values_and_indices", "sorts_elements",
)  # fmt: skip
"""Calls that make a decision of scores."""
ACTIVATIONS = frozenset(
    name for name, kind in values_of("gives_values").items() if "probabilities" in kind
)
EXPECTED = values_of("expects_input")
"""What a loss expects, by its name."""
OF_CLASSES = operators_with("is_loss") & operators_with("has_index_bounds")
"""Losses of class numbers."""
LOSSES = operators_with("is_loss")


MOST_STEPS = 6
"""Calls between a decision and the loss that is given it."""


def suggest_scores_for_loss(program: Program, cause: Cause) -> Iterator[Fix]:
    """Suggest `loss_fn(logits, y)` for `loss_fn(preds, y)`, where `preds` are decisions
    that were made of `logits` and no gradient comes through them.
    """
    loss = _find_loss(program, cause)
    if loss is not None and cause.other is not None:
        of_classes = list(suggest_class_loss(program, loss, cause.other))
        yield from of_classes or _suggest_scores(program, loss, cause.other)


def suggest_scores_for_failed_loss(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the scores where a loss refuses the decisions that were made of them."""
    maker_op = _find_decision(program, failure)
    if maker_op is not None:
        yield from _suggest_scores(program, program.trace.ops[failure.op], maker_op)


def suggest_scores_for_rounded(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the scores for a loss of rounded ones."""
    if "without a graph, for the label" in finding.message:
        return  # a discriminator is between
    ops = program.trace.ops
    maker_op = next((op for op in ops if op.span == finding.span), None)
    read = {fact.tensor for fact in maker_op.outputs} if maker_op is not None else set()
    for op in ops[maker_op.index + 1 :] if maker_op is not None else ():
        if any(fact.tensor in read for fact in op.inputs):
            if op.name.rpartition(".")[2] in LOSSES and maker_op is not None:
                yield from _suggest_scores(program, op, maker_op)
                return
            read |= {fact.tensor for fact in op.outputs}


def _find_decision(program: Program, failure: Failure) -> Op | None:
    """Return the call that made decisions of scores, which a failing loss is given."""
    loss = program.trace.ops[failure.op]
    if loss.name.rpartition(".")[2] not in LOSSES or not loss.inputs:
        return None
    fact = loss.inputs[0]
    for _ in range(MOST_STEPS):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs or fact.requires_grad:
            return None
        fact = maker.inputs[0]
        if maker.name.rpartition(".")[2] in DECIDING and fact.requires_grad:
            return maker
    return None


def describe_decisions(program: Program, failure: Failure) -> Related | None:
    """Return the note that a loss is given decisions, if it is."""
    maker_op = _find_decision(program, failure)
    if maker_op is None or maker_op.span is None:
        return None
    name = maker_op.name.rpartition(".")[2]
    message = f"`{name}` makes decisions of the scores here: they have no gradient"
    return Related(maker_op.span, message)


def _suggest_scores(program: Program, loss: Op, decision: Op) -> Iterator[Fix]:
    """Suggest to give a loss the scores of which a decision was made."""
    text_and_node = program.node(decision.span)
    text_and_call = program.call_at(loss.span)
    if text_and_node is None or text_and_call is None:
        return
    (text, node), (other_text, call) = text_and_node, text_and_call
    statement = text.statement_of(node)
    if text is not other_text or not isinstance(statement, ast.Assign):
        return
    if not isinstance(node, ast.expr):
        return
    here = text.statement_of(call)
    if not is_same_function(text, statement, here) or here is statement:
        return
    decisions = {
        name.id
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    name = loss.name.rpartition(".")[2]
    scores = _strip(node, EXPECTED.get(name) != "probabilities")
    shown = get_dotted_name(scores)
    if not shown or shown in decisions:
        return
    operands = [*call.args, *(keyword.value for keyword in call.keywords)]
    for operand in operands[:2]:
        if decisions & set(_collect_names(operand)):
            edits = [Edit(text.span(operand), shown)]
            break
    else:
        return
    target = next((other for other in operands[:2] if other is not operand), None)
    fact = loss.inputs[1] if len(loss.inputs) > 1 else None
    if (
        name in OF_CLASSES
        and isinstance(target, ast.Name | ast.Attribute)
        and fact is not None
        and fact.dtype.startswith(("float", "bfloat"))
    ):
        edits.append(Edit(text.span(target), f"{text.written(target)}.long()"))
    new = text.written(call)
    for edit in edits:
        new = new.replace(text.at(edit.span), edit.text, 1)
    yield Fix("fits", f"`{join_lines(new)}`", tuple(edits))


def _find_loss(program: Program, cause: Cause) -> Op | None:
    """Return the loss of which the backward pass was asked."""
    op: Op | None = cause.failing
    for _ in range(len(LOSSES)):
        if op is None or op.name.rpartition(".")[2] in LOSSES:
            return op
        op = program.producers.get(op.inputs[0].tensor) if op.inputs else None
    return None


def _strip(node: ast.expr, of_logits: bool) -> ast.expr:
    """Return the scores of which an expression makes a decision."""
    known = DECIDING | ACTIVATIONS if of_logits else DECIDING
    while isinstance(node, ast.Call):
        func = node.func
        owner = get_dotted_name(func.value) if isinstance(func, ast.Attribute) else ""
        if get_called_name(node) not in known:
            break
        if isinstance(func, ast.Attribute) and owner not in MODULES:
            node = func.value
        elif node.args:
            node = node.args[0]
        else:
            break
    return node


MODULES = ("torch", "F", "nn.functional", "torch.nn.functional")


def _collect_names(node: ast.expr) -> Iterator[str]:
    """Yield the names that an expression reads."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
