"""Names of functions that a program has given to something else: `loss = loss(out, y)`,
of which the second call fails, and `sum = 0` beside Python's `sum`.
"""

from __future__ import annotations

import ast
import builtins
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import FUNCTIONS, iter_assignments

NOT_CALLABLE = re.compile(r"'([\w.]+)' object is not callable")
OTHERS = {"loss": "criterion"}
"""What people call a function whose result has its name."""


def find_hidden_function(program: Program, finding: Finding) -> Explanation | None:
    """Return that a name stands for another object than the function that is called."""
    refused = NOT_CALLABLE.search(finding.words)
    place = program.node(finding.span)
    if refused is None or place is None:
        return None
    text, node = place
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        name = call.func.id
        scope = text.around(call, *FUNCTIONS) or text.tree
        statements = [
            (text.statement_of(target), value)
            for target, value in iter_assignments(scope)
            if isinstance(target, ast.Name) and target.id == name
        ]
        results = [
            statement
            for statement, value in statements
            if any(_is_call_of(part, name) for part in ast.walk(value))
        ]
        if results:
            return _explain_result(text, name, refused[1], results[0])
        if hasattr(builtins, name) and statements:
            return _explain_builtin(text, name, refused[1], scope, statements[-1][0])
    return None


def _is_call_of(node: ast.AST, name: str) -> bool:
    """Return whether a node is a call of a name."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == name
    )


def _explain_result(
    text: SourceText, name: str, kind: str, statement: ast.stmt
) -> Explanation:
    """Explain a result that is given the name of the function that computed it."""
    message = (
        f"`{name}` is a `{kind}` since line {statement.lineno}: the result was given"
        " the name of the function, which the next call needs"
    )
    related = (Related(text.span(statement), "the result takes the name here"),)
    other = OTHERS.get(name, f"{name}_fn")
    taken = any(isinstance(n, ast.Name) and n.id == other for n in text.nodes)
    other = f"{name}_fn" if taken else other
    spans = [
        text.span(node.func)
        for node in text.nodes
        if isinstance(node, ast.Call) and _is_call_of(node, name)
    ]
    defined = _find_definition(text, name)
    if defined is None:
        return Explanation(message, related)
    edits = tuple(Edit(span, other) for span in (defined, *spans))
    fix = Fix("fits", f"`{other}` for the function", edits)
    return Explanation(message, related, (fix,))


def _find_definition(text: SourceText, name: str) -> Span | None:
    """Return the span of a name where the function is defined, or None."""
    for target, value in iter_assignments(text.tree):
        is_result = any(_is_call_of(part, name) for part in ast.walk(value))
        if isinstance(target, ast.Name) and target.id == name and not is_result:
            return text.span(target)
    return next((get_name_span(text, f) for _, f in text.functions(name)), None)


def get_name_span(
    text: SourceText, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Span:
    """Return the span of a function's name where it is defined."""
    line = text.lines[function.lineno - 1]
    column = line.index(function.name, line.index("def") + 3) + 1
    return Span(
        text.file,
        function.lineno,
        column,
        function.lineno,
        column + len(function.name),
    )


def _explain_builtin(
    text: SourceText, name: str, kind: str, scope: ast.AST | None, statement: ast.stmt
) -> Explanation:
    """Explain a variable that hides a function of Python."""
    message = (
        f"`{name}` is a `{kind}` since line {statement.lineno}, which hides Python's"
        f" `{name}`"
    )
    related = (Related(text.span(statement), "the name is taken here"),)
    other = f"{name}_value"
    called = {
        id(node.func)
        for node in text.nodes
        if isinstance(node, ast.Call) and _is_call_of(node, name)
    }
    edits = tuple(
        Edit(text.span(node), other)
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.Name) and node.id == name and id(node) not in called
    )
    return Explanation(message, related, (Fix("fits", f"`{other}`", edits),))
