"""Why `x.grad` is None: of a result, of a weight that was bound anew, before a pass."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.python_error_values import FileValues
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, find_uncalled, get_dotted_name


def explain_missing_gradient(values: FileValues, node: ast.AST) -> Explanation | None:
    """Explain `x.grad` that is None."""
    owner = _find_gradient_owner(node) or _find_named_gradient(values.text, node)
    if owner is None:
        return None
    name, text = values.written(owner), values.text
    fact = values.tensor(owner)
    maker = None
    if fact is not None:
        makers = [
            op
            for op in values.program.trace.ops
            if any(out.tensor == fact.tensor for out in op.outputs)
        ]
        maker = makers[-1] if makers else None
    rebound = _explain_rebound(text, owner, name)
    if rebound is not None and (fact is None or not fact.requires_grad):
        return rebound
    if fact is None:
        return _explain_kept(text, name)
    if not fact.requires_grad:
        return None
    if fact.is_leaf:
        message = f"`{name}.grad` is None: no backward pass has reached `{name}`"
        uncalled = find_uncalled(text.tree, "backward")
        if uncalled is None:
            return Explanation(message, (), ())
        words = f"`{text.written(uncalled)}` without parentheses calls nothing"
        span = text.span(uncalled)
        fix = Fix("fits", f"`{text.written(uncalled)}()`", (Edit(span.end, "()"),))
        return Explanation(f"{message}: {words}", (Related(span, "here"),), (fix,))
    call = values.program.node(maker.span) if maker is not None else None
    written = join_lines(call[0].written(call[1])) if call is not None else ""
    shown = f"`{written}`" if 0 < len(written) <= 48 else "a call"
    message = (
        f"`{name}.grad` is None: `{name}` is the result of {shown}, and torch keeps"
    )
    message += " the gradients of leaves only"
    related: tuple[Related, ...] = ()
    fixes: list[Fix] = []
    if call is not None and maker is not None and maker.span is not None:
        related = (Related(maker.span, f"`{name}` is computed here"),)
        statement = call[0].statement_of(call[1])
        where = statement if call[0].file == text.file else None
        if isinstance(where, ast.Assign):
            new = f"{name}.retain_grad()"
            fixes.append(Fix("fits", f"`{new}`", (write_after(text, where, new),)))
    for statement in _iter_kept(text, name):
        new = f"{name}.retain_grad()"
        fixes.append(Fix("fits", f"`{new}`", (write_after(text, statement, new),)))
    use = _find_use(text, owner)
    if use is not None:
        new = f"{name}.retain_grad()"
        fixes.append(Fix("fits", f"`{new}`", (write_after(text, use, new),)))
    return Explanation(message, related, tuple(fixes))


def _explain_kept(text: SourceText, name: str) -> Explanation | None:
    """Explain the gradient of a tensor that a hook keeps as an attribute."""
    kept = list(_iter_kept(text, name))
    if not kept:
        return None
    message = (
        f"`{name}.grad` is None: `{name}` is the result of a layer, and torch keeps the"
        " gradients of leaves only"
    )
    new = f"{name}.retain_grad()"
    fixes = [Fix("fits", f"`{new}`", (write_after(text, at, new),)) for at in kept]
    places = tuple(Related(text.span(at), f"`{name}` is kept here") for at in kept)
    return Explanation(message, places, tuple(fixes))


def _iter_kept(text: SourceText, name: str) -> Iterator[ast.Assign]:
    """Yield the statements of other functions that keep a tensor as an attribute, as a
    hook does: `self.activations = output`.
    """
    for node in text.nodes:
        if isinstance(node, ast.Assign) and name.startswith("self."):
            target = node.targets[0]
            if text.written(target) == name and isinstance(node.value, ast.Name):
                yield node


def _explain_rebound(
    text: SourceText, owner: ast.expr, name: str
) -> Explanation | None:
    """Explain a weight that `w = w - lr * w.grad` has put a new tensor in place of."""
    block = getattr(text.parent(text.statement_of(owner)), "body", [])
    bodies = [outer.body for outer in block if isinstance(outer, ast.With)]
    steps = [
        statement
        for statement in itertools.chain(block, *bodies)
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.BinOp)
        and isinstance(statement.value.op, ast.Sub)
        and text.written(statement.value.left) == text.written(statement.targets[0])
        and f"{text.written(statement.targets[0])}.grad"
        in text.written(statement.value.right)
    ]
    own = [step for step in steps if text.written(step.targets[0]) == name]
    if not own:
        return None
    written = text.line_of(own[0])
    message = (
        f"`{name}.grad` is None: `{written}` made a new tensor, which has no gradient,"
        f" and gave it the name `{name}`"
    )
    related = (Related(text.span(own[0]), "the new tensor is made here"),)
    edits = [
        Edit(
            text.span(step),
            f"{text.written(step.targets[0])} -= {text.written(step.value.right)}",
        )
        for step in steps
        if isinstance(step.value, ast.BinOp)
    ]
    shown = " and ".join(f"`{edit.text}`" for edit in edits)
    fix = Fix("fits", shown, tuple(edits))
    return Explanation(message, related, (fix,))


def _find_gradient_owner(node: ast.AST) -> ast.expr | None:
    """Return `x` of the first `x.grad` in an expression."""
    for expression in ast.walk(node):
        if isinstance(expression, ast.Attribute) and expression.attr == "grad":
            return expression.value
    return None


def _find_named_gradient(text: SourceText, node: ast.AST) -> ast.expr | None:
    """Return `x` where a name in an expression was given `x.grad`."""
    for part in ast.walk(node):
        for value in find_defining(text, part.id) if isinstance(part, ast.Name) else ():
            if isinstance(value, ast.Attribute) and value.attr == "grad":
                return value.value
    return None


def _find_use(text: SourceText, owner: ast.expr) -> ast.stmt | None:
    """Return the last statement that assigns what an expression stands for, of its own
    function if there is one.
    """
    name = get_dotted_name(owner)
    base = owner.value if isinstance(owner, ast.Subscript) else None
    name = name or (get_dotted_name(base) if base is not None else "")
    places: list[tuple[bool, int, ast.Assign]] = []
    scope = text.around(owner, *FUNCTIONS)
    for node in text.nodes:
        if isinstance(node, ast.Assign) and node.lineno < owner.lineno:
            for target in node.targets:
                names = [get_dotted_name(part) for part in ast.walk(target)
                         if isinstance(part, ast.Name | ast.Attribute)]  # fmt: skip
                if name and name in names:
                    is_own = text.around(node, *FUNCTIONS) is scope
                    places.append((is_own, node.lineno, node))
    return max(places, key=lambda place: place[:2])[2] if places else None
