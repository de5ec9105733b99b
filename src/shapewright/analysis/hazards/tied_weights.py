"""Find weights that are copied once where the program says that they are tied.

A copy is right as an initialization, and for target networks. So the text must speak of
tied or shared weights where it copies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import WEIGHTS_NOT_TIED, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    get_own_attribute,
)

TIED = re.compile(
    r"(?<![a-z])(?:tie|tied|ties|tying)(?![a-z])|weight_?sharing"
    r"|share_?(?:d_)?(?:weight|embed)",
    re.IGNORECASE,
)
WRITES = frozenset({"copy_", "load_state_dict"})
COPIES = frozenset({"clone", "deepcopy"})


@looks_for(WEIGHTS_NOT_TIED)
def find_copied_weights(scene: HazardContext) -> Iterator[Finding]:
    """Find copies of a weight to another under a name that says they are tied."""
    seen: set[object] = set()
    yield from _find_copied_layers(scene)
    for op in scene.program.trace.ops:
        name = op.name.rpartition(".")[2]
        if name not in WRITES | COPIES or op.span is None or op.span in seen:
            continue
        place = scene.program.node(op.span)
        if place is None:
            continue
        seen.add(op.span)
        text, node = place
        statement = text.statement_of(node)
        pair = find_copied_pair(statement)
        if pair is None or not _is_named_tied(text, statement):
            continue
        copy, source = (text.line_of(side) for side in pair)
        if copy == source or _is_tied_elsewhere(text, statement):
            continue
        whole = "stays a parameter of its" if copy.endswith("weight") else "keeps its"
        message = (
            f"`{copy}` gets the values of `{source}` once and {whole} own"
            f"{'' if copy.endswith('weight') else ' weights'}: the two are not tied,"
            " and training moves them apart"
        )
        yield scene.finding(WEIGHTS_NOT_TIED, op, message)


def _find_copied_layers(scene: HazardContext) -> Iterator[Finding]:
    """Yield the findings for whole layers that are copied under such a name, by
    `vector_to_parameters(...)`.
    """
    for text in scene.program.own_texts():
        for node in text.nodes:
            value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
            if not isinstance(value, ast.Call) or len(value.args) != 2:
                continue
            if get_called_name(value) != "vector_to_parameters":
                continue
            statement = text.statement_of(value)
            is_own = all("self." in text.line_of(part) for part in value.args)
            if not is_own or not _is_named_tied(text, statement):
                continue
            yield Finding(
                WEIGHTS_NOT_TIED,
                "warning",
                "these layers get equal weights once and keep their own: the two are"
                " not tied, and training moves them apart",
                text.span(statement),
            )


def find_copied_pair(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return both weights of `a.weight.copy_(b.weight)` and of
    `a.weight = nn.Parameter(b.weight.clone())`.
    """
    target: ast.expr | None = None
    source: ast.expr | None = None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = get_called_name(statement.value)
        if called in WRITES and statement.value.args:
            target, source = get_receiver(statement.value), statement.value.args[0]
        if called == "load_state_dict" and source is not None:
            other = get_receiver(source) if isinstance(source, ast.Call) else None
            both = target is not None and get_called_name(source) == "state_dict"
            return (target, other) if target and other and both else None
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, source = statement.targets[0], statement.value
        if not any(get_called_name(node) in COPIES for node in ast.walk(source)):
            return None
    if target is None or source is None:
        return None
    if get_called_name(source) == "deepcopy" and isinstance(source, ast.Call):
        layers = target, next(iter(source.args), None)
        if all(get_own_attribute(layer) for layer in layers):
            return layers[0], layers[1]  # type: ignore[return-value]
    first, second = _get_weight(target), _get_weight(source)
    return (first, second) if first is not None and second is not None else None


def _get_weight(node: ast.expr) -> ast.expr | None:
    """Return `a.weight` of `nn.Parameter(a.weight.data.clone())`, or None."""
    for _ in range(6):
        if isinstance(node, ast.Call):
            receiver = get_receiver(node)
            if get_called_name(node) in ("Parameter", "deepcopy") and node.args:
                node = node.args[0]
            elif receiver is not None:
                node = receiver
            else:
                return None
        elif get_last_name(node) == "data" and isinstance(node, ast.Attribute):
            node = node.value
        else:
            break
    named = isinstance(node, ast.Attribute) and node.attr.endswith("weight")
    return node if named else None


def _is_named_tied(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether a condition or function around a statement speaks of tying."""
    before = text.lines[statement.lineno - 2] if statement.lineno > 1 else ""
    words = [text.lines[statement.lineno - 1].partition("#")[2]]
    words += [before.partition("#")[2]]
    inner: ast.AST = statement
    for outer in text.outwards(statement):
        if isinstance(outer, ast.If):
            kinds = {type(node) for node in ast.walk(outer.test)}
            if ast.Not in kinds or inner in outer.orelse:
                return False
            words.append(text.written(outer.test))
        elif isinstance(outer, ast.FunctionDef):
            words.append(outer.name)
            break
        inner = outer
    return any(TIED.search(word) for word in words)


def _is_tied_elsewhere(text: SourceText, statement: ast.stmt) -> bool:
    """Return whether the class also makes two weights one parameter."""
    scope = text.around(statement, ast.ClassDef)
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            ends = [get_last_name(side) for side in (node.targets[0], node.value)]
            if all(end.endswith("weight") for end in ends):
                return True
    return False
