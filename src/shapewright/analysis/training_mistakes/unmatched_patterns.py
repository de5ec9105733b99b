"""Find patterns of what is to be frozen that are compared with the names of modules,
and match the name of a parameter alone, which trains on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from shapewright.analysis.training_mistakes.batch_loops import match_arguments
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import FLAG_WITHOUT_EFFECT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    list_parameters,
)

MATCHING: dict[str, Callable[[str, str], object]] = {
    "match": re.match, "fullmatch": re.fullmatch, "search": re.search,
}  # fmt: skip
FREEZING = re.compile(r"freez|requires_grad(_\(| *= *)\(?False|requires_grad_\(False")
FARTHEST = 4
"""Names that are followed from a test to the text of its pattern."""


def find_unmatched_patterns(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `re.fullmatch(pattern, name)` in a loop over `named_modules()` that freezes,
    where a part of the pattern matches a trained parameter and no module.
    """
    trained = _list_trained(scene)
    names = [state.path for state in scene.program.trace.states]
    modules = {name for path in names for name in _list_owners(path)}
    modules |= {call.path for call in scene.program.trace.calls}
    for text in scene.program.own_texts() if trained else ():
        for loop in text.nodes:
            test = find_name_test(text, loop)
            if test is None:
                continue
            for pattern, is_match in _iter_patterns(text, test):
                missed = [path for path in trained if is_match(_get_own_name(path))]
                if not missed or any(is_match(_get_own_name(m)) for m in modules):
                    continue
                yield build_finding(
                    FLAG_WITHOUT_EFFECT,
                    f"`{pattern}` is compared with the names of modules, and none has"
                    f" one that it matches: the parameter `{missed[0]}`, whose name it"
                    " matches, trains on",
                    text.span(test),
                )


def _list_trained(scene: RehearsalContext) -> list[str]:
    """Return the paths of the parameters that got a gradient."""
    return [
        value.path
        for value in scene.rehearsal.gradients
        if value.kind == "parameter" and value.gradient is not None
    ]


def _list_owners(path: str) -> list[str]:
    """Return the paths of the modules around a parameter."""
    parts = path.split(".")[:-1]
    return [".".join(parts[: at + 1]) for at in range(len(parts))]


def _get_own_name(path: str) -> str:
    """Return a path as its model names it, without the name of the model."""
    first, _, rest = path.partition(".")
    return rest if first[:1].isupper() else path


def find_name_test(text: SourceText, loop: ast.AST) -> ast.expr | None:
    """Return the test of a loop over `named_modules()` that freezes the modules with
    certain names, or None.
    """
    if not isinstance(loop, ast.For) or get_called_name(loop.iter) != "named_modules":
        return None
    target = loop.target
    if not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
        return None
    inner = loop.body[0]
    if len(loop.body) != 1 or not isinstance(inner, ast.If) or inner.orelse:
        return None
    body = " ".join(text.written(statement) for statement in inner.body)
    return inner.test if FREEZING.search(body) else None


def _iter_patterns(
    text: SourceText, test: ast.expr
) -> Iterator[tuple[str, Callable[[str], bool]]]:
    """Yield what a test looks for in a name, alternatives of an expression one by one,
    each with a function that says whether a name has it.
    """
    for part in ast.walk(test):
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            return
        called = get_called_name(part)
        if isinstance(part, ast.Call) and called in MATCHING and len(part.args) == 2:
            for whole in _list_texts(text, part.args[0]):
                for word in _split_alternatives(whole):
                    yield word, _build_match(MATCHING[called], word)
        elif isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In):
            for word in _list_words(text, part, test):
                yield word, _build_match(_is_within, word)


def _is_within(word: str, name: str) -> bool:
    return word in name


def _build_match(
    match: Callable[[str, str], object], word: str
) -> Callable[[str], bool]:
    """Return a function that says whether a name has a word."""

    def is_match(name: str) -> bool:
        return bool(match(word, name))

    return is_match


def _list_words(text: SourceText, test: ast.Compare, whole: ast.expr) -> list[str]:
    """Return the words of `"word" in name`, of `any(w in name for w in words)`."""
    word = test.left
    for part in ast.walk(whole):
        for clause in getattr(part, "generators", ()):
            if ast.unparse(clause.target) == ast.unparse(word):
                return _list_texts(text, clause.iter)
    return _list_texts(text, word) if isinstance(word, ast.Constant) else []


def _list_texts(text: SourceText, node: ast.expr, depth: int = FARTHEST) -> list[str]:
    """Return the texts that an expression stands for, if they are written."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [word for part in node.elts for word in _list_texts(text, part, 0)]
    name = get_last_name(node)
    if not name or depth == 0:
        return []
    values = _list_passed(text, node) if isinstance(node, ast.Name) else None
    values = find_defining(text, name) if values is None else values
    return _list_texts(text, values[0], depth - 1) if len(values) == 1 else []


def _list_passed(text: SourceText, node: ast.Name) -> list[ast.expr] | None:
    """Return what the callers of a function pass for a parameter of it; None for a name
    that is none.
    """
    function = text.around(node, ast.FunctionDef)
    if function is None or node.id not in list_parameters(function):
        return None
    calls = [
        call
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == function.name
    ]
    passed = [match_arguments(function, call).get(node.id) for call in calls]
    return [
        argument
        for call, written in zip(calls, passed, strict=True)
        for argument in (*call.args, *(word.value for word in call.keywords))
        if ast.unparse(argument) == written
    ]


def _split_alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a regular expression outside of its brackets."""
    words, depth = [""], 0
    for sign in pattern:
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and depth == 0:
            words.append("")
        else:
            words[-1] += sign
    try:
        for word in words:
            re.compile(word)
    except re.error:
        return []
    return [word for word in words if word]
