"""Find lists of the parameters that are to be trained which nothing reads, where an
optimizer gets all parameters of the model.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import FLAG_WITHOUT_EFFECT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_assignments,
)

NAMES = re.compile(r"param", re.IGNORECASE)
CHOSEN = re.compile(r"train|tun|optim|updat|learn|group|head|new", re.IGNORECASE)
"""How lists of the parameters are called of which not all are trained."""
COUNTING = frozenset({"len", "print", "sum"})
OPTIMIZERS = re.compile(r"optim|^(SGD|Adam\w*|RMSprop|LBFGS|Adagrad)$", re.IGNORECASE)


def find_unread_parameters(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `params_to_train` that is counted, beside `SGD(net.parameters())`."""
    for text in scene.program.own_texts():
        for target, value in iter_assignments(text.tree):
            if not isinstance(target, ast.Name) or not _is_list(target.id, value):
                continue
            scope = text.around(target, *FUNCTIONS) or text.tree
            reads = [
                node
                for node in (ast.walk(scope) if scope is not None else ())
                if isinstance(node, ast.Name)
                and node.id == target.id
                and isinstance(node.ctx, ast.Load)
            ]
            if not all(_is_counted(text, read) for read in reads):
                continue
            whole = _find_whole(text, scope, target)
            if whole is not None:
                yield build_finding(
                    FLAG_WITHOUT_EFFECT,
                    f"`{target.id}` is read by nothing that trains: the optimizer gets"
                    f" `{text.line_of(whole)}`, all parameters of the model",
                    text.span(whole),
                    (text.span(target), "the parameters are chosen here"),
                )


def _is_list(name: str, value: ast.expr) -> bool:
    """Return whether a name stands for some of the parameters of a model."""
    is_made = isinstance(value, ast.Call | ast.ListComp | ast.List)
    is_all = get_called_name(value) in ("parameters", "named_parameters")
    return bool(is_made and not is_all and NAMES.search(name) and CHOSEN.search(name))


def _is_counted(text: SourceText, read: ast.Name) -> bool:
    """Return whether a list is only counted or shown."""
    return any(
        isinstance(outer, ast.Call) and get_called_name(outer) in COUNTING
        for outer in text.outwards(read)
    )


def _find_whole(
    text: SourceText, scope: ast.AST | None, target: ast.Name
) -> ast.Call | None:
    """Return the only `model.parameters()` that an optimizer gets in a scope."""
    calls = [
        argument
        for call in (ast.walk(scope) if scope is not None else ())
        if isinstance(call, ast.Call) and OPTIMIZERS.search(get_called_name(call))
        for argument in call.args
        if isinstance(argument, ast.Call)
        and get_called_name(argument) == "parameters"
        and argument.lineno > target.lineno
    ]
    return calls[0] if len(calls) == 1 else None
