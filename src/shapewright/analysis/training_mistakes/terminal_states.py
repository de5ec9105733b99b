"""Find targets of value learning that go on behind the end of an episode: the flag that
says so is sampled, and nothing reads it, or it keeps what it should leave out.
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
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, list_parameters

ENDED = re.compile(
    r"(batch_|b_)?(is_)?(dones?|terminals?|terminated|terminations?|ended|over|game_over"
    r"|finished|last_steps?|episode_ends?)(_batch|_b|_flags?|s)?"
)
OF_MASKS = re.compile(
    r"(dones?|terminals?|ends?|episode|batch|b)_masks?(_batch|_b)?|masks?(_batch|_b)?"
)
"""Names of factors of which the name says not whether they are 1 at the end."""
GOING_ON = re.compile(
    r"(batch_|b_)?(not_?|non_?)(dones?|terminals?|ended|over|finals?)(_masks?|_batch|_b|s)?"
    r"|continues?"
)
"""Names of factors that are 1 before the end."""
DISCOUNT = re.compile(r"gamma|discount", re.IGNORECASE)


@looks_for(TERMINAL_IGNORED)
def find_ignored_ends(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `reward + gamma * next_value` beside a flag that nothing reads."""
    for text in scene.program.own_texts():
        if "backward" not in text.text:
            continue
        yield from _find_kept_ends(text)
        yield from _find_unread_parameters(text)
        for nodes in _iter_bodies(text):
            flag = _find_unread_flag(text, nodes)
            product = _find_target(text, nodes) if flag is not None else None
            if flag is None or product is None:
                continue
            yield build_finding(
                TERMINAL_IGNORED,
                "what says that an episode has ended is read by nothing: this adds the"
                " value of a state behind the end",
                text.span(product),
                (text.span(flag), f"`{flag.id}` is sampled here"),
            )


def _find_unread_parameters(text: SourceText) -> Iterator[Finding]:
    """Find functions that discount values of next states and get a flag of ended
    episodes which they do not read.
    """
    for _, function in text.functions():
        nodes = list(ast.walk(function))
        read = {node.id for node in nodes if isinstance(node, ast.Name)}
        unread = [
            name
            for name in list_parameters(function)
            if ENDED.fullmatch(name) and name not in read
        ]
        product = _find_discounted(text, nodes) if len(unread) == 1 else None
        if product is None or any(_is_of_end(name) for name in read):
            continue
        yield build_finding(
            TERMINAL_IGNORED,
            f"`{function.name}` gets `{unread[0]}` and does not read it: this adds the"
            " value of a state behind the end of an episode",
            text.span(product),
        )


def _iter_bodies(text: SourceText) -> Iterator[list[ast.AST]]:
    """Yield the nodes of every function, and those of the script around them."""
    for _, function in text.functions():
        yield list(ast.walk(function))
    functions = text.functions()
    inner = {node for _, function in functions for node in ast.walk(function)}
    yield [node for node in text.nodes if node not in inner]


def _find_kept_ends(text: SourceText) -> Iterator[Finding]:
    """Find discounted values that are multiplied by the flag of an end, which nothing
    in the file turns.
    """
    for product in text.nodes:
        outer = text.parent(product)
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            continue
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult):
            continue
        factors = list(_iter_factors(product))
        flags = [part for part in factors if ENDED.fullmatch(_get_flag(part))]
        others = [part for part in factors if part not in flags]
        if len(flags) != 1 or len(others) < 2 or _is_turned_anywhere(text):
            continue
        if any(_is_discount(text, part) for part in others):
            yield build_finding(
                TERMINAL_IGNORED,
                f"`{text.line_of(flags[0])}` is 1 where an episode has ended: this adds"
                " the value of the next state there, and nowhere else",
                text.span(flags[0]),
                (text.span(product), "the discounted value"),
            )


def _is_discount(text: SourceText, node: ast.expr) -> bool:
    """Return whether a factor is a discount, by its name or its size."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and 0.5 < node.value < 1
    return DISCOUNT.search(text.written(node)) is not None


def _iter_factors(product: ast.AST) -> Iterator[ast.expr]:
    """Yield the factors of a product of several."""
    if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
        yield from _iter_factors(product.left)
        yield from _iter_factors(product.right)
    elif isinstance(product, ast.expr):
        yield product


def _get_flag(node: ast.expr) -> str:
    """Return the name of a flag: `done` of `self.done[i].float()`."""
    while isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute) and not CASTS.fullmatch(node.attr):
            return node.attr
        else:
            node = node.value
    return node.id if isinstance(node, ast.Name) else ""


CASTS = re.compile(r"float|to|type|long|view|(un)?squeeze")
"""Methods after which a flag is the same flag."""


def _is_turned_anywhere(text: SourceText) -> bool:
    """Return whether a file turns a flag of an end: `1 - done`, `not done`, `~done`.
    The test of a loop over the steps of an episode, `while not done:`, keeps no flag.
    """
    tests = {
        part
        for node in text.nodes
        if isinstance(node, ast.While | ast.If | ast.Assert)
        for part in ast.walk(node.test)
    }
    for node in text.nodes:
        inner: ast.expr | None = None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
            inner = node.operand if node not in tests else None
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            inner = node.right
        elif isinstance(node, ast.Call) and get_called_name(node) == "logical_not":
            inner = node.args[0] if node.args else None
        elif isinstance(node, ast.IfExp):
            # `1.0 if done else -0.01` is a reward
            is_number = isinstance(node.body, ast.Constant) and bool(node.body.value)
            is_next = "reset" in ast.unparse(node.body)  # `reset() if done else state`
            inner = node.test if not (is_number or is_next) else None
        for part in ast.walk(inner) if inner is not None else ():
            if isinstance(part, ast.Name | ast.Attribute):
                name = part.id if isinstance(part, ast.Name) else part.attr
                if ENDED.fullmatch(name):
                    return True
    return False


def _find_unread_flag(text: SourceText, nodes: list[ast.AST]) -> ast.Name | None:
    """Return the flag of ended episodes that a body unpacks or computes for a batch,
    and does not read but to print it.
    """
    read = _collect_read(text, nodes)
    is_script = text.tree in nodes
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
            is_flag = OF_BATCHES.search(target.id) and ENDED.fullmatch(target.id)
            if is_flag and target.id not in read and _is_test(node.value):
                return target
        fewest = FEWEST
        if isinstance(node, ast.For) and get_called_name(node.iter) == "zip":
            target, fewest = node.target, FEWEST_OF_STEPS
        if not isinstance(target, ast.Tuple) or len(target.elts) < fewest:
            continue
        for at, item in enumerate(target.elts):
            if not isinstance(item, ast.Name) or item.id in read:
                continue
            name = item.id.strip("_")
            if not name and not is_script and not _is_told_otherwise(node, read):
                name = _find_stored_name(text, len(target.elts), at)
            is_bare = name.removeprefix("b_").startswith("mask")  # of anything
            is_of_end = _is_of_end(name) and (not is_bare or is_factor(text, name))
            if is_of_end and not (is_script and _is_read(text, name)):
                return item
    return None


def _is_of_end(name: str) -> bool:
    """Return whether a name is that of a flag, or a factor, of ended episodes."""
    kinds = (ENDED, OF_MASKS, GOING_ON)
    return any(kind.fullmatch(name) for kind in kinds)


def is_factor(text: SourceText, name: str) -> bool:
    """Return whether what a program keeps under a name is 1 before the end, and 0 at
    it: by the name, or as the file turns a flag and keeps it as a mask.
    """
    if GOING_ON.fullmatch(name):
        return True
    return OF_MASKS.fullmatch(name) is not None and _is_turned_anywhere(text)


def _collect_read(text: SourceText, nodes: list[ast.AST]) -> set[str]:
    """Return the names that a body reads, but to print them or to give them again as
    tensors: `done = torch.tensor(done)`.
    """
    loads = [
        node
        for node in nodes
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and not _is_printed(text, node)
    ]
    again = {name: _find_own_target(text, name) for name in loads}
    return {name.id for name in loads if again[name] != name.id}


def _find_own_target(text: SourceText, name: ast.Name) -> str:
    """Return the name that an assignment gives to what is computed of a name, or an
    empty string: `b` of `a, b = f(x), g(b)`.
    """
    statement = text.statement_of(name)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for part, item in zip(target.elts, value.elts, strict=False):
            if name in ast.walk(item):
                target = part
                break
    return target.id if isinstance(target, ast.Name) else ""


OF_BATCHES = re.compile(r"(s|ed|batch|_b)$")
"""Ends of the names of flags for several samples."""


def _is_test(node: ast.expr) -> bool:
    """Return whether a value says of each sample whether something is so."""
    tests = [part for part in ast.walk(node) if isinstance(part, ast.Compare)]
    of_tensors = (ast.Call, ast.Subscript)
    return len(tests) == 1 and any(
        isinstance(part, of_tensors) for part in ast.walk(tests[0])
    )


def _is_printed(text: SourceText, name: ast.Name) -> bool:
    """Return whether a name is read to be printed."""
    return any(
        isinstance(node, ast.Call) and get_called_name(node) == "print"
        for node in text.outwards(name)
    )


def _is_read(text: SourceText, name: str) -> bool:
    """Return whether a function of a script reads a name."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and not _is_printed(text, node)
        and _find_own_target(text, node) != name
        for node in text.nodes
    )


def _is_told_otherwise(node: ast.AST, read: set[str]) -> bool:
    """Return whether `_` is no flag: what an environment returns names its flags, and
    so does a function that reads one.
    """
    of_step = isinstance(node, ast.Assign) and get_called_name(node.value) == "step"
    return of_step or any(_is_of_end(name) for name in read)


def _find_stored_name(text: SourceText, count: int, at: int) -> str:
    """Return the name of what a program stores at a place of tuples of so many."""
    for node in text.nodes:
        parts: list[ast.expr] = []
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
            parts = node.elts
        elif get_called_name(node) in STORING and isinstance(node, ast.Call):
            parts = node.args if count >= FEWEST and not node.keywords else []
        if len(parts) != count:
            continue
        names = [name.id for name in ast.walk(parts[at]) if isinstance(name, ast.Name)]
        ended = [name for name in names if ENDED.fullmatch(name)]
        if ended:
            return ended[0]
    return ""


def _find_target(text: SourceText, nodes: list[ast.AST]) -> ast.BinOp | None:
    """Return the discounted value of a body, or of a function of its class or file that
    it calls.
    """
    product = _find_discounted(text, nodes)
    for node in nodes if product is None else ():
        name = get_called_name(node) if isinstance(node, ast.Call) else ""
        for _, other in text.functions(name) if name else ():
            reads = {n.id for n in ast.walk(other) if isinstance(n, ast.Name)}
            if not any(_is_of_end(part) for part in reads):
                product = product or _find_discounted(text, [*ast.walk(other)])
    return product


STORING = frozenset({"append", "push", "add", "store"})
"""Methods that put a transition into a memory."""
FEWEST = 4
"""Parts of a transition: state, action, reward, and the flag."""
FEWEST_OF_STEPS = 2
"""Parts of a step in a loop over rewards: the reward and the flag."""


def _find_discounted(text: SourceText, nodes: list[ast.AST]) -> ast.BinOp | None:
    """Return the product of a discount and a value that is added to a reward."""
    return next(iter_discounted(text, nodes), None)


def iter_discounted(text: SourceText, nodes: list[ast.AST]) -> Iterator[ast.BinOp]:
    """Yield the products of a discount and a value that are added to something."""
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                product = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)
                if product and DISCOUNT.search(text.written(side)):
                    yield side  # type: ignore[misc]
