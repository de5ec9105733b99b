"""Find functions that a loop makes and keeps, and that read the loop's variable when
they are called: that of its last turn.

for name in layers:
    getattr(net, name).register_forward_hook(lambda m, i, o: kept.update({name: o}))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import LATE_BINDING, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import COMPREHENSIONS, SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    SCOPES,
    collect_names,
    get_called_name,
    get_dotted_name,
    iter_own_nodes,
)

Callback = ast.Lambda | ast.FunctionDef
LISTS = frozenset({"append", "appendleft", "insert", "add", "setdefault"})
HARMLESS = LISTS | {
    "print", "len", "str", "int", "format", "isinstance", "getattr", "setattr", "info",
    "register_buffer", "add_module", "join", "lower", "upper", "items",
}  # fmt: skip
"""Calls that run nothing of what was kept before them in a turn."""
ENDS = (ast.Break, ast.Return, ast.Raise)


@looks_for(LATE_BINDING)
def find_late_bindings(scene: RehearsalContext) -> Iterator[Finding]:
    """Find lambdas and functions kept by a loop whose variable they read."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, Callback):
                continue
            names = find_late_names(text, node)
            if not names:
                continue
            loop = text.around(node, ast.For, *COMPREHENSIONS)
            place = _get_target(loop)
            listed = " and ".join(f"`{name}`" for name in names)
            owner = (
                "this function" if isinstance(node, ast.Lambda) else f"`{node.name}`"
            )
            yield build_finding(
                LATE_BINDING,
                f"{owner} reads {listed} when it is called, behind the loop: all that"
                " the loop keeps read the value of its last turn",
                text.span(node),
                (text.span(place) if place is not None else None, "set in each turn"),
            )


def find_late_names(text: SourceText, node: Callback) -> list[str]:
    """Return the names that a kept function reads and that the loop around it sets in
    each turn, in the order of the function's text.
    """
    holder = text.around(node, ast.For, *COMPREHENSIONS, *SCOPES)
    if isinstance(holder, ast.For):
        of_turn = _collect_turn_names(holder)
        is_kept = _is_kept_by_loop(text, holder, node, of_turn)
    elif isinstance(holder, COMPREHENSIONS):
        of_turn = {n for g in holder.generators for n in collect_names(g.target)}
        is_kept = _is_kept_by_comprehension(text, holder, node)
    else:
        return []
    if not is_kept:
        return []
    read = [name for name in _iter_free_names(node) if name in of_turn]
    return list(dict.fromkeys(read))


def _get_target(loop: ast.AST | None) -> ast.expr | None:
    """Return what a loop or a comprehension assigns in each turn."""
    if isinstance(loop, ast.For):
        return loop.target
    return loop.generators[0].target if isinstance(loop, COMPREHENSIONS) else None


def _collect_turn_names(loop: ast.For) -> set[str]:
    """Return the variables of a loop, and what it assigns from them."""
    names = collect_names(loop.target)
    for node in iter_own_nodes(loop):
        if isinstance(node, ast.Assign) and names & collect_names(node.value):
            names |= collect_names(node, ast.Store)
    return names


def _iter_free_names(node: Callback) -> Iterator[str]:
    """Yield the names that a function reads when it is called and does not set."""
    arguments = node.args
    own = {
        argument.arg
        for argument in (
            *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
            *(extra for extra in (arguments.vararg, arguments.kwarg) if extra),
        )
    }  # fmt: skip
    parts = [node.body] if isinstance(node, ast.Lambda) else node.body
    for part in parts:
        own |= collect_names(part, ast.Store)
        own |= {n.arg for n in ast.walk(part) if isinstance(n, ast.arg)}
    for part in parts:
        for name in ast.walk(part):
            if isinstance(name, ast.Name) and name.id not in own:
                yield name.id


def _is_kept_by_comprehension(text: SourceText, holder: ast.AST, node: ast.AST) -> bool:
    """Return whether a function is an item of the list or dict that is built."""
    if isinstance(holder, ast.GeneratorExp):
        return False
    items = (getattr(holder, "elt", None), getattr(holder, "value", None))
    for above in text.outwards(node):
        if node in items:
            return True
        if not isinstance(above, ast.Tuple | ast.List) and not _is_wrapper(above):
            return False
        node = above
    return False


def _is_wrapper(node: ast.AST | None) -> bool:
    """Return whether a call builds an object that keeps its arguments: `LambdaLR(...)`,
    `transforms.Lambda(...)`.
    """
    if isinstance(node, ast.keyword):
        return True
    return get_called_name(node)[:1].isupper() if node is not None else False


def _is_kept_by_loop(
    text: SourceText, loop: ast.For, node: Callback, of_turn: set[str]
) -> bool:
    """Return whether a function outlives the turn of its loop, and is not called in it
    for certain.
    """
    own = list(iter_own_nodes(loop))
    above = text.parent(node)
    name = ""
    if isinstance(node, ast.FunctionDef):
        name = "" if node.decorator_list else node.name
    elif isinstance(above, ast.Assign):
        name = above.targets[0].id if isinstance(above.targets[0], ast.Name) else ""
    uses: list[ast.expr] = [
        part
        for part in own
        if isinstance(part, ast.Name)
        and part.id == name
        and isinstance(part.ctx, ast.Load)
    ]
    if isinstance(node, ast.Lambda) and not name:
        uses = [node]
    keepers = [_find_keeper(text, use, of_turn) for use in uses]
    if len(keepers) != 1 or keepers[0] is None:
        return False
    keeper, owner = keepers[0]
    statement = text.statement_of(keeper)
    block = getattr(text.parent(statement), "body", [])
    if any(isinstance(part, ENDS) for part in block):
        return False
    root = get_dotted_name(owner).partition(".")[0] if owner is not None else ""
    if get_called_name(keeper) in LISTS and root in collect_names(loop, ast.Store):
        return False  # a list of this turn
    reads = [
        part
        for part in own
        if isinstance(part, ast.expr) and part.lineno > (statement.end_lineno or 0)
    ]
    return not any(
        isinstance(part, ast.Call) and not _is_harmless(part) for part in reads
    ) and not any(_is_removal(part) for part in own)


def _is_harmless(call: ast.Call) -> bool:
    """Return whether a call runs nothing that was kept."""
    name = get_called_name(call)
    return name in HARMLESS or _is_registration(name)


def _is_removal(node: ast.AST) -> bool:
    """Return whether a node ends what was kept in a turn, or uses it there."""
    return get_called_name(node) in {"remove", "clear", "pop", "backward", "grad"}


def _is_registration(name: str) -> bool:
    """Return whether a method registers a hook."""
    return name.startswith("register_") and "hook" in name


def _find_keeper(
    text: SourceText, use: ast.expr, of_turn: set[str]
) -> tuple[ast.Call | ast.Assign, ast.expr | None] | None:
    """Return the call or assignment that keeps a function, and the object that keeps
    it; None if it is used in another way.
    """
    node: ast.AST = use
    while (above := text.parent(node)) is not None:
        if isinstance(above, ast.Call) and node is not above.func:
            name = get_called_name(above)
            is_set = name == "setattr" and len(above.args) == 3
            if _is_registration(name) or name in LISTS or is_set:
                owner = above.args[0] if is_set else get_receiver(above)
                return above, owner
            if not _is_wrapper(above):
                return None
        elif isinstance(above, ast.Assign):
            target = above.targets[0]
            is_item = isinstance(target, ast.Subscript | ast.Attribute)
            reads = collect_names(target, ast.Load)
            return (above, None) if is_item and reads & of_turn else None
        elif not isinstance(above, ast.Tuple | ast.List | ast.Dict | ast.keyword):
            return None
        node = above
    return None
