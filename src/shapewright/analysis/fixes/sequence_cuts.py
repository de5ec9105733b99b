"""Cuts of sequences that are longer than a model has positions, where a data set makes
tensors of its lists: `torch.tensor(ids[:128])`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

TENSORS = frozenset({"tensor", "LongTensor", "as_tensor"})
PADDING = "pad_sequence"
FROM_END = re.compile(r"\[-\w[\w().]*:\]\s*=")
"""How labels of the last steps are written: `labels[-n:] = ids[-n:]`."""


def suggest_cut_sequences(text: SourceText, limit: int) -> Iterator[Fix]:
    """Suggest to cut the lists of which a data set returns tensors, and what a collate
    function pads.
    """
    limits = _write_limit(text, limit)
    for node in text.nodes:
        if not isinstance(node, ast.Return) or text.around(node, ast.ClassDef) is None:
            continue
        calls = [call for call in ast.walk(node) if _is_of_list(text, call)]
        edits = []
        for call in calls:
            assert isinstance(call, ast.Call)
            at = text.span(call.args[0]).end
            cut = f"[-{limits}:]" if FROM_END.search(text.text) else f"[:{limits}]"
            edits.append(Edit(at, cut))
        if edits:
            first = calls[0]
            assert isinstance(first, ast.Call)
            written = text.written(first)
            shown = f"`{written[:-1]}{edits[0].text})`" if written.endswith(")") else ""
            yield Fix("fits", shown or f"`{edits[0].text}`", tuple(edits))
    padded: dict[object, list[ast.Call]] = {}
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == PADDING:
            words = {word.arg: text.written(word.value) for word in node.keywords}
            if words.get("batch_first") == "True":
                padded.setdefault(text.around(node, *FUNCTIONS), []).append(node)
    for calls_of_function in padded.values():
        edits = [
            Edit(text.span(call).end, f"[:, :{limits}]") for call in calls_of_function
        ]
        shown = f"`{text.line_of(calls_of_function[0])}[:, :{limits}]`"
        yield Fix("fits", shown, tuple(edits))


def _is_of_list(text: SourceText, node: ast.AST) -> bool:
    """Return whether a call makes a tensor of a list that the function grows."""
    if not isinstance(node, ast.Call) or get_called_name(node) not in TENSORS:
        return False
    if not node.args or not isinstance(node.args[0], ast.Name):
        return False
    function = text.around(node, *FUNCTIONS)
    name = node.args[0].id
    return any(
        isinstance(part, ast.Name)
        and part.id == name
        and isinstance(part.ctx, ast.Store)
        and isinstance(
            getattr(text.statement_of(part), "value", None), ast.List | ast.BinOp
        )
        for part in (ast.walk(function) if function is not None else ())
    )


def _write_limit(text: SourceText, limit: int) -> str:
    """Return the name that the script gives a number at its top, or the number."""
    for statement in getattr(text.tree, "body", ()):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        is_same = isinstance(value, ast.Constant) and value.value == limit
        if is_same and isinstance(target, ast.Name):
            return target.id
    return str(limit)
