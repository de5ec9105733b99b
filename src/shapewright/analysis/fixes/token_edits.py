"""Tokens that are added to a tokenizer, and not to the embedding of its model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

ADDING = ("add_tokens", "add_special_tokens")
"""Methods of tokenizers that give more ids than the vocabulary has."""
RESIZING = "resize_token_embeddings"


def suggest_resized_embedding(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `model.resize_token_embeddings(len(tokenizer))` behind the line that adds
    tokens, where an embedding reads beyond its rows.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    layer = program.layer(op)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or layer is None:
        return
    root, *inner = layer.path.split(".")
    built = program.built.get(root)
    text_and_call = program.call_at(built.span) if built is not None else None
    if text_and_call is None:
        return
    text, call = text_and_call
    statement = text.statement_of(call)
    resized = any(get_called_name(node) == RESIZING for node in text.nodes
                  if isinstance(node, ast.Call))  # fmt: skip
    if not isinstance(statement, ast.Assign) or resized:
        return
    names = [node for node in statement.targets if isinstance(node, ast.Name)]
    adding = _find_adding(text, statement)
    if adding is None or not names:
        return
    tokenizer, by = adding
    last = max(statement, by, key=lambda node: node.lineno)
    for count in range(len(inner)):
        model = ".".join([names[0].id, *inner[:count]])
        new = f"{model}.{RESIZING}(len({tokenizer}))"
        yield Fix("fits", f"`{new}`", (write_after(text, last, new),))


def _find_adding(text: SourceText, beside: ast.stmt) -> tuple[str, ast.stmt] | None:
    """Return the name of a tokenizer that is given more tokens, and the statement that
    does it among those of another statement.
    """
    block = getattr(text.parent(beside), "body", [])
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) not in ADDING:
            continue
        func = node.func
        statement = text.statement_of(node)
        if isinstance(func, ast.Attribute) and statement in block:
            return text.written(func.value), statement
    return None
