"""Edits that give gradients to parameters that never get one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.lost_graphs import (
    describe_cut,
    find_copy,
    write_without_numpy,
)
from shapewright.analysis.fixes.autograd.uncut_graphs import suggest_uncut_graph
from shapewright.analysis.fixes.chained_layers import build_chained_fix
from shapewright.analysis.fixes.optimizer_edits import suggest_later_statement
from shapewright.analysis.fixes.statements import (
    cut_head,
    cut_lines,
    find_block,
    find_clip_behind,
    write_after,
    write_before,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.missing_passes import LOST, UNREAD, WRAPPERS
from shapewright.analysis.training_mistakes.swapped_flags import get_flags
from shapewright.analysis.training_mistakes.unknown_heads import REPLACED
from shapewright.analysis.training_mistakes.unread_layers import (
    LAST_ONLY,
    UNREAD_RESULT,
    find_unpassed_layers,
)
from shapewright.findings.codes import GRAPH_CUT
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    get_own_attribute,
)


def suggest_other_flags(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the opposite flags for what is frozen and what is not."""
    if "the wrong way round" not in finding.message:
        return
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    value = statement.value if isinstance(statement, ast.Assign) else None
    branch = text.parent(statement)
    flags = get_flags(branch) if isinstance(branch, ast.If) else None
    if flags is not None:
        edits = tuple(
            Edit(text.span(value), str(not value.value)) for _, value in flags
        )
        values = [text.written(value) for _, value in reversed(flags)]
        message = f"`requires_grad` {values[0]} here, else {values[1]}"
        yield Fix("fits", message, edits)
    elif isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.In):
        sides = value.left, value.comparators[0]
        new = " not in ".join(map(text.written, sides))
        yield Fix("fits", f"`{new}`", (Edit(text.span(value), new),))
    elif isinstance(value, ast.Call):
        new = f"not {text.written(value)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))


def suggest_backward(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `loss.backward()` before a step, or behind the loss if that stands in
    another block.
    """
    step = text.statement_of(node) if isinstance(node, ast.expr) else node
    for related in finding.related if isinstance(step, ast.stmt) else ():
        place = program.node(related.span) if related.message == UNREAD else None
        loss = place[1] if place is not None and place[0] is text else None
        if isinstance(loss, ast.Assign) and isinstance(step, ast.stmt):
            new = f"{text.written(loss.targets[0])}.backward()"
            is_near = step in find_block(text, loss)
            clip = find_clip_behind(text, loss) if is_near else None
            is_between = clip is not None and clip.lineno < step.lineno
            edit = write_before(text, clip if clip and is_between else step, new)
            edit = edit if is_near else write_after(text, loss, new)
            yield Fix("fits", f"`{new}` before the step", (edit,))


def suggest_kept_graph(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `fake` for `fake.detach()` in the loss that is to train it; nothing for
    layers whose names say that they may be frozen on purpose.
    """
    if LOST not in finding.message or FROZEN.search(finding.module or ""):
        return
    history = History(program)
    flags = tuple(cut_lines(text, flag) for flag in _iter_flags_of_losses(text))
    if isinstance(node, ast.Call) and (find_copy(node) is node or _is_leaf(node)):
        if isinstance(node.args[0], ast.List | ast.ListComp) or _is_list(text, node):
            new = f"torch.stack({text.written(node.args[0])})"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
            return
        new = write_without_numpy(text, node.args[0]) or text.written(node.args[0])
        new = new.removesuffix(".tolist()").removesuffix(".detach()")
        edits = (Edit(text.span(node), new), *flags)
        yield Fix("fits", f"`{join_lines(new)}`", edits)
        return
    for op in program.trace.ops:
        if op.span != finding.span or not any(f.requires_grad for f in op.inputs):
            continue
        cut = describe_cut(history, op)
        failing = history.passes[-1] if history.passes else op
        cause = Cause(
            GRAPH_CUT, "cut", finding.message, failing, other=op, names=cut.names
        )
        for fix in suggest_uncut_graph(history, cause):
            yield replace(fix, edits=(*fix.edits, *flags))
        return


def suggest_samples_with_graph(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `generator(z)` for `fake` in the loss that is to train the generator,
    where `fake = generator(z).detach()` was made for another loss; or to detach it in
    that loss alone.
    """
    source = get_receiver(node) if isinstance(node, ast.Call) else None
    if LOST not in finding.message or not isinstance(source, ast.Call):
        return
    assigned = text.parent(node)
    if not isinstance(assigned, ast.Assign) or assigned.value is not node:
        return
    block = find_block(text, assigned)
    name = ast.unparse(assigned.targets[0])
    loss = _find_differentiated(program, finding, text, block)
    if loss is None or get_called_name(node) != "detach":
        return
    reads = [
        (statement, part)
        for statement in block[block.index(assigned) + 1 :]
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and part.id == name
    ]
    own = [part for statement, part in reads if statement is loss]
    others = [part for statement, part in reads if statement.lineno < loss.lineno]
    if not own or not others:
        return
    new = text.written(source)
    edits = tuple(Edit(text.span(part), new) for part in own)
    yield Fix("fits", f"`{join_lines(new)}` for `{name}` in the loss", edits)
    detached = f"{name}.detach()"
    kept = Edit(text.span(node), new)
    cuts = (Edit(text.span(part), detached) for part in others)
    message = f"`{detached}` in the other loss alone"
    yield Fix("fits", message, (kept, *cuts))


def _find_differentiated(
    program: Program, finding: Finding, text: SourceText, block: list[ast.stmt]
) -> ast.Assign | None:
    """Return the statement of a block that makes the loss of the backward pass which
    stands before the steps of the finding.
    """
    for related in finding.related:
        place = program.node(related.span)
        call = place[1] if place is not None and place[0] is text else None
        loss = get_receiver(call) if isinstance(call, ast.Call) else None
        if loss is None or call is None or get_called_name(call) != "backward":
            continue
        for statement in reversed(block):
            if isinstance(statement, ast.Assign) and ast.unparse(
                statement.targets[0]
            ) == ast.unparse(loss):
                return statement
    return None


def _is_list(text: SourceText, node: ast.Call) -> bool:
    """Return whether a call gets a name that stands for a list of the program."""
    name = get_dotted_name(node.args[0])
    values = find_defining(text, name) if name.isidentifier() else []
    return any(isinstance(value, ast.List | ast.ListComp) for value in values)


def _is_leaf(node: ast.Call) -> bool:
    """Return whether a call makes a new leaf of a tensor: `nn.Parameter(x)`."""
    return get_called_name(node) in WRAPPERS and len(node.args) == 1


FROZEN = re.compile(
    r"backbone|encoder|pretrain|teacher|frozen|feature|extract|bert|resnet|vgg|clip",
    re.IGNORECASE,
)
"""Names of parts that a training often leaves as they are."""


def suggest_unwrapped_block(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to take a model's call out of `with torch.no_grad()`."""
    block = text.parent(node) if isinstance(node, ast.expr) else None
    block = text.parent(block) if isinstance(block, ast.withitem) else block
    if "runs under" not in finding.message or not isinstance(block, ast.With):
        return
    if LOST in finding.message and FROZEN.search(finding.module or ""):
        return
    if len(block.items) == 1 and isinstance(node, ast.expr):
        written = join_lines(text.written(node))
        flags = [cut_lines(text, flag) for flag in _iter_flags_of_losses(text)]
        edits = (cut_head(text, block), *flags)
        yield Fix("fits", f"without `with {written}:`", edits)


def _iter_flags_of_losses(text: SourceText) -> Iterator[ast.stmt]:
    """Yield the statements before a backward pass that make its loss require a
    gradient: `loss.requires_grad = True`, which torch refuses where it has a graph.
    """
    losses = {
        ast.unparse(owner)
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == "backward"
        if (owner := get_receiver(node)) is not None
    }
    for statement in text.nodes:
        target: ast.AST | None = None
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            target = statement.value.func
        if not isinstance(target, ast.Attribute) or target.attr not in FLAGS:
            continue
        if ast.unparse(target.value) in losses and isinstance(statement, ast.stmt):
            yield statement


FLAGS = ("requires_grad", "requires_grad_")


HEADS = re.compile(r"is no layer of .*: its head is `(.+)`")
"""What is said of a head that is set under a name which a model does not have."""


def suggest_true_head(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model.classifier = ...` for `model.fc = ...`."""
    head = HEADS.search(finding.message)
    if head is not None and isinstance(node, ast.Attribute):
        new = re.sub(r"\.(\d+)", r"[\1]", head[1])
        yield Fix("fits", f"`{new} = ...`", (Edit(text.span(node), new),))


def suggest_optimizer_of_new_layer(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to build an optimizer behind the statement that replaces the layer whose
    parameters it holds.
    """
    for related in finding.related:
        place = program.node(related.span) if related.message == REPLACED else None
        if place is None or place[0] is not text or not isinstance(node, ast.expr):
            continue
        built, changed = text.statement_of(node), text.statement_of(place[1])
        yield from suggest_later_statement(text, built, changed)


def suggest_made_data(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest what a generator makes where its loss reads real data."""
    match = re.search(r"nothing in it of `(\w+)`", finding.message)
    if match is not None and isinstance(node, ast.Name):
        yield Fix("fits", f"`{match[1]}`", (Edit(text.span(node), match[1]),))


def suggest_read_result(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x = layer(x)` for `out = layer(x)` where nothing reads `out`, and the
    layers behind it read `x`.
    """
    is_last_only = LAST_ONLY in finding.message
    if UNREAD_RESULT not in finding.message and not is_last_only:
        return
    unpassed = find_unpassed_layers(text, node)
    if unpassed is not None:
        yield build_chained_fix(unpassed)
        return
    statement = text.statement_of(node) if isinstance(node, ast.expr) else None
    scope = text.around(node, *FUNCTIONS)
    if not isinstance(statement, ast.Assign) or not isinstance(node, ast.Call):
        return
    target, read = statement.targets[0], node.args[0] if node.args else None
    if not isinstance(target, ast.Name) or not isinstance(read, ast.Name):
        return
    is_read = any(
        isinstance(call, ast.Call)
        and call.lineno > statement.lineno
        and get_own_attribute(call.func)
        and read.id in map(get_last_name, call.args)
        for call in (ast.walk(scope) if scope is not None else ())
    )
    stores = [
        part
        for part in (ast.walk(scope) if scope is not None else ())
        if isinstance(part, ast.Name) and part.id == target.id
    ]
    if is_read and stores == [target]:
        new = f"{read.id} = {text.written(statement.value)}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(target), read.id),))
