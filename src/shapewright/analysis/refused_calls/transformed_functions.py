"""What functions may not do that `torch.func` maps or differentiates: read numbers
inside `vmap`, return several values to `grad`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_own_nodes,
)

READ = re.compile(r"vmap: It looks like you're (?:either|calling|attempting)")
RETURNED = re.compile(r"Expected f\(\*args\) to return a Tensor, got <class '(\w+)'>")
GRADIENTS = ("grad", "grad_and_value")
CONDITIONS = (ast.If, ast.While, ast.IfExp, ast.Assert)


def find_read_in_vmap(program: Program, finding: Finding) -> Explanation | None:
    """Return which number a function inside `vmap` reads, or None."""
    if READ.search(finding.words) is None:
        return None
    place = program.node(finding.span)
    if place is None:
        return None
    text, node = place
    condition = next(
        (
            holder
            for inner, holder in _iter_upwards(text, node)
            if isinstance(holder, CONDITIONS) and inner is holder.test
        ),
        None,
    )
    shown = text.line_of(condition.test if condition is not None else node)
    what = "decides" if condition is not None else "is read as a number"
    instead = (
        "`torch.where(condition, a, b)` takes from both for each sample"
        if condition is not None
        else "kept as a tensor, it is one for each"
    )
    message = (
        f"`{shown}` {what} inside `vmap`, where it stands for all samples at once:"
        f" {instead}"
    )
    related = tuple(
        Related(own.span(call), "the function is mapped here")
        for own in program.own_texts()
        for call in own.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == "vmap"
    )
    return Explanation(message, related[:1])


def _iter_upwards(text: SourceText, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each pair of a node and what holds it, outwards to its statement."""
    holder = text.parent(node)
    while holder is not None:
        yield node, holder
        if isinstance(holder, ast.stmt):
            return
        node, holder = holder, text.parent(holder)


# -- several values -------------------------------------------------------------------


def find_returned_values(program: Program, finding: Finding) -> Explanation | None:
    """Return what a function returns beside what `grad` differentiates, or None."""
    refused = RETURNED.search(finding.words)
    place = program.call_at(finding.span) if refused is not None else None
    if place is None or refused is None:
        return None
    text, call = place
    transform = _find_transform(text, call)
    if transform is None:
        return None
    name = get_called_name(transform)
    function = transform.args[0]
    returned = list(_iter_returned(text, function))
    of = "the function" if isinstance(function, ast.Lambda) else text.written(function)
    of = of if isinstance(function, ast.Lambda) else f"`{of}`"
    message = f"{of} returns a {refused[1]}"
    related = []
    if len(returned) == 1:
        message += f", `{text.line_of(returned[0])}`"
        related = [Related(text.span(returned[0]), "it is returned here")]
    message += f", and `{name}` differentiates a single tensor"
    pairs = [r for r in returned if isinstance(r, ast.Tuple) and len(r.elts) == 2]
    if not pairs or len(pairs) != len(returned) or refused[1] != "tuple":
        return Explanation(message, tuple(related))
    first, second = (text.line_of(part) for part in pairs[0].elts)
    message += (
        f": with `has_aux=True` it differentiates `{first}`, and hands `{second}` on"
    )
    edits = _write_targets(text, call, name)
    fixes = []
    if edits is not None:
        fix = with_keyword(text, transform, "has_aux=True")
        more = "".join(f", and `{edit.text}`" for edit in edits)
        fixes = [Fix("fits", fix.message + more, (*fix.edits, *edits))]
    return Explanation(message, tuple(related), tuple(fixes))


def _find_transform(text: SourceText, call: ast.Call) -> ast.Call | None:
    """Return the call of `grad` that made the function which is called."""
    value: ast.expr = call.func
    if isinstance(value, ast.Name):
        value = find_known_value(text, value)
    for node in ast.walk(value):
        if not isinstance(node, ast.Call) or get_called_name(node) not in GRADIENTS:
            continue
        if "autograd" in get_dotted_name(node.func) or not node.args:
            continue
        if not any(word.arg in ("has_aux", None) for word in node.keywords):
            return node
    return None


def _iter_returned(text: SourceText, function: ast.expr) -> Iterator[ast.expr]:
    """Yield what a function of the same text returns."""
    if isinstance(function, ast.Lambda):
        yield function.body
    elif isinstance(function, ast.Name):
        functions = text.functions(function.id)
        for _, definition in functions if len(functions) == 1 else ():
            for node in iter_own_nodes(definition):
                if isinstance(node, ast.Return) and node.value is not None:
                    yield node.value


def _write_targets(text: SourceText, call: ast.Call, name: str) -> list[Edit] | None:
    """Return the edits of the names that a call sets, for results with what is handed
    on; None where these are not known.
    """
    statement = text.parent(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else []
    if name == "grad":
        if len(parts) == 2:
            return []
        is_one = isinstance(target, ast.Name | ast.Attribute)
        new = f"{join_lines(text.written(target))}, _"
        return [Edit(text.span(target), new)] if is_one else None
    if len(parts) != 2:
        return None
    if isinstance(parts[1], ast.Tuple):
        return [] if len(parts[1].elts) == 2 else None
    return [Edit(text.span(parts[1]), f"({text.written(parts[1])}, _)")]
