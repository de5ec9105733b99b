"""State dicts of pruned models: `weight_orig` and `weight_mask` for `weight`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Misloaded
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name


def find_pruned(misloaded: Misloaded) -> str:
    """Return the last part of a key for which there are `_orig` and `_mask`."""
    for key in misloaded.missing:
        if {f"{key}_orig", f"{key}_mask"} <= {*misloaded.unexpected}:
            return key.rpartition(".")[2]
    return ""


def suggest_lasting_pruning(text: SourceText, name: str) -> Iterator[Fix]:
    """Suggest `prune.remove` for all layers before their model is saved."""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != "state_dict":
            continue
        owner = get_receiver(call)
        statement = text.statement_of(call)
        if owner is None or "load" in text.written(statement):
            continue
        indent = text.lines[statement.lineno - 1][: statement.col_offset]
        rows = [
            f"for layer in {text.written(owner)}.modules():",
            f'{indent}    if hasattr(layer, "{name}_orig"):',
            f'{indent}        torch.nn.utils.prune.remove(layer, "{name}")',
        ]
        edit = write_before(text, statement, "\n".join(rows))
        shown = f'`prune.remove(layer, "{name}")` for all pruned layers before it'
        yield Fix("fits", shown, (edit,))
        return
