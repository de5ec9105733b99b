"""Parts that a checkpoint computes again in a backward pass of its own: the reentrant
kind keeps no graph for inputs without one, and gives no gradients to `autograd.grad`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

INCOMPATIBLE = "checkpoint is incompatible with .grad()"
CHECKPOINTS = ("checkpoint", "checkpoint_sequential")
FLAG = "use_reentrant"
SHOWN = f"`{FLAG}=False`"


def find_reentrant_checkpoint(program: Program, finding: Finding) -> Explanation | None:
    """Return which checkpoints meet `torch.autograd.grad`, or None."""
    if INCOMPATIBLE not in finding.words:
        return None
    message = (
        "a checkpoint with `use_reentrant=True` computes its part again in a backward"
        " pass of its own, which `torch.autograd.grad` cannot follow: with"
        f" {SHOWN} it can"
    )
    places = list(_iter_reentrant(program))
    related = tuple(
        Related(span, "the part is checkpointed here") for span, _ in places
    )
    return Explanation(message, related, tuple(suggest_other_kind(program)))


def suggest_other_kind(program: Program) -> Iterator[Fix]:
    """Suggest `use_reentrant=False` for all checkpoints of the reentrant kind."""
    edits = tuple(edit for _, edit in _iter_reentrant(program))
    if edits:
        yield Fix("fits", SHOWN, edits)


def _iter_reentrant(program: Program) -> Iterator[tuple[Span, Edit]]:
    """Yield the checkpoints of the reentrant kind, and the edit of each."""
    for text in program.own_texts():
        if "checkpoint" not in text.text:
            continue
        for node in text.nodes:
            edit = _find_edit(text, node)
            if edit is not None and isinstance(node, ast.Call | ast.Dict):
                yield text.span(node), edit


def _find_edit(text: SourceText, node: ast.AST) -> Edit | None:
    """Return the edit that makes a checkpoint one of the other kind, or None."""
    if isinstance(node, ast.Dict):  # of `gradient_checkpointing_kwargs`
        pairs = [
            (getattr(key, "value", None), value)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    elif isinstance(node, ast.Call):
        pairs = [(word.arg, word.value) for word in node.keywords]
    else:
        return None
    for name, value in pairs:
        if name == FLAG:
            is_on = isinstance(value, ast.Constant) and value.value in (True, None)
            return Edit(text.span(value), "False") if is_on else None
    if not isinstance(node, ast.Call) or any(name is None for name, _ in pairs):
        return None
    if get_called_name(node) not in CHECKPOINTS or len(node.args) < 1:
        return None
    if not _is_of_torch(text, node):
        return None
    last = max(
        (*node.args, *(value for _, value in pairs)),
        key=lambda value: (value.end_lineno or 0, value.end_col_offset or 0),
    )
    return Edit(text.span(last).end, f", {FLAG}=False")


def _is_of_torch(text: SourceText, call: ast.Call) -> bool:
    """Return whether a checkpoint is that of torch, as the imports say."""
    called = text.written(call.func)
    if "utils.checkpoint" in called:
        return True
    for node in text.nodes:
        if isinstance(node, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
            if node.module == "torch.utils.checkpoint" and called in names:
                return True
            owner = called.rpartition(".")[0]
            if node.module == "torch.utils" and owner and owner in names:
                return True
        for alias in node.names if isinstance(node, ast.Import) else ():
            is_renamed = alias.name == "torch.utils.checkpoint" and alias.asname
            if is_renamed and called.startswith(f"{alias.asname}."):
                return True
    return False


def find_checkpoint_of(program: Program, op: Op) -> tuple[SourceText, ast.Call] | None:
    """Return the reentrant checkpoint during which a call ran, or None."""
    for frame in op.frames:
        place = program.node(frame.span)
        if place is None:
            continue
        text, node = place
        for part in ast.walk(node):
            is_checkpoint = get_called_name(part) in CHECKPOINTS
            if is_checkpoint and _find_edit(text, part) is not None:
                assert isinstance(part, ast.Call)
                return text, part
    return None
