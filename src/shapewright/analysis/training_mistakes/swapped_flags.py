"""Find flags the wrong way round: parameters that a program lists as frozen get a
gradient, and the others none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import FLAG_WITHOUT_EFFECT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
)

FROZEN = re.compile(
    r"(to_|layers_to_)?(frozen|freezed?)(_\w*(s|es|list|set))?|\w+_(frozen|to_freeze)",
    re.IGNORECASE,
)
"""Names of what lists frozen layers: `frozen`, `freeze_layers`, `layers_to_freeze`."""
OTHERS = re.compile(r"un_?fr|(^|_)(not|non|no|thaw\w*)_|thaw|defrost", re.IGNORECASE)
"""Words by which a name, or a function, is of layers that train again."""
FLAG = "requires_grad"


def find_swapped_flags(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `if name in frozen: p.requires_grad = True` with False for the others."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            function = text.around(node, *FUNCTIONS)
            if OTHERS.search(getattr(function, "name", "")):
                continue
            if isinstance(node, ast.If):
                name = _find_list(text, node)
                flags = get_flags(node)
                place = flags[0][0] if flags is not None else None
            elif isinstance(node, ast.Assign):
                side = _read_test(text, node.value)
                is_flag = getattr(node.targets[0], "attr", "") == FLAG
                name = side[0] if side is not None and side[1] and is_flag else ""
                place = node
            else:
                continue
            if name and place is not None:
                message = (
                    f"what `{name}` lists gets a gradient here, and the other"
                    " parameters get none: the flags are the wrong way round"
                )
                yield build_finding(FLAG_WITHOUT_EFFECT, message, text.span(place))


def get_flags(
    node: ast.If,
) -> tuple[tuple[ast.stmt, ast.Constant], tuple[ast.stmt, ast.Constant]] | None:
    """Return the two statements that set a flag in both branches of a condition, and
    their values, if these are opposites.
    """
    first, second = _find_flag(node.body), _find_flag(node.orelse)
    if first is None or second is None or first[0] != second[0]:
        return None
    if {first[2].value, second[2].value} != {True, False}:
        return None
    return (first[1], first[2]), (second[1], second[2])


def _find_flag(
    block: Sequence[ast.stmt],
) -> tuple[str, ast.stmt, ast.Constant] | None:
    """Return what gets a flag in a block, the statement and the value."""
    for statement in block:
        if isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
            owner = target.value if isinstance(target, ast.Attribute) else None
            is_flag = getattr(target, "attr", "") == FLAG
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            is_flag = get_called_name(call) == f"{FLAG}_" and len(call.args) == 1
            owner, value = get_receiver(call), call.args[0] if call.args else call
        else:
            continue
        is_truth = isinstance(value, ast.Constant) and type(value.value) is bool
        if is_flag and owner is not None and is_truth:
            assert isinstance(value, ast.Constant)
            return ast.unparse(owner), statement, value
    return None


def _find_list(text: SourceText, node: ast.If) -> str:
    """Return the list of frozen layers whose parameters get a gradient in one branch of
    a condition, or an empty string.
    """
    flags = get_flags(node)
    if flags is None:
        return ""
    trained = node.body if flags[0][1].value else node.orelse
    for statement in trained:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and get_called_name(call) in ("append", "add"):
            name = get_last_name(get_receiver(call) or call)
            if _is_of_frozen(name):
                return name
    side = _read_test(text, node.test)
    if side is None:
        return ""
    return side[0] if (trained is node.body) == side[1] else ""


def _is_of_frozen(name: str) -> bool:
    """Return whether a name is one of frozen layers."""
    return FROZEN.fullmatch(name) is not None and OTHERS.search(name) is None


def _read_test(text: SourceText, test: ast.expr) -> tuple[str, bool] | None:
    """Return the list of frozen layers that a test looks into, and whether it is true
    of those.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        side = _read_test(text, test.operand)
        return (side[0], not side[1]) if side is not None else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        name = get_last_name(test.comparators[0])
        if isinstance(test.ops[0], ast.In | ast.NotIn) and _is_of_frozen(name):
            return name, isinstance(test.ops[0], ast.In)
    if isinstance(test, ast.Call) and get_called_name(test) == "any" and test.args:
        parts = test.args[0]
        if isinstance(parts, ast.GeneratorExp | ast.ListComp):
            name = get_last_name(parts.generators[0].iter)
            is_plain = isinstance(parts.elt, ast.Compare | ast.Call)
            if isinstance(parts.elt, ast.Compare):
                is_plain = isinstance(parts.elt.ops[0], ast.In | ast.Eq)
            if _is_of_frozen(name) and is_plain and len(parts.generators) == 1:
                return name, True
    if get_called_name(test) == "startswith" and isinstance(test, ast.Call):
        for inner in ast.walk(test.args[0]) if test.args else ():
            if isinstance(inner, ast.Name) and _is_of_frozen(inner.id):
                return inner.id, True
    return None
