"""Edits for the mistakes of a training: its loop, its optimizer, its evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.module_lists import (
    find_module_list,
    find_own_module,
    suggest_kept_lists,
)
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.optimizer_edits import (
    suggest_kept_model,
    suggest_later_statement,
    suggest_listed_modules,
    suggest_parameter_group,
)
from shapewright.analysis.fixes.statements import (
    cut_lines,
    find_block,
    find_clip_behind,
    replace_lines,
    wrap_in_no_grad,
    write_after,
)
from shapewright.analysis.fixes.warnings.schedule_edits import suggest_added_group
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.graph_keepers import (
    find_keepers,
    is_differentiated,
)
from shapewright.analysis.training_mistakes.undivided_losses import (
    find_accumulating_choice,
    find_count,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    get_called_name,
    get_iterated,
    get_last_line,
)
from shapewright.program.unread_counts import find_unread_counts


def suggest_value(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `loss.item()` for a loss that is kept with its graph."""
    name = finding.message.partition("`")[2].partition("`")[0]
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt):
        return
    value = getattr(statement, "value", None)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    is_own = name in [text.written(target) for target in targets]
    if is_own and isinstance(value, ast.BinOp):
        new = f"({text.written(value)}).detach()"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))
        return
    added = statement.value if isinstance(statement, ast.AugAssign) else None
    is_sum = isinstance(statement, ast.AugAssign) and (
        text.written(statement.target) == name
    )
    if is_sum and isinstance(added, ast.Name | ast.Attribute | ast.Call):
        for method in (".item()", ".detach()"):
            yield append_method(text, added, method)
        return
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and value.args:
        owner, written = get_receiver(value), text.written(value.args[0])
        if (
            owner is not None
            and text.written(owner) == name
            and "turn" in (finding.message)
        ):  # it is written in place
            is_long = isinstance(value.args[0], ast.BinOp)
            new = f"({written}).detach()" if is_long else f"{written}.detach()"
            edit = Edit(text.span(value.args[0]), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))
            return
    uses = [
        name_node
        for name_node in ast.walk(value if value is not None else statement)
        if isinstance(name_node, ast.Name | ast.Attribute)
        and text.written(name_node) == name
        and isinstance(name_node.ctx, ast.Load)
        and not isinstance(text.parent(name_node), ast.Attribute)
    ]
    use: ast.expr | None = uses[-1] if uses else None
    while use is not None and isinstance(text.parent(use), ast.Subscript):
        outer = text.parent(use)
        if not isinstance(outer, ast.Subscript) or outer.value is not use:
            break
        use = outer
    if use is None:
        calls = [call for call in ast.walk(statement) if isinstance(call, ast.Call)]
        use = next((call for call in calls if text.written(call) == name), None)
    others = [*_iter_kept_beside(program, text, statement)] if use is not None else []
    for method in (".item()", ".detach()"):
        if use is not None:
            parts = sorted((use, *others), key=lambda part: part.lineno)
            fixes = [append_method(text, part, method) for part in parts]
            words = [fix.message for fix in fixes]
            edits = tuple(edit for fix in fixes for edit in fix.edits)
            yield Fix("fits", " and ".join(words), edits)


def _iter_kept_beside(
    program: Program, text: SourceText, statement: ast.stmt
) -> Iterator[ast.Name]:
    """Yield the other losses that the same block keeps with their graphs."""
    loop = text.around(statement, *LOOPS)
    block = find_block(text, statement)
    place = (text.file, loop.lineno) if loop is not None else None
    keepers = find_keepers(program, place) if place is not None else ()
    for name, where, kept in keepers:
        if where is not text or kept is statement or kept not in block:
            continue
        value = getattr(kept, "value", None)
        uses = [
            part
            for part in ast.walk(value if isinstance(value, ast.expr) else kept)
            if isinstance(part, ast.Name) and part.id == name
        ]
        if len(uses) == 1 and not is_differentiated(text, kept):
            yield uses[0]


def suggest_own_counts(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the counts of the loop above for those of an earlier one."""
    for unread in find_unread_counts(text, is_main=True):
        if text.span(unread.statement) != finding.span:
            continue
        names = {other: name for name, other in unread.pairs}
        edits = tuple(
            Edit(text.span(name), names[name.id])
            for name in ast.walk(unread.statement)
            if isinstance(name, ast.Name)
            and name.id in names
            and isinstance(name.ctx, ast.Load)
        )
        words = ", ".join(f"`{name}` for `{other}`" for name, other in unread.pairs)
        yield Fix("fits", words, edits)


def suggest_inside_loop(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to indent a sum into the loop above it."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt):
        return
    first, last = statement.lineno, get_last_line(statement)
    rows = [f"    {row}" for row in text.lines[first - 1 : last]]
    message = f"`{join_lines(text.written(statement))}` inside the loop"
    yield Fix("fits", message, (replace_lines(text, statement, "\n".join(rows)),))


def find_owners(text: SourceText, method: str) -> list[str]:
    """Return the names whose method a file calls, schedulers left out."""
    owners = [
        text.written(node.func.value)
        for node in text.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and "sched" not in text.written(node.func.value)
    ]
    return list(dict.fromkeys(owners))


def suggest_last_batch(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `drop_last=True` where a last batch is one sample."""
    for short in program.remainders:
        where = program.text(short.file)
        for call in where.near(short.line) if where is not None else ():
            own = isinstance(call, ast.Call) and get_called_name(call) == short.name
            words = call.keywords if own and isinstance(call, ast.Call) else []
            is_given = any(word.arg == "drop_last" for word in words)
            if (
                own
                and not is_given
                and where is not None
                and isinstance(call, ast.Call)
            ):
                yield with_keyword(where, call, "drop_last=True")


def suggest_registration(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `nn.ModuleList` for a list of layers, or the optimizer after the model is
    whole.
    """
    for related in finding.related:
        for find in (find_module_list, find_own_module):
            fix = find(program, related.span)
            if fix is not None:
                yield fix
        text_and_node = program.node(related.span)
        if text_and_node is None or text_and_node[0].file != text.file:
            continue
        model_statement = text.statement_of(text_and_node[1])
        built = text.statement_of(node) if isinstance(node, ast.expr) else node
        if isinstance(built, ast.stmt):
            yield from suggest_kept_model(text, built, model_statement)
            yield from suggest_later_statement(text, built, model_statement)
    yield from _suggest_other_model(text)
    yield from suggest_added_group(program, finding, text, node)
    yield from suggest_listed_modules(text)
    yield from suggest_parameter_group(finding, text)
    yield from suggest_kept_lists(program)


def _suggest_other_model(text: SourceText) -> Iterator[Fix]:
    """Suggest `generator.parameters()` in the second of two optimizers of the same
    model, where another model beside it has none.
    """
    givers = [
        (call, call.args[0].func.value)
        for call in text.nodes
        if isinstance(call, ast.Call)
        and call.args
        and isinstance(call.args[0], ast.Call)
        and get_called_name(call.args[0]) == "parameters"
        and isinstance(call.args[0].func, ast.Attribute)
    ]
    owners = [text.written(owner) for _, owner in givers]
    models = {
        call.func.id
        for call in text.nodes
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if find_defining(text, call.func.id)
    }
    for at, (_, owner) in enumerate(givers):
        if owners[at] not in owners[:at]:
            continue
        for name in sorted(models - set(owners)):
            built = find_defining(text, name)[-1]
            if isinstance(built, ast.Call):
                edit = Edit(text.span(owner), name)
                yield Fix("fits", f"`{name}.parameters()`", (edit,))


def suggest_each_once(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to give an optimizer each of its parameters once."""
    if not isinstance(node, ast.Call):
        return
    parameters = next((k.value for k in node.keywords if k.arg == "params"), None)
    parameters = node.args[0] if node.args else parameters
    if parameters is None or isinstance(parameters, ast.Starred):
        return
    new = f"list(dict.fromkeys({text.written(parameters)}))"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(parameters), new),))


def suggest_no_grad(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `with torch.no_grad():` around a loop, or a function's call."""
    statement = text.parent(node) if isinstance(node, ast.Call) else None
    around = [*text.outwards(node)]
    loops = [program.node(place.span) for place in finding.related]
    is_elsewhere = all(
        loop is not None and text.parent(loop[1]) not in around for loop in loops
    )
    if isinstance(statement, ast.Expr | ast.Assign) and is_elsewhere:
        edit = wrap_in_no_grad(text, statement)
        if edit is not None:
            yield Fix("fits", "`with torch.no_grad():` around the call", (edit,))
            return
    for loop in text.outwards(node):
        edit = wrap_in_no_grad(text, loop) if isinstance(loop, ast.For) else None
        if edit is not None:
            yield Fix("fits", "`with torch.no_grad():` around the loop", (edit,))
            return


def suggest_flag(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the flag of parameters, or `requires_grad_` of a module."""
    for word in node.keywords if isinstance(node, ast.Call) else ():
        if word.arg == "type" and "`type=bool`" in finding.message:
            new = 'lambda text: text.lower() in ("1", "true", "yes")'
            yield Fix("fits", f"`type={new}`", (Edit(text.span(word.value), new),))
            return
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if "by nothing that trains" in finding.message and isinstance(node, ast.expr):
        name = finding.message.split("`")[1]
        yield Fix("fits", f"`{name}`", (Edit(text.span(node), name),))
        return
    if "to train again" in finding.message and isinstance(statement, ast.stmt):
        shown = f"without `{text.line_of(statement)}`"
        loop = text.parent(statement)
        alone = isinstance(loop, ast.For) and len(loop.body) == 1
        cut = loop if isinstance(loop, ast.For) and alone else statement
        yield Fix("fits", shown, (cut_lines(text, cut),))
        return
    if not isinstance(statement, ast.Assign) or "wrong way" in finding.message:
        return
    target = statement.targets[0]
    if isinstance(target, ast.Attribute):
        owner, value = text.written(target.value), text.written(statement.value)
        if "no step reads" in finding.message:
            indent = " " * statement.col_offset
            key = f'group["{target.attr}"]'
            new = f"for group in {owner}.param_groups:\n{indent}    {key} = {value}"
            shown = f"`{key} = {value}` for each group of `{owner}.param_groups`"
            yield Fix("fits", shown, (Edit(text.span(statement), new),))
            return
        new = f"{owner}.requires_grad = {value}"
        if "of a module" in finding.message:
            new = f"{owner}.requires_grad_({value})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(statement), new),))


def suggest_own_module(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to build a layer in `__init__`."""
    fix = find_own_module(program, finding.span) if finding.span is not None else None
    if fix is not None:
        yield fix


def suggest_order_of_steps(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to step a scheduler after its optimizer: behind the whole loop, or the
    call of a function, in which the optimizer steps beside it.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.stmt):
        return
    step = node if isinstance(node, ast.Call) else None
    choice = find_accumulating_choice(text, step) if step is not None else None
    if choice is not None:
        written = text.written(statement)
        changes = [
            cut_lines(text, statement),
            write_after(text, choice.body[-1], written),
        ]
        words = f"`{written}` below `if {text.line_of(choice.test)}:`"
        fewer = _write_count_of_steps(text, choice)
        if fewer is not None:
            changes.append(fewer)
            words += f", and `{fewer.text}`"
        yield Fix("fits", words, tuple(changes))
        return
    beside: ast.AST | None = statement
    if len(find_block(text, statement)) < 2:
        return  # nothing would be left of its block
    while isinstance(beside, ast.stmt) and not isinstance(beside, (*LOOPS, *FUNCTIONS)):
        for other in find_block(text, beside):
            if other.lineno > beside.lineno and _has_optimizer_step(text, other):
                written = text.written(statement)
                edits = cut_lines(text, statement), write_after(text, other, written)
                shown = text.line_of(other)
                if isinstance(other, LOOPS):
                    words = f"`{written}` behind the loop of `optimizer.step()`"
                else:
                    words = f"`{written}` after `{shown}`"
                yield Fix("fits", words, edits)
                return
        beside = text.parent(beside)


def _write_count_of_steps(text: SourceText, choice: ast.If) -> Edit | None:
    """Return the edit that divides the number of batches, by which a schedule above the
    loop is planned, by the number of batches for a step; None if it is not there once.
    """
    loop, count = text.around(choice, ast.For), find_count(choice.test)
    if loop is None or count is None:
        return None
    loader = text.written(get_iterated(loop.iter))
    scope = text.around(loop, *FUNCTIONS)
    lengths = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call)
        and text.written(node) == f"len({loader})"
        and node.lineno < loop.lineno
        and text.around(node, *FUNCTIONS) is scope
    ]
    divided = [text.parent(node) for node in lengths]
    scaling = (ast.Div, ast.FloorDiv)
    if len(lengths) != 1 or any(
        isinstance(node, ast.BinOp) and isinstance(node.op, scaling) for node in divided
    ):
        return None
    new = f"{text.written(lengths[0])} // {text.written(count)}"
    new = f"({new})" if isinstance(divided[0], ast.BinOp) else new
    return Edit(text.span(lengths[0]), new)


def _has_optimizer_step(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether a statement steps an optimizer, in a function of the program that
    it calls as well.
    """
    calls = [part for part in ast.walk(statement) if isinstance(part, ast.Call)]
    names = {get_called_name(call) for call in calls}
    inside = [
        part
        for _, function in text.functions()
        if function.name in names
        for part in ast.walk(function)
        if isinstance(part, ast.Call)
    ]
    return any(
        get_called_name(call) == "step" and "sched" not in text.written(call.func)
        for call in (*calls, *inside)
    )


def _find_scaler(backward: ast.AST) -> str:
    """Return what scales a loss: `scaler` of `scaler.scale(loss).backward()`, or an
    empty string.
    """
    owners = [
        ast.unparse(node.func.value)
        for node in ast.walk(backward)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "scale"
    ]
    return owners[0] if owners else ""


def suggest_step(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `optimizer.step()` after the backward pass."""
    if "learning rate" in finding.message:
        return
    if "a second time" in finding.message and isinstance(node, ast.Call):
        meant, stepping = finding.message.split("`")[1], get_receiver(node)
        if stepping is not None:
            edit = Edit(text.span(stepping), meant)
            yield Fix("fits", f"`{meant}.step()`", (edit,))
        return
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    owners = find_owners(text, "zero_grad")
    for related in finding.related:
        text_and_node = program.node(related.span)
        built = (
            text_and_node[0].statement_of(text_and_node[1])
            if text_and_node is not None
            else None
        )
        if isinstance(built, ast.Assign):
            owners.append(text.written(built.targets[0]))
    for owner in dict.fromkeys(owners):
        scaler = _find_scaler(statement)
        new = f"{scaler}.step({owner})" if scaler else f"{owner}.step()"
        if isinstance(statement, ast.stmt):
            clip = find_clip_behind(text, statement)
            edit = write_after(text, clip or statement, new)
            where = text.line_of(clip) if clip is not None else ""
            words = f"`{where}`" if where else "the backward pass"
            yield Fix("fits", f"`{new}` after {words}", (edit,))
