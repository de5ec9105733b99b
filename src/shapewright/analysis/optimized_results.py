"""Results of calls that an optimizer gets as if they were parameters: a slice of an
embedding, a parameter that was multiplied by a number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_assignments,
)
from shapewright.record.ops import Fact


def explain_optimized_result(
    program: Program, text: SourceText, parameters: ast.expr | None
) -> Explanation | None:
    """Explain a tensor in an optimizer that is the result of a call."""
    tensors = program.ending.tensors if program.ending is not None else {}
    if parameters is None:
        return None
    causes = []
    for name in dict.fromkeys(_iter_names(parameters)):
        fact = tensors.get(name) or _find_attribute(program, text, name)
        maker = program.producers.get(fact.tensor) if fact is not None else None
        if fact is None or fact.is_leaf or maker is None or maker.span is None:
            continue
        call = program.node(maker.span)
        written = join_lines(call[0].written(call[1])) if call is not None else ""
        shown = f"`{written}`" if 0 < len(written) <= 48 else f"`{maker.name}`"
        message = f"`{name}` is no parameter but the result of {shown}, at line"
        message += f" {maker.span.line}: an optimizer trains leaves only"
        fixes = tuple(_iter_leaf_edits(*call)) if call is not None else ()
        place = Related(maker.span, f"`{name}` is computed here")
        causes.append(Explanation(message, (place,), fixes))
    if not causes:
        return None
    firsts = [cause.fixes[0] for cause in causes if cause.fixes]
    fixes = causes[0].fixes
    if len(firsts) > 1:
        message = " and ".join(fix.message for fix in firsts)
        fixes = (Fix("fits", message, tuple(e for fix in firsts for e in fix.edits)),)
    related = tuple(place for cause in causes for place in cause.related)
    return Explanation(causes[0].message, related, fixes)


def _find_attribute(program: Program, text: SourceText, name: str) -> Fact | None:
    """Return the tensor that a method assigned to an attribute: `self.x = y[1:]`."""
    values = [
        text.span(value)
        for target, value in iter_assignments(text.tree)
        if ast.unparse(target) == name
    ]
    for op in reversed(program.trace.ops):
        if op.span in values and op.outputs:
            return op.outputs[0]
    return None


def _iter_names(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names in an expression."""
    for name_node in ast.walk(node):
        if isinstance(name_node, ast.Name | ast.Attribute) and get_dotted_name(
            name_node
        ):
            yield get_dotted_name(name_node)


def _iter_leaf_edits(text: SourceText, node: ast.AST) -> Iterator[Fix]:
    """Yield edits that compute first and ask for a gradient last."""
    if not isinstance(node, ast.expr):
        return
    written = text.written(node)
    inner = node
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
        owner = inner.func.value
        if isinstance(owner, ast.Call) and get_called_name(owner) == "Parameter":
            tail = text.span(owner).end.until(text.span(node))
            argument = text.written(owner.args[0]) if owner.args else ""
            new = f"{text.written(owner.func)}({argument}{text.at(tail)})"
            yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
            return
        inner = owner
    for call in ast.walk(node):
        words = call.keywords if isinstance(call, ast.Call) else []
        for word in words:
            if word.arg == "requires_grad" and isinstance(call, ast.Call):
                bare = _drop_keyword(text, call, word)
                changed = written.replace(text.written(call), bare)
                tight = isinstance(node, ast.Call | ast.Name)
                new = f"{changed if tight else f'({changed})'}.requires_grad_()"
                yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
                return
    asked = text.text.count(".requires_grad_(") + text.text.count(".requires_grad =")
    tight = isinstance(node, ast.Call | ast.Name | ast.Subscript | ast.Attribute)
    new = f"{written if tight else f'({written})'}.detach().clone()"
    new += "" if asked else ".requires_grad_()"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _drop_keyword(text: SourceText, call: ast.Call, word: ast.keyword) -> str:
    """Return the text of a call without one of its keywords."""
    kept = [text.written(argument) for argument in call.args]
    kept += [
        f"{keyword.arg}={text.written(keyword.value)}"
        for keyword in call.keywords
        if keyword is not word
    ]
    return f"{text.written(call.func)}({', '.join(kept)})"
