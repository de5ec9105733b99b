"""Models that are built otherwise than when they were saved: a layer that `forward`
builds and keeps, which a new model does not have; a part that a flag switches on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import cut_lines, write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.operators.failed_calls import Misloaded
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_own_attribute

BUILDERS = ("__init__", "__new__", "setup", "build")
"""Methods in which a layer may be built."""


def find_late_layer(program: Program, misloaded: Misloaded) -> Explanation | None:
    """Return which keys belong to a layer that `forward` builds, or None."""
    for key in misloaded.unexpected:
        path = key.rpartition(".")[0]
        name = path.rpartition(".")[2]
        for text in program.own_texts() if name else ():
            for node in text.nodes:
                if _is_built_late(text, node, name):
                    assert isinstance(node, ast.Assign)
                    return _explain_late_layer(program, text, node, misloaded, path)
    return None


def _is_built_late(text: SourceText, node: ast.AST, name: str) -> bool:
    """Return whether a statement gives its object a layer of this name in a run."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    target = node.targets[0]
    if get_own_attribute(target) != name or "forward" not in text.text:
        return False
    function = text.around(node, ast.FunctionDef)
    return function is not None and function.name not in BUILDERS


def _explain_late_layer(
    program: Program,
    text: SourceText,
    statement: ast.Assign,
    misloaded: Misloaded,
    path: str,
) -> Explanation:
    written = text.written(statement.targets[0])
    function = text.around(statement, ast.FunctionDef)
    where = function.name if function is not None else "forward"
    message = (
        f"`{written}` is built in `{where}`: a new `{misloaded.class_name}` has no"
        f" `{path}` before its first call, and each call builds another one"
    )
    related = (Related(text.span(statement), f"`{written}` is built here"),)
    fix = _build_in_init(program, text, statement)
    return Explanation(message, related, (fix,) if fix is not None else ())


def _build_in_init(
    program: Program, text: SourceText, statement: ast.Assign
) -> Fix | None:
    """Return the fix that builds a layer in `__init__`, with the sizes of the run."""
    kind = text.around(statement, ast.ClassDef)
    inits = [
        method
        for method in (kind.body if kind is not None else ())
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
    ]
    call = statement.value
    assert isinstance(call, ast.Call)
    span = text.span(call)
    values = next(
        (dict(b.values) for b in program.built.values() if b.span == span), None
    )
    if not inits or values is None:
        return None
    arguments = []
    for place, argument in enumerate(call.args):
        written = _write_value(text, argument, values, list(values)[place : place + 1])
        arguments.append(written)
    for word in call.keywords:
        written = _write_value(text, word.value, values, [word.arg or ""])
        arguments.append(f"{word.arg}={written}")
    new = f"{text.written(statement.targets[0])} = {text.written(call.func)}"
    new += f"({', '.join(arguments)})"
    edits = (write_after(text, inits[0].body[-1], new), cut_lines(text, statement))
    return Fix("fits", f"`{new}` in `__init__`", edits)


def _write_value(
    text: SourceText, argument: ast.expr, values: dict[str, object], names: list[str]
) -> str:
    """Return a constant as it is written, and the number that anything else was."""
    number = values.get(names[0]) if names else None
    if isinstance(argument, ast.Constant) or type(number) is not int:
        return text.written(argument)
    return str(number)


# -- flags -----------------------------------------------------------------------------

OPPOSITES = {True: False, False: True, "True": "False", "False": "True"}
OF_LOOPS = frozenset({
    "shuffle", "drop_last", "strict", "weights_only", "pin_memory", "train", "download",
    "inplace", "bias", "requires_grad", "exist_ok",
})  # fmt: skip
"""Arguments that switch no part of a model on."""
MOST_FLAGS = 4


def suggest_flags(program: Program, span: Span, misloaded: Misloaded) -> Iterator[Fix]:
    """Suggest the opposite of the flags that are given above a load, in the same
    function: the model may have been saved without what one of them switches on.
    """
    text_and_call = program.call_at(span)
    if text_and_call is None or not (misloaded.missing or misloaded.unexpected):
        return  # the layers are those of the model, in another size
    text, load = text_and_call
    scope = text.around(load, ast.FunctionDef) or text.tree
    count = 0
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Constant) or node.lineno >= load.lineno:
            continue
        plain = type(node.value) in (bool, str) and node.value in OPPOSITES
        parent = text.parent(node)
        word = parent.arg if isinstance(parent, ast.keyword) else ""
        if not plain or word in OF_LOOPS or not _is_passed(text, node):
            continue
        count += 1
        if count > MOST_FLAGS:
            return
        new = repr(OPPOSITES[node.value])
        shown = f"{word}={new}" if word else f"{new} for {text.written(node)}"
        yield Fix("fits", f"`{shown}`", (Edit(text.span(node), new),))


def _is_passed(text: SourceText, node: ast.AST) -> bool:
    """Return whether a constant is an argument of a call, perhaps in a list."""
    parent = text.parent(node)
    if isinstance(parent, ast.List | ast.Tuple):
        parent = text.parent(parent)
    return isinstance(parent, ast.Call | ast.keyword)
