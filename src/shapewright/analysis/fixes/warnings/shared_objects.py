"""Edits for objects that stand for others: one layer for several, a model for its copy,
a data set for a part of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import (
    cut_lines,
    find_block,
    write_after,
    write_before,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.model_copies import get_model
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
)


def suggest_own_layers(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `[Layer() for _ in range(n)]` for `[Layer()] * n`."""
    if "is a new list of the same layers" in finding.message:
        source = finding.message.rpartition("deepcopy(")[2].partition(")`")[0]
        for part in ast.walk(node):
            if not isinstance(part, ast.Name | ast.Attribute):
                continue
            if text.written(part) == source:
                new, edits = _write_deep_copy(text, source)
                yield Fix("fits", f"`{new}`", (Edit(text.span(part), new), *edits))
                return
        return
    if not isinstance(node, ast.BinOp):
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield from _suggest_copies(text, node.elt)
        return
    held, count = node.left, node.right
    if not isinstance(held, ast.List | ast.Tuple):
        held, count = count, held
    if not isinstance(held, ast.List | ast.Tuple) or not held.elts:
        return
    if not all(isinstance(element, ast.Call) for element in held.elts):
        copied = [_write_copy(text, element) for element in held.elts]
    else:
        copied = [text.written(element) for element in held.elts]
    if None in copied:
        return
    layers = ", ".join(str(layer) for layer in copied)
    end = f"for _ in range({text.written(count)})"
    new = f"[{layers} {end}]"
    if len(held.elts) > 1:
        new = f"[layer {end} for layer in ({layers})]"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_part(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the part for training in the place of the whole data set, and the rows
    for training of a loss.
    """
    name = finding.message.rpartition("`")[0].rpartition("`")[2]
    if isinstance(node, ast.Name | ast.Attribute):
        words = f"`{name}` for `{text.written(node)}`"
        yield Fix("fits", words, (Edit(text.span(node), name),))
    if not isinstance(node, ast.Call):
        return
    if name.startswith("["):
        edits = [Edit(text.span(argument).end, name) for argument in node.args]
        rows = ", ".join(f"{text.written(argument)}{name}" for argument in node.args)
        new = f"{text.written(node.func)}({rows})"
        yield Fix("fits", f"`{new}`", tuple(edits))
        return
    sets = [word.value for word in node.keywords if word.arg == "dataset"]
    whole = node.args[0] if node.args else sets[0] if sets else None
    if whole is not None and name:
        yield Fix("fits", f"`{name}`", (Edit(text.span(whole), name),))


OWN_WEIGHTS = re.compile(r"`(.+?)` gets its own weights.*those of `(.+?)` were meant")
"""What is said of a copy that is updated with itself."""


def suggest_model_copy(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a copy of a model where a second name of it is assigned, or the weights
    of the other model for its own.
    """
    meant = OWN_WEIGHTS.search(finding.message)
    if meant is not None and isinstance(node, ast.Call):
        copy, model = meant.groups()
        for argument in node.args[-1:]:
            written = text.written(argument)
            if written.startswith(f"{copy}."):
                new = model + written.removeprefix(copy)
                edit = Edit(text.span(argument), new)
                yield Fix("fits", f"`{join_lines(new)}`", (edit,))
        return
    if "nothing is left of the best" in finding.message and isinstance(node, ast.expr):
        yield from _suggest_copies(text, node)
        return
    names = ONE_MODEL.search(finding.message)
    if "from here on" in finding.message and isinstance(node, ast.Assign) and names:
        new = f"{names[1]}.load_state_dict({names[2]}.state_dict())"
        beside = [text.written(row) for row in find_block(text, node)]
        if new in beside:
            shown = f"without `{text.written(node)}`"
            yield Fix("fits", shown, (cut_lines(text, node),))
            return
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
        return
    for related in finding.related:
        place = program.node(related.span)
        if place is not None and isinstance(place[1], ast.Assign):
            yield from _suggest_second_model(place[0], place[1], finding.message)


ONE_MODEL = re.compile(r"`(.+?)` is the same model as `(.+?)`")
"""What is said of two names of one model."""


def _suggest_second_model(
    text: SourceText, assigned: ast.Assign, message: str
) -> Iterator[Fix]:
    """Suggest `copy.deepcopy(model).to(device)` for `model.to(device)`, which is the
    model itself, and for `copy.copy(model)`; a line for each of two names.
    """
    value, names = assigned.value, ONE_MODEL.search(message)
    model = get_model(value)
    written = text.written(value)
    if get_dotted_name(model):
        around = text.parent(model)
        is_copied = isinstance(around, ast.Call) and model in around.args
        place = around if isinstance(around, ast.Call) and is_copied else model
        new, edits = _write_deep_copy(text, text.written(model))
        shown = written.replace(text.written(place), new, 1)
        edits.insert(0, Edit(text.span(place), new))
    elif names is not None and isinstance(value, ast.Call):
        copy, other = names.groups()
        if {copy, other} != {text.written(target) for target in assigned.targets}:
            return
        new, edits = _write_deep_copy(text, other)
        shown = f"{copy} = {new}"
        indent = text.lines[assigned.lineno - 1][: assigned.col_offset]
        rows = f"{other} = {written}\n{indent}{shown}"
        edits.insert(0, Edit(text.span(assigned), rows))
    else:
        return
    yield Fix("fits", f"`{join_lines(shown)}`", tuple(edits))


def suggest_copied_state(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `{k: v.clone() for k, v in model.state_dict().items()}` for a state that
    goes on with its model.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and get_called_name(call) == "state_dict":
            written = text.written(call)
            new = f"{{k: v.clone() for k, v in {written}.items()}}"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))
            return


def suggest_loaded_states(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to load the other states of a checkpoint behind the model's; to save the
    optimizer's, too.
    """
    if "the model alone" in finding.message and isinstance(node, ast.Call):
        yield from _suggest_saved_optimizer(program, finding, text, node)
        return
    statement = node if isinstance(node, ast.stmt) else None
    if isinstance(node, ast.expr):
        statement = text.statement_of(node)
    words = finding.message.split("`")[1::2]
    count = (len(words) - sum("[" in word for word in words)) // 2
    owners = words[:count]
    states = [word for word in words if "[" in word]
    if statement is None or len(owners) != len(states):
        return
    lines = [
        f"{owner}.load_state_dict({state})"
        for owner, state in zip(owners, states, strict=True)
    ]
    new = "; ".join(lines)
    caller = _find_caller(text, statement, owners, states)
    if caller is not None:
        statement, name = caller
        new = new.replace(f"({states[0].partition('[')[0]}[", f"({name}[")
    yield Fix("fits", f"`{new}`", (write_after(text, statement, new),))


def _find_caller(
    text: SourceText, statement: ast.stmt, owners: list[str], states: list[str]
) -> tuple[ast.stmt, str] | None:
    """Return the statement that calls the function which loads a checkpoint and gets
    it back, and the checkpoint's name there, if what is to be loaded is known there
    alone.
    """
    function = text.around(statement, ast.FunctionDef)
    if function is None or not all(owner.isidentifier() for owner in owners):
        return None
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    own |= {argument.arg for argument in function.args.args}
    if own & set(owners):
        return None
    kept = states[0].partition("[")[0]
    returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    values = list(getattr(returns[0], "elts", returns)) if len(returns) == 1 else []
    places = [at for at, value in enumerate(values) if get_last_name(value) == kept]
    for node in text.nodes if places else ():
        if not isinstance(node, ast.Assign) or (
            get_called_name(node.value) != function.name
        ):
            continue
        target = node.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(names) == len(values) and isinstance(names[places[0]], ast.Name):
            return node, text.written(names[places[0]])
    return None


def _suggest_saved_optimizer(
    program: Program, finding: Finding, text: SourceText, load: ast.Call
) -> Iterator[Fix]:
    """Suggest to save a dict of both states, and to load both, where the optimizer is
    an attribute beside the model, or a name of the script.
    """
    optimizer = finding.message.split("`")[1]
    save = program.node(finding.related[0].span)
    statement = text.parent(load)
    if save is None or save[0] is not text or not isinstance(save[1], ast.Call):
        return
    if not isinstance(statement, ast.Expr) or len(load.args) != 1:
        return
    scopes = {text.around(node, ast.ClassDef) for node in (save[1], load)}
    is_own = optimizer.startswith("self.")
    if is_own and (len(scopes) > 1 or None in scopes):
        return
    state, owner = save[1].args[0], get_receiver(load)
    if owner is None:
        return
    kept = f'{{"model": {text.written(state)}, "optimizer": {optimizer}.state_dict()}}'
    indent = "\n" + " " * statement.col_offset
    new = indent.join((
        f"checkpoint = {text.written(load.args[0])}",
        f'{text.written(owner)}.load_state_dict(checkpoint["model"])',
        f'{optimizer}.load_state_dict(checkpoint["optimizer"])',
    ))  # fmt: skip
    edits = Edit(text.span(state), kept), Edit(text.span(statement), new)
    words = f'`"optimizer": {optimizer}.state_dict()` beside the model, loaded with it'
    yield Fix("fits", words, edits)


def suggest_buffers(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to copy the buffers of two models beside their parameters."""
    loop = text.parent(node)
    if not isinstance(loop, ast.For) or not isinstance(node, ast.Call):
        return
    owners = [get_receiver(call) for call in node.args if isinstance(call, ast.Call)]
    names = [text.written(owner) for owner in owners if owner is not None]
    if len(names) == 2 and get_called_name(node) == "zip":
        pairs = f"zip({names[0]}.buffers(), {names[1]}.buffers())"
        new = f"for mean, new in {pairs}: mean.copy_(new)"
        yield Fix("fits", f"`{new}`", (write_after(text, loop, new),))


def _write_copy(text: SourceText, node: ast.expr) -> str | None:
    """Return the expression of a copy, or None if the program does not import one."""
    if isinstance(node, ast.Call):
        return text.written(node)
    new, edits = _write_deep_copy(text, text.written(node))
    return None if edits else new


def _write_deep_copy(text: SourceText, written: str) -> tuple[str, list[Edit]]:
    """Return the expression of a copy, and the edits that import what it needs."""
    for statement in text.nodes:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name == "copy":
                    return f"{alias.asname or 'copy'}.deepcopy({written})", []
        if isinstance(statement, ast.ImportFrom) and statement.module == "copy":
            for alias in statement.names:
                if alias.name == "deepcopy":
                    return f"{alias.asname or alias.name}({written})", []
    imports = [
        node
        for node in text.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        and getattr(node, "module", "") != "__future__"
    ]
    first = min(imports, key=lambda node: node.lineno, default=None)
    edits = [write_before(text, first, "import copy")] if first is not None else []
    return f"copy.deepcopy({written})", edits


def _suggest_copies(text: SourceText, node: ast.expr) -> Iterator[Fix]:
    """Suggest a copy of an object for the object itself."""
    new, edits = text.written(node), list[Edit]()
    if not isinstance(node, ast.Call):
        new, edits = _write_deep_copy(text, new)
    edits.insert(0, Edit(text.span(node), new))
    yield Fix("fits", f"`{join_lines(new)}`", tuple(edits))
