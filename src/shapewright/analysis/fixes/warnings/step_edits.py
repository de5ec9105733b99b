"""Edits that move the calls of a training step: clipping, unscaling, schedulers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import (
    cut_lines,
    find_block,
    find_clip_behind,
    write_after,
    write_before,
)
from shapewright.analysis.fixes.warnings.reset_edits import ANOTHER_LOSS
from shapewright.analysis.fixes.warnings.schedule_edits import suggest_planned_batches
from shapewright.analysis.fixes.warnings.training_edits import find_owners
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.accumulated_gradients import (
    find_early_step,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    list_reads,
)


def suggest_earlier_clipping(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to clip gradients before the step that uses them."""
    if "no gradients here yet" in finding.message and isinstance(node, ast.expr):
        yield from _suggest_clipping_behind(text, node)
        return
    step = _find_related_statement(program, finding, text)
    if isinstance(node, ast.expr) and step is not None:
        clip = text.statement_of(node)
        is_part = "each backward pass of an accumulation" in finding.message
        names = {
            part.id
            for target in getattr(clip, "targets", [])
            for part in ast.walk(target)
            if isinstance(part, ast.Name)
        }
        if is_part and any(_is_read_between(text, clip, step, name) for name in names):
            return
        loop, above = text.around(clip, *LOOPS), text.parent(clip)
        is_outside = is_part and above is loop and text.around(step, *LOOPS) is loop
        if above is text.parent(step) or is_outside:
            new = text.written(clip)
            edits = write_before(text, step, new), cut_lines(text, clip)
            yield Fix("fits", f"`{join_lines(new)}` before the step", edits)
        elif is_part:
            yield from _suggest_both_conditions(text, above, text.parent(step))


def _suggest_both_conditions(
    text: SourceText, clipping: ast.AST | None, stepping: ast.AST | None
) -> Iterator[Fix]:
    """Suggest the condition of a step as a part of that of a clipping above it."""
    if not isinstance(clipping, ast.If) or not isinstance(stepping, ast.If):
        return
    if stepping in find_block(text, clipping):
        tests = [
            f"({text.written(test)})"
            if isinstance(test, ast.IfExp | ast.Lambda | ast.NamedExpr)
            or (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or))
            else text.written(test)
            for test in (clipping.test, stepping.test)
        ]
        new = " and ".join(tests)
        edit = Edit(text.span(clipping.test), new)
        yield Fix("fits", f"`if {join_lines(new)}:` before the step", (edit,))


def _is_read_between(
    text: SourceText, clip: ast.stmt, step: ast.stmt, name: str
) -> bool:
    """Return whether the norm of a clipping is read outside of the block of a step."""
    loop, block = text.around(clip, *LOOPS), text.parent(step)
    inside = set(ast.walk(block)) if block is not None and block is not loop else set()
    return any(read not in inside for read in list_reads(loop, name))


def _suggest_clipping_behind(text: SourceText, node: ast.expr) -> Iterator[Fix]:
    """Suggest to clip gradients behind the backward pass that fills them."""
    clip = text.statement_of(node)
    for other in text.nodes:
        is_pass = isinstance(other, ast.Expr) and isinstance(other.value, ast.Call)
        if not isinstance(other, ast.Expr) or not is_pass:
            continue
        behind = other.lineno > clip.lineno and text.parent(other) is text.parent(clip)
        if behind and get_called_name(other.value) == "backward":
            new = text.written(clip)
            edits = write_after(text, other, new), cut_lines(text, clip)
            shown = join_lines(text.written(other))
            yield Fix("fits", f"`{join_lines(new)}` after `{shown}`", edits)
            return


def suggest_unscaling(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `scaler.unscale_(optimizer)` before gradients are clipped."""
    step = _find_related_statement(program, finding, text)
    call = getattr(step, "value", None)
    if not isinstance(call, ast.Call) or not isinstance(node, ast.expr):
        return
    scaler = get_receiver(call)
    if get_called_name(call) == "step" and scaler is not None and call.args:
        new = f"{text.written(scaler)}.unscale_({text.written(call.args[0])})"
        yield Fix(
            "fits", f"`{new}`", (write_before(text, text.statement_of(node), new),)
        )


def suggest_other_loop(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to step a scheduler with each batch, or behind the loop over them."""
    if not isinstance(node, ast.expr):
        return
    statement = text.statement_of(node)
    new = text.written(statement)
    step = _find_related_statement(program, finding, text)
    if "for each batch" not in finding.message and step is not None:
        edits = write_after(text, step, new), cut_lines(text, statement)
        yield Fix("fits", f"`{new}` after the optimizer's step", edits)
        return
    loop = text.around(statement, *LOOPS)
    is_plan_of_epochs = "one for each epoch" in finding.message
    if "is planned" in finding.message and not is_plan_of_epochs:
        loop = None
    if loop is not None and text.around(loop, *LOOPS) is not None:
        edits = cut_lines(text, statement), write_after(text, loop, new)
        yield Fix("fits", f"`{new}` behind the loop over batches", edits)
    elif loop is not None:
        yield from _suggest_step_of_caller(text, statement, new)
    if is_plan_of_epochs or "as if for epochs" in finding.message:
        yield from suggest_planned_batches(program, finding, text, node)


def _suggest_step_of_caller(
    text: SourceText, statement: ast.stmt, new: str
) -> Iterator[Fix]:
    """Suggest to step a scheduler in the loop over epochs that calls the function
    which has the loop over batches.
    """
    function = text.around(statement, ast.FunctionDef)
    stepped = statement.value if isinstance(statement, ast.Expr) else None
    owner = get_receiver(stepped) if isinstance(stepped, ast.Call) else None
    if function is None or owner is None or new.strip()[-2:] != "()":
        return
    calls = [
        call
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == function.name
    ]
    looped = [call for call in calls if text.around(call, *LOOPS) is not None]
    if len(looped) != 1:
        return
    (call,) = looped
    name = _write_in_caller(text, function, call, owner)
    if not name:
        return
    around = text.parent(statement)
    is_guarded = isinstance(around, ast.If) and not around.orelse
    if is_guarded and isinstance(around, ast.If) and around.body == [statement]:
        statement = around
    step = f"{name}.step()"
    behind = write_after(text, text.statement_of(call), step)
    edits = cut_lines(text, statement), behind
    yield Fix("fits", f"`{step}` behind `{function.name}`, once for each epoch", edits)


def _write_in_caller(
    text: SourceText, function: ast.FunctionDef, call: ast.Call, owner: ast.expr
) -> str:
    """Return a caller's name of a scheduler that a function steps, or an empty text."""
    written = text.line_of(owner)
    root = written.partition(".")[0]
    parameters = [argument.arg for argument in function.args.args]
    receiver = get_receiver(call)
    if parameters[:1] == ["self"]:
        if root == "self":
            own = text.line_of(receiver) if receiver is not None else ""
            return own + written.removeprefix("self") if own else ""
        parameters = parameters[1:]
    if root not in parameters:
        inner = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)
                 and isinstance(n.ctx, ast.Store)}  # fmt: skip
        return "" if root in inner else written
    place = parameters.index(root)
    words = {word.arg: word.value for word in call.keywords}
    value = call.args[place] if place < len(call.args) else words.get(root)
    if not isinstance(value, ast.Name | ast.Attribute):
        return ""
    return text.line_of(value) + written.removeprefix(root)


def suggest_weights_of_samples(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `weights[labels]` for a sampler with a weight for each class: of the
    labels that were counted, or those of a `TensorDataset`.
    """
    calls = [node, *text.nodes]
    sampler = next((c for c in calls if get_called_name(c) == SAMPLER), None)
    weights = (
        sampler.args[0] if isinstance(sampler, ast.Call) and sampler.args else None
    )
    if not isinstance(weights, ast.Name | ast.Attribute):
        return
    labels = [
        text.written(call.args[0])
        for call in text.nodes
        if isinstance(call, ast.Call) and call.args
        if get_called_name(call) in COUNTING
    ]
    for call in text.nodes if "TensorDataset" in finding.message else ():
        if get_called_name(call) != "DataLoader" or not isinstance(call, ast.Call):
            continue
        data = call.args[0] if call.args else None
        is_drawn = any(word.arg == "sampler" for word in call.keywords)
        if is_drawn and isinstance(data, ast.Name):
            labels = [f"{data.id}.tensors[-1]"]  # of the very samples
            break
    for written in dict.fromkeys(labels):
        new = f"{text.written(weights)}[{join_lines(written)}]"
        yield Fix("fits", f"`{new}`", (Edit(text.span(weights), new),))


SAMPLER = "WeightedRandomSampler"
COUNTING = ("bincount", "Counter", "unique")
"""Functions that count how many samples each class has."""


def _find_related_statement(
    program: Program, finding: Finding, text: SourceText
) -> ast.stmt | None:
    """Return the statement at the first place that explains a finding."""
    for related in finding.related:
        place = program.node(related.span)
        if place is not None and place[0] is text:
            node = place[1]
            return node if isinstance(node, ast.stmt) else text.statement_of(node)
    return None


WITHOUT_GRAPH = operators_with("leaves_graph") | {"clone", "requires_grad_"}
"""Attributes and methods through which a tensor becomes one without its graph."""


def suggest_parentheses(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `optimizer.step()` for a statement that only names the method."""
    for related in finding.related:
        place = program.node(related.span)
        if place is None or not isinstance(place[1], ast.Expr | ast.Attribute):
            continue
        where, named = place
        if isinstance(named, ast.Expr):
            named = named.value
        if isinstance(where.parent(named), ast.Expr) and isinstance(
            named, ast.Attribute
        ):
            edit = Edit(where.span(named).end, "()")
            yield Fix("fits", f"`{where.written(named)}()`", (edit,))


def suggest_loss_with_graph(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `loss` for `Variable(loss.data, requires_grad=True)`."""
    for place in finding.related if "without the graph" in finding.message else ():
        text_and_node = program.node(place.span)
        if text_and_node is None:
            continue
        where, whole = text_and_node
        for around in where.outwards(whole):
            is_wrapper = isinstance(around, ast.Call) or _is_of_graphless(around)
            if not is_wrapper or not isinstance(around, ast.expr):
                break
            whole = around
        inner = _strip_graphless(whole) if isinstance(whole, ast.expr) else None
        if inner is not None and inner is not whole:
            new = where.written(inner)
            message = f"`{new}` for `{join_lines(where.written(whole))}`"
            yield Fix("fits", message, (Edit(where.span(whole), new),))


def _is_of_graphless(node: ast.AST) -> bool:
    """Return whether a node is `x.data` or the name of a method that leaves a graph."""
    return isinstance(node, ast.Attribute) and node.attr in WITHOUT_GRAPH


def _strip_graphless(node: ast.expr) -> ast.expr | None:
    """Return what a new leaf was made of: `loss` of `torch.tensor(loss.item())`."""
    while True:
        if _is_of_graphless(node):
            node = node.value  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call) and _is_of_graphless(node.func):
            node = node.func.value  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call) and len(node.args) == 1:
            node = node.args[0]
        else:
            return node if isinstance(node, ast.Name | ast.Attribute) else None


def _suggest_clearing_behind(
    program: Program, finding: Finding, text: SourceText, read: ast.stmt
) -> Iterator[Fix]:
    """Suggest `optimizer.zero_grad()` behind what reads the gradients, if both stand in
    one block.
    """
    place = program.node(finding.related[0].span) if finding.related else None
    cleared = place[0].statement_of(place[1]) if place is not None else None
    if place is None or place[0] is not text or not isinstance(cleared, ast.Expr):
        return
    block = find_block(text, cleared)
    outer: ast.AST | None = read
    while outer is not None and outer not in block:
        outer = text.parent(outer)
    if isinstance(outer, ast.stmt) and outer.lineno > cleared.lineno:
        written = text.written(cleared)
        edits = cut_lines(text, cleared), write_after(text, outer, written)
        yield Fix("fits", f"`{written}` behind what reads the gradients", edits)


def suggest_no_clearing(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to leave out a clearing before which gradients of earlier batches wait
    for a step, where another one follows that step.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if "read behind" in finding.message and isinstance(statement, ast.stmt):
        yield from _suggest_clearing_behind(program, finding, text, statement)
        return
    if not isinstance(statement, ast.Expr) or not finding.related:
        return
    written = text.written(statement)
    is_above = statement.lineno < finding.related[0].span.line
    others = [
        call
        for call in text.nodes
        if get_called_name(call) == "zero_grad" and call is not statement.value
    ]
    if is_above and others:
        yield Fix("fits", f"leave out `{written}`", (cut_lines(text, statement),))


def suggest_later_clearing(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to clear gradients before the backward pass, not between it and the
    step; and the step itself, where there is none.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt) or "read behind" in finding.message:
        return
    written = text.written(statement)
    step = _find_later_step(text, statement, written.partition(".zero_grad")[0])
    if step is not None:
        edits = (cut_lines(text, statement), write_after(text, step, written))
        message = f"`{written}` after `{join_lines(text.written(step))}`"
        yield Fix("fits", message, edits)
        return
    for related in finding.related:
        text_and_node = program.node(related.span)
        if text_and_node is None or text_and_node[0].file != text.file:
            continue
        backward = text.statement_of(text_and_node[1])
        early = find_early_step(text, statement, backward)
        if early is not None:
            clip = find_clip_behind(text, backward)
            moved, other = text.written(early), text.written(clip or backward)
            edits = (
                (cut_lines(text, early), write_after(text, clip, moved))
                if clip is not None
                else (Edit(text.span(early), other), Edit(text.span(backward), moved))
            )
            yield Fix("fits", f"`{moved}` after `{join_lines(other)}`", edits)
            return
        if backward.lineno < statement.lineno:
            edits = (write_before(text, backward, written), cut_lines(text, statement))
            message = f"`{written}` before `{join_lines(text.written(backward))}`"
            yield Fix("fits", message, edits)
        owner = written.partition(".zero_grad")[0]
        new = f"{owner}.step()"
        yield Fix("fits", f"`{new}`", (write_after(text, backward, new),))


def _find_later_step(
    text: SourceText, clearing: ast.stmt, optimizer: str
) -> ast.stmt | None:
    """Return the only step of an optimizer in the loop that clears its gradients, where
    it is not taken in each turn: `if (i + 1) % 4 == 0:`.
    """
    loop = text.around(clearing, *LOOPS)
    if loop is None or text.around(clearing, ast.If) in list(ast.walk(loop)):
        return None
    steps = [
        text.statement_of(node)
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr == "step"
        and optimizer in map(text.written, (*node.args, node.func.value))
    ]
    if len(steps) != 1 or not isinstance(steps[0], ast.Expr):
        return None
    if _is_behind_continue(steps[0], loop):
        return steps[0]
    condition = text.around(steps[0], ast.If)
    is_inside = condition is not None and condition in list(ast.walk(loop))
    counts = condition is not None and any(
        isinstance(part, ast.Mod) for part in ast.walk(condition.test)
    )
    return steps[0] if is_inside and counts else None


def _is_behind_continue(step: ast.Expr, loop: ast.AST) -> bool:
    """Return whether a statement of a loop comes in those turns alone that a comparison
    above it lets pass: `if count < 4: continue`.
    """
    body = getattr(loop, "body", [])
    return step in body and any(
        isinstance(part, ast.If)
        and isinstance(part.test, ast.Compare)
        and isinstance(part.body[-1], ast.Continue)
        for part in body[: body.index(step)]
    )


def _find_stepped(text: SourceText) -> list[str]:
    """Return the names of optimizers that a file steps, also by a scaler:
    `scaler.step(optimizer)`.
    """
    handed = [
        text.written(node.args[0])
        for node in text.nodes
        if isinstance(node, ast.Call)
        and get_called_name(node) == "step"
        and node.args
        and "scaler" in text.written(node.func)
    ]
    others = [name for name in find_owners(text, "step") if "scaler" not in name]
    return list(dict.fromkeys((*others, *handed)))


def suggest_clearing(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `optimizer.zero_grad()` before the backward pass, and `w.grad = None` for
    the tensors that an update by hand reads the gradients of.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    owners = [] if ANOTHER_LOSS in finding.message else _find_stepped(text)
    scope = text.around(node, *FUNCTIONS) or text.tree
    read = [
        f"{text.written(part.value)}.grad"
        for part in ast.walk(scope if scope is not None and not owners else node)
        if isinstance(part, ast.Attribute)
        and part.attr == "grad"
        and isinstance(part.ctx, ast.Load)
        and isinstance(part.value, ast.Name | ast.Attribute)
        and part.lineno > getattr(node, "lineno", 0)
    ]
    if read and not owners and isinstance(statement, ast.stmt):
        new = " = ".join([*dict.fromkeys(read), "None"])
        yield Fix("fits", f"`{new}`", (write_before(text, statement, new),))
    for owner in owners:
        new = f"{owner}.zero_grad()"
        if isinstance(statement, ast.stmt):
            yield Fix("fits", f"`{new}`", (write_before(text, statement, new),))
