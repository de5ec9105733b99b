"""The rows of an embedding that is resized to another number than its tokenizer has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    is_starred,
    iter_assignments,
    iter_own_nodes,
    list_parameters,
)

RESIZING = "resize_token_embeddings"
TOKENIZER = re.compile(r"(\w+_)?(tokenizer|tok)(_\w+)?", re.IGNORECASE)


def suggest_rows_of_tokenizer(program: Program) -> Iterator[Fix]:
    """Suggest `len(tokenizer)` for the number of rows in the program's only call of
    `resize_token_embeddings`.
    """
    calls = [
        (text, node)
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == RESIZING
    ]
    if len(calls) != 1 or is_starred(calls[0][1]):
        return
    text, call = calls[0]
    words = [w.value for w in call.keywords if w.arg == "new_num_tokens"]
    sizes = [*call.args[:1], *words]
    tokenizer = _find_tokenizer(text, call)
    new = f"len({tokenizer})"
    if len(sizes) != 1 or not tokenizer or text.written(sizes[0]) == new:
        return
    edit = Edit(text.span(sizes[0]), new)
    yield Fix("fits", f"`{text.written(call.func)}({new})`", (edit,))


def suggest_resized_embeddings(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `model.resize_token_embeddings(len(tokenizer))` below where a model of a
    library is built, or gets its weights, for a tokenizer that got more tokens.
    """
    layer = program.layer(program.trace.ops[failure.op])
    name = layer.path.partition(".")[0] if layer is not None else ""
    longer = dict(failure.lengths)
    texts = list(program.own_texts())
    if any(_has_rows_of_its_own(text, name) for text in texts):
        return
    for text in texts:
        for target, value in iter_assignments(text.tree):
            model = get_dotted_name(target)
            if not model or not isinstance(value, ast.Call):
                continue
            owner = get_receiver(value)
            of_class = owner is not None and get_last_name(owner) == name
            is_loaded = get_called_name(value) == "from_pretrained" and of_class
            if get_called_name(value) != name and not is_loaded:
                continue
            last = _find_last_load(text, model, text.statement_of(value))
            tokenizer = _find_tokenizer(text, last)
            if tokenizer in longer:
                new = f"{model}.{RESIZING}(len({tokenizer}))"
                yield Fix("fits", f"`{new}`", (write_after(text, last, new),))


def _has_rows_of_its_own(text: SourceText, name: str) -> bool:
    """Return whether a text resizes an embedding already, or defines the class of a
    model, which then has no such method but its own.
    """
    return any(
        (isinstance(node, ast.Call) and get_called_name(node) == RESIZING)
        or (isinstance(node, ast.ClassDef) and node.name == name)
        for node in text.nodes
    )


def _find_last_load(text: SourceText, model: str, built: ast.stmt) -> ast.stmt:
    """Return the last statement that loads weights into a model or a part of it, or the
    one that builds it.
    """
    loads = [
        text.statement_of(node)
        for node in text.nodes
        if isinstance(node, ast.Call)
        and get_called_name(node) == "load_state_dict"
        and get_dotted_name(get_receiver(node)).startswith(model)
        and text.around(node, *FUNCTIONS) is text.around(built, *FUNCTIONS)
    ]
    return max([built, *loads], key=lambda statement: statement.lineno)


def _find_tokenizer(text: SourceText, call: ast.expr | ast.stmt) -> str:
    """Return how a tokenizer is written that is known above a call: what tokens are
    added to there, or a parameter or name that is called so.
    """
    function = text.around(call, *FUNCTIONS)
    names = list_parameters(function)
    added, assigned = list[str](), list[str]()
    for node in iter_own_nodes(function or text.tree):
        if getattr(node, "lineno", call.lineno) >= call.lineno:
            continue
        if isinstance(node, ast.Assign):
            assigned += map(get_dotted_name, node.targets)
        elif get_called_name(node) in ("add_tokens", "add_special_tokens"):
            owner = get_receiver(node) if isinstance(node, ast.Call) else None
            added += [get_dotted_name(owner)] if owner is not None else []
    read = {
        get_dotted_name(node)
        for node in iter_own_nodes(function or text.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        if TOKENIZER.fullmatch(get_last_name(node))
    }
    known = [n for n in (*names, *assigned, *sorted(read)) if n]
    candidates = [n for n in known if TOKENIZER.fullmatch(n.rpartition(".")[2])]
    several = list(dict.fromkeys(name for name in added if name)) or list(
        dict.fromkeys(candidates)
    )
    return several[0] if len(several) == 1 else ""
