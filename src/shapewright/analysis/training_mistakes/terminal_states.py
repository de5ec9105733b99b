"""Find targets of value learning that go on behind the end of an episode: the flag that
says so is sampled, and nothing reads it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import TERMINAL_IGNORED, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import Function, SourceText

ENDED = re.compile(
    r"(batch_|b_)?(dones?|terminals?|terminated|terminations?)(_batch|_b)?"
)
DISCOUNT = re.compile(r"gamma|discount", re.IGNORECASE)


@looks_for(TERMINAL_IGNORED)
def find_ignored_ends(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `reward + gamma * next_value` beside a flag that nothing reads."""
    for text in scene.program.own_texts():
        if "backward" not in text.text:
            continue
        for _, function in text.functions():
            flag = _find_unread_flag(function)
            product = _find_discounted(text, function) if flag is not None else None
            if flag is None or product is None:
                continue
            yield build_finding(
                TERMINAL_IGNORED,
                f"`{flag.id}` is read by nothing: this adds the value of a state behind"
                " the end of an episode",
                text.span(product),
                (text.span(flag), f"`{flag.id}` is sampled here"),
            )


def _find_unread_flag(function: Function) -> ast.Name | None:
    """Return the flag of ended episodes that a function unpacks and does not read."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) < FEWEST:
            continue
        for item in target.elts:
            is_flag = isinstance(item, ast.Name) and ENDED.fullmatch(item.id)
            if isinstance(item, ast.Name) and is_flag and item.id not in read:
                return item
    return None


FEWEST = 4
"""Parts of a transition: state, action, reward, and the flag."""


def _find_discounted(text: SourceText, function: Function) -> ast.BinOp | None:
    """Return the product of a discount and a value that is added to a reward."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                product = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)
                if product and DISCOUNT.search(text.written(side)):
                    return side  # type: ignore[return-value]
    return None
