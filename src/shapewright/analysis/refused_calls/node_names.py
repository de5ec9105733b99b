"""Names of layers that a model does not have: `create_feature_extractor` of a node that
is spelled otherwise.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText

REFUSED = re.compile(r"node: '([\w.]+)' is not present in model")
MEANT = re.compile(r"Did you mean: '([\w.]+)'\?")


def find_node_name(program: Program, finding: Finding) -> Explanation | None:
    """Return the layer that a name of no layer may mean, or None."""
    refused = REFUSED.search(finding.words)
    if refused is None:
        return None
    name = refused[1]
    nearest = MEANT.findall(finding.words)[:1]
    places = [
        (text, node)
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Constant) and node.value == name
    ]
    message = f"the model has no layer `{name}`"
    message += f": `{nearest[0]}` is one" if nearest else ""
    first = next((p for p in places if _is_named(*p)), None)
    if not nearest or first is None:
        return Explanation(message)
    is_key = isinstance(first[0].parent(first[1]), ast.Dict)
    edits = [
        Edit(text.span(node), _write_like(text, node, nearest[0]))
        for text, node in ([first] if is_key else places)
    ]
    shown = f"`{edits[0].text}` for `{first[0].written(first[1])}`"
    return Explanation(message, (), (Fix("fits", shown, tuple(edits)),))


def _is_named(text: SourceText, node: ast.Constant) -> bool:
    """Return whether a text is a key of a dict, or an item of a list."""
    holder = text.parent(node)
    if isinstance(holder, ast.Dict):
        return node in holder.keys
    return isinstance(holder, ast.List | ast.Tuple)


def _write_like(text: SourceText, node: ast.Constant, new: str) -> str:
    """Return a text in the quotes of another one."""
    quote = text.written(node)[:1]
    return f"{quote}{new}{quote}"
