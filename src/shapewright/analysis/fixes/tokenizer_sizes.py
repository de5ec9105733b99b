"""The rows of an embedding that is resized to another number than its tokenizer has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    is_starred,
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


def _find_tokenizer(text: SourceText, call: ast.Call) -> str:
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
