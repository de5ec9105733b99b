"""Methods that a class of the program has under another name:
`model.contrastive_loss(a, b)` where it has `l2l_loss`, which a line beside calls.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import Function, SourceText
from shapewright.program.syntax_nodes import FUNCTIONS

NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
PLAIN = frozenset({"forward", "call", "get", "set", "compute", "self"})
"""Words of names that say nothing of what a method is for."""


def find_other_method(program: Program, finding: Finding) -> Explanation | None:
    """Return which method of an own class was meant by a call of one that it does not
    have, or None.
    """
    missing = NO_ATTRIBUTE.search(finding.words)
    place = program.node(finding.span)
    if missing is None or place is None:
        return None
    text, node = place
    kind, name = missing[1], missing[2]
    call = next(
        (
            part
            for part in ast.walk(text.statement_of(node))
            if isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr == name
        ),
        None,
    )
    methods = _list_methods(program, kind)
    if call is None or not methods or name in methods:
        return None
    assert isinstance(call.func, ast.Attribute)
    owner = text.line_of(call.func.value)
    beside = _find_same_call(text, call, methods)
    related: tuple[Related, ...] = ()
    if beside is not None:
        assert isinstance(beside.func, ast.Attribute)
        meant = beside.func.attr
        why = f", which line {beside.lineno} calls with the same arguments"
        related = (Related(text.span(beside), "the same arguments are used here"),)
    else:
        alike = [
            other
            for other, method in methods.items()
            if _is_alike(name, other) and _has_room_for(method, call)
        ]
        if len(alike) != 1:
            return None
        meant, why = alike[0], ""
    message = f"`{kind}` has no `{name}`: it has `{meant}`{why}"
    span = text.span(call.func)
    start = text.span(call.func.value).end
    edit = Edit(start.until(span.end), f".{meant}")
    fix = Fix("fits", f"`{owner}.{meant}`", (edit,))
    return Explanation(message, related, (fix,))


def _list_methods(program: Program, kind: str) -> dict[str, Function]:
    """Return the methods that the program's text writes for a class."""
    return {
        method.name: method
        for text in program.own_texts()
        for _, definition in text.definitions(kind)
        if isinstance(definition, ast.ClassDef)
        for method in definition.body
        if isinstance(method, Function) and not method.name.startswith("__")
    }


def _find_same_call(
    text: SourceText, call: ast.Call, methods: dict[str, Function]
) -> ast.Call | None:
    """Return a call of another method, in the same function, of the same object with
    the same arguments.
    """
    scope = text.around(call, *FUNCTIONS)
    like = _write_arguments(call)
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    for node in text.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node is call or node.func.attr not in methods or not node.args:
            continue
        is_same = ast.unparse(node.func.value) == owner
        if is_same and _write_arguments(node) == like:
            return node if text.around(node, *FUNCTIONS) is scope else None
    return None


def _write_arguments(call: ast.Call) -> list[str]:
    return [ast.unparse(part) for part in (*call.args, *call.keywords)]


def _is_alike(name: str, other: str) -> bool:
    """Return whether two names share a word that says what they are for."""
    own = {word for word in name.lower().split("_") if len(word) > 2} - PLAIN
    return bool(own & set(other.lower().split("_")))


def _has_room_for(method: Function, call: ast.Call) -> bool:
    """Return whether a method can be called with the arguments of a call."""
    arguments = [argument.arg for argument in method.args.args[1:]]
    required = len(arguments) - len(method.args.defaults)
    names = [word.arg for word in call.keywords]
    count = len(call.args) + len(names)
    is_known = all(word is None or word in arguments for word in names)
    return required <= count <= len(arguments) and is_known
